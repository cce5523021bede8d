# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and functions of one source file, frames with their variables, and types with their holes."""
import pathlib

import pytest

from tests.cli.same import same, words_of

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
NAMES = ["hidden", "'debug_files.c'::hidden", "'debug_files_two.c'::hidden", "&'debug_files_two.c'::hidden",
         "'debug_files_two.c'::hidden + 1", "'debug_files.h'::counter", "'nix.c'::hidden", "'debug_files.c'::nix",
         "'debug_files_two.c'::twice", "'debug_files.c'::work"]
PLACES = ["debug_files.h:half", "debug_files.c:half", "debug_files.c:work", "debug_files_two.c:twice", "nix.c:half",
          "debug_files.c:nix", "half"]
FRAMES = """break half
run
bt full
bt full 1
bt -full
bt full -1
where full
frame apply all p $pc
frame apply 1 p 1
frame apply 2 info locals
frame apply all -q p 1
frame apply all -s p nix
frame apply all -c p nix
frame apply all p nix
frame apply -1 p 3
frame apply level 1 p 4
frame apply level 1-2 p 4
frame apply level 7 p 4
frame apply
frame apply 1
faas p local
up
frame apply all -q p $pc
frame
"""


@pytest.fixture(scope="module", name="compare")
def compared(need, mtdb, compile):
    program = compile("debug_files.c", "-O0", FIXTURES / "debug_files_two.c")
    return lambda script: same(need("gdb"), mtdb, [*words_of([("", script)]), program])


def test_names(compare):
    lines = compare("break half\nrun\n" + "".join(f"print {name}\nwhatis {name}\n" for name in NAMES))
    assert "$3 = 2" in lines


def test_places(compare):
    compare("".join(f"list {place}\nbreak {place}\ninfo line {place}\n" for place in PLACES) + "info breakpoints\n")


def test_frames(compare):
    compare(FRAMES)


def test_listsize(compare):
    compare("set listsize 3\nshow listsize\nlist work\nlist\nlist -\nlist ,20\nbreak half\nrun\nlist\n")


def test_settings_that_mtdb_does_not_have(run_mtdb):
    done = run_mtdb("-batch", "-ex", "set history save on", "-ex", "set $x = 5", "-ex", "print $x")
    assert "mtdb does not have GDB's setting \"history\"." in done.stderr
    assert "$1 = 5" in done.stdout


def test_a_jump_to_itself(need, mtdb, compile):
    script = "tbreak *self\nrun\nstepi\nstepi\nnexti\nkill\n"
    same(need("gdb"), mtdb, [*words_of([("", script)]), compile("debug_loop.c", "-O0")])
