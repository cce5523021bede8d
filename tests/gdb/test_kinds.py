# SPDX-License-Identifier: GPL-3.0-or-later
"""From `run` to the crash's history in programs of other kinds."""
import re
import shutil
import subprocess

from conftest import line_of
from histories import opened


def test_rust(gdb, compile):
    session = gdb(compile("deep.rs"), "mtrace start", "run", "mtrace history 40")
    assert "received signal SIGSEGV" in session.output
    names = [name.split("::")[-1] for name in opened(session.lines)]
    assert [name for name in names if name in ("main", "a", "b", "c")][-3:] == ["a", "b", "c"]
    assert re.search(rf"write_volatile\b.*deep\.rs:{line_of('deep.rs', 'the fault')}$",
                     session.output, re.M), session.output


def test_a_separate_debug_file(gdb, compile, need, tmp_path):
    objcopy = need("objcopy", "binutils")
    program, debug = tmp_path / "deep", tmp_path / "deep.debug"
    shutil.copy(compile("deep.c", "-O0"), program)
    subprocess.run([objcopy, "--only-keep-debug", program, debug], check=True)
    subprocess.run([objcopy, "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True,
                   cwd=tmp_path)
    session = gdb(program, "mtrace start", "run fault", "mtrace history")
    assert opened(session.lines)[-4:] == ["main", "a", "b", "c"]
    assert re.search(rf"SIGSEGV, address 0x0 in c .*deep\.c:{line_of('deep.c', 'the fault')}$",
                     session.output, re.M)


def test_a_trigger_in_a_library_that_comes_later(gdb, compile):
    library = compile("part.c", "-shared", "-fPIC", "-O0", output="libpart.so")
    session = gdb(compile("loads.c", "-O0"), "set breakpoint pending on", "mtrace start",
                  "mtrace trigger -max 1 part", f"run {library}", "mtrace info")
    assert "[mtrace: trigger 1, part, hit 1 in thread" in session.output
    assert "exited with code" in session.output
