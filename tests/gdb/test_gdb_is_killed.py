# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB is killed by SIGKILL in a program that it attached to: the program goes on as if nothing had
been.  Whoever GDB's plugin stepped, for a remote call, must not be left to be stepped, which ends in
SIGTRAP.  (At a hit of a trigger at an entry the plugin steps, and GDB must not be killed just then:
no test can choose the moment.)"""
import subprocess
import time

import pytest

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) long leaf(long n) { sink = n; return n * 3; }
__attribute__((noinline)) long visit(long n) { return leaf(n) + leaf(n + 1); }

int main(int argc, char **argv)
{
	for (long n = 0; access(argv[argc - 1], F_OK); n += 1000)
		for (long i = n; i < n + 1000; i++)
			if (visit(i) != 6 * i + 3)
				abort();
	puts("done");
	return 0;
}
"""


@pytest.mark.parametrize("level, triggers, files", [
    ("-O0", ["mtrace trigger -every 500 visit return"], 4),
    ("-O2", ["mtrace trigger -every 500 -slower 1ns visit", "mtrace trigger -rate 50/s leaf return"], 4),
    ("-O0", [], 0),
])
def test_the_program_goes_on(plugin, need, compile, tmp_path, level, triggers, files):
    source = tmp_path / "visits.c"
    source.write_text(SOURCE)
    with subprocess.Popen([compile(source, level), tmp_path / "end"], text=True,
                          stdout=subprocess.PIPE) as program:
        commands = ["mtrace start -size 64k", *triggers, "echo ready\\n",
                    "continue" if triggers else "shell sleep 60"]
        words = [word for command in commands for word in ("-ex", command)]
        with subprocess.Popen([need("gdb"), "-nx", "-batch", "-ex", f"source {plugin}", "-p",
                               str(program.pid), *words], cwd=tmp_path, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as debugger:
            for line in debugger.stdout:
                if "ready" in line:
                    break
            while len(list(tmp_path.glob("trace-*.fxt"))) < files:
                assert debugger.poll() is None
                time.sleep(0.01)
            debugger.kill()
        time.sleep(0.1)
        (tmp_path / "end").touch()
        out, _ = program.communicate(timeout=60)
    assert (program.returncode, out) == (0, "done\n")
