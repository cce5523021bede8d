# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB is ended by SIGTERM while the program runs: it ends.

GDB is killed by SIGKILL in a program that it attached to: the program goes on as if nothing had
been.  Whoever GDB's plugin stepped, for a remote call, must not be left to be stepped, which ends in
SIGTRAP.  (At a hit of a trigger at an entry the plugin steps, and GDB must not be killed just then:
no test can choose the moment.)"""
import signal
import subprocess
import time

import pytest
from terminal import end_child

from gdb_terminal import PROMPT, say

pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")

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


@pytest.mark.parametrize("command, running", [("continue", "Continuing"), ("step", "stepping inside range")])
def test_sigterm_ends_gdb(terminal, compile, tmp_path, command, running):
    source = tmp_path / "endless.c"
    source.write_text("static volatile long n;\n"
                      "static void count(void) { n++; }\n"
                      "int main(void)\n{\n\tcount();\n\tfor (;;) n++;\n}\n")
    child = terminal(compile(source, "-O0"))
    child.expect(PROMPT)
    for line in ("mtrace start", "break main", "run", "delete", "next", "set range-stepping off",
                 "set debug infrun 1"):
        say(child, line)
    child.sendline(command)
    child.expect(running)
    child.kill(signal.SIGTERM)
    child.expect([pexpect.EOF, "internal-error"])  # GDB 13 has one now and then, plain, too
    end_child(child)
