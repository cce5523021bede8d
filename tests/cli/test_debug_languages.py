# SPDX-License-Identifier: GPL-3.0-or-later
"""The same commands, given to GDB and to mtdb's prompt, on programs in several languages, and built
in many ways.

GDB takes long to start: programs follow one another in one start."""
import pathlib
import subprocess

import pytest

from tests import conftest
from tests.cli.same import same

SCRIPTS = pathlib.Path(__file__).resolve().parent / "languages"
# What both say otherwise, and why: GDB calls threads by libthread_db where there is a libc.
OTHER = ("[New ", "LWP N exited]")


@pytest.fixture(scope="module")
def compare(need, mtdb):
    """compare([(program, file of commands)])"""
    gdb = need("gdb")

    def run(scripts):
        words = []
        for program, script in scripts:
            lines = ["delete", "kill", f"file {program}", f"echo --- {program.name}\\n", 
                     *(SCRIPTS / f"{script}.txt").read_text().splitlines()]
            words += [word for line in lines for word in ("-ex", line)]
        return same(gdb, mtdb, [*SETTINGS, *words], OTHER)

    return run


SETTINGS = ["-ex", "set width 0", "-ex", "set height 0"]
BUILDS = [  # the one without debug information first, as GDB keeps what it knows of libraries
    "-g0", "-fPIE -pie", "-no-pie", "-g1", "-gz", "-gdwarf-4", "-gdwarf-5 -fdebug-types-section",
    "-gdwarf-4 -fdebug-types-section", "-gdwarf-2", "-g3", "-fno-asynchronous-unwind-tables",
]


def apart(need, folder):
    """Programs whose debug information stands in other files."""
    source = conftest.FIXTURES / "debug_builds.c"
    names = ["split5", "split4", "linked", "stripped"]
    split = {"split5": ["-gsplit-dwarf"], "split4": ["-gdwarf-4", "-gsplit-dwarf"]}
    for name in names:
        subprocess.run([need("gcc"), "-g", *split.get(name, []), "-o", name, source], cwd=folder,
                       check=True)
    for name, option in [("linked", "-g"), ("stripped", "-s")]:
        objcopy = need("objcopy", "binutils")
        subprocess.run([objcopy, "--only-keep-debug", name, f"{name}.debug"], cwd=folder,
                       check=True)
        subprocess.run([need("strip", "binutils"), option, name], cwd=folder, check=True)
        subprocess.run([objcopy, f"--add-gnu-debuglink={name}.debug", name], cwd=folder,
                       check=True)
    return [folder / name for name in names]


def test_builds(compare, compile, need, tmp_path):
    programs = [compile("debug_builds.c", "-O0", *flags.split()) for flags in BUILDS]
    compare([(program, "builds.c") for program in [*programs, *apart(need, tmp_path)]])


def test_cpp(compare, compile):
    program = compile("debug_shapes.cpp", "-O0", "-std=c++20")
    compare([(program, "places.cpp"), (program, "values.cpp")])


def test_layouts(compare, compile):
    """Where members lie, by `ptype/o`."""
    compare([(compile("debug_layout.cpp", *flags.split()), "layout.cpp")
             for flags in ("-O0", "-gdwarf-4")])


@pytest.mark.usefixtures("gdb_writes_registers")  # for a string literal
def test_rust(compare, compile):
    """GDB 13 itself ends where it prints an enum's structure with a field of one byte: `info
    locals` and such values are left out."""
    program = compile("debug_shapes.rs")
    compare([(program, "places.rs"), (program, "values.rs")])


def test_go(compare, go):
    compare([(go("shapes", "-gcflags=-N -l", source="debug_shapes.go"), "shapes.go")])
