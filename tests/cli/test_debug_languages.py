# SPDX-License-Identifier: GPL-3.0-or-later
"""The same commands, given to GDB and to mtdb's prompt, on programs in several languages, and built
in many ways.

GDB takes long to start: programs follow one another in one start."""
import os
import subprocess

import pytest

from tests import conftest
from tests.cli.same import same

# What both say otherwise, and why: GDB calls threads by libthread_db where there is a libc.
OTHER = ("[New ", "LWP N exited]")


@pytest.fixture(scope="module")
def compare(need, mtdb):
    """compare([(program, script)])"""
    gdb = need("gdb")

    def run(scripts):
        words = []
        for program, script in scripts:
            lines = ["delete", "kill", f"file {program}", f"echo --- {program.name}\\n", *script.splitlines()]
            words += [word for line in lines for word in ("-ex", line)]
        return same(gdb, mtdb, [*SETTINGS, *words], OTHER)

    return run


SETTINGS = ["-ex", "set width 0", "-ex", "set height 0"]
C = """\
info line main
info line cube
break cube
tbreak square
info breakpoints
p main
p &main
p cube
info symbol cube
x/2i main
list cube
run
bt
info locals
info args
p x
p $pc
x/i $pc
up
info locals
p p
down
finish
finish
bt
next
next
info locals
p p
ptype p
p p.b
whatis p
break printf
c
bt
finish
p errno
p *stdout
"""
BUILDS = [  # the one without debug information first, as GDB keeps what it knows of libraries
    "-g0", "-fPIE -pie", "-no-pie", "-g1", "-gz", "-gdwarf-4", "-gdwarf-5 -fdebug-types-section",
    "-gdwarf-4 -fdebug-types-section", "-gdwarf-2", "-g3", "-fno-asynchronous-unwind-tables",
]


def test_builds(compare, compile):
    compare([(compile("debug_builds.c", "-O0", *flags.split()), C) for flags in BUILDS])


GO = """\
break main.main
break main.fact if n == 4
break main.both
break main.(*Point).Sum
break main.both.func1
break debug_shapes.go:62
info line main.fact
list main.fact
list main.main
run
bt
c
bt
info args
p a
p b
p c
c
c
bt
p p
p *p
p p.X
p p.name
p p.X + 1
ptype p
up
p x
delete 4
c
bt
c
p q
p *q
p sl
p sl.len
p sl.array[1]
p fl
p c
p by
p nilp
p arr
p ok
p r
p main.Count
whatis q
whatis sl
whatis p.name
c
"""


def test_go(compare, need):
    folder = conftest.ROOT / "build" / "fixtures" / "languages"
    program = folder / "shapes"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([need("go", "golang-go"), "build", "-gcflags=-N -l", "-o", program,
                    conftest.FIXTURES / "debug_shapes.go"], check=True,
                   env={**os.environ, "GOCACHE": str(folder / "go-cache"), "GOPROXY": "off",
                        "GOFLAGS": ""})
    compare([(program, GO)])
