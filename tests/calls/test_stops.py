# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a program waiting for us, seen by mtdb's own system calls: how often a thread is
stopped."""
import shutil
import subprocess

import pytest

LOADS = """
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""
LIBRARIES = 30


@pytest.fixture(name="calls_of")
def traced(need, mtdb, tmp_path):
    """The lines of strace, of these calls of mtdb's own."""
    def run(names, *words):
        with subprocess.Popen([need("strace"), "-o", tmp_path / "calls", "-e", "signal=none", "-e", f"trace={names}",
                               mtdb, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            _, messages = process.communicate(timeout=120)
            assert process.returncode == 0, messages
        return (tmp_path / "calls").read_text().splitlines()

    return run


def write(tmp_path, text):
    (tmp_path / "program.c").write_text(text)
    return tmp_path / "program.c"


def test_libraries_take_no_stops_of_their_own(compile, calls_of, tmp_path):
    """Memory for the trampolines of all of them is mapped by one list of calls."""
    (tmp_path / "part.c").write_text("int part(int n) { return n + 1; }\nint other(int n) { return part(n) * 2; }\n")
    library = compile(tmp_path / "part.c", "-O1", "-shared", "-fPIC")
    copies = [shutil.copy(library, tmp_path / f"part{i}.so") for i in range(LIBRARIES)]
    program = compile(write(tmp_path, LOADS), "-O1")

    def stops(*libraries):
        with subprocess.Popen([program, *libraries], text=True, stdout=subprocess.PIPE) as child:
            try:
                assert child.stdout.readline() == "ready\n"
                lines = calls_of("ptrace", "attach", "-e", "calls", "--for=10ms", "-o", tmp_path / "out.json",
                                 str(child.pid))
            finally:
                child.kill()
        return sum("PTRACE_SYSCALL," in line for line in lines)

    # Two lines for each call that is made by itself: as it is left, one for each room.
    assert stops(*copies) - stops() < 3 * LIBRARIES
