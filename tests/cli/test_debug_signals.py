# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals, job control and attached processes, at GDB's prompt and at mtdb's."""
import difflib
import os
import re
import signal
import subprocess

import pytest

from conftest import wait_until
from tests.calls.code import changed
from tests.cli.same import normalized, same, words_of
from tests.processes import state_of

PATIENCE = 60

SIGNALS = [
    ("", "run\nbt\ncontinue\nbt\ncontinue\nbt\ncontinue\nbt\ncontinue\nbt\ncontinue\ncontinue\nbt 1\ncontinue\n"
         "info program\ncontinue\ncontinue\ncontinue\nprint $_exitcode\n"),
    ("9", "handle SIGUSR1 nostop print pass\nhandle SIGUSR2 nostop noprint\nhandle SIGINT nostop pass\n"
          "handle SIGALRM stop print nopass\nhandle SIGSEGV nostop\nhandle 8 nostop noprint\nhandle SIG35 nostop\n"
          "info signals SIGINT\ninfo signals 14\ninfo signals 99\nhandle foo stop\nhandle SIGINT foo\nhandle all nostop\n"
          "handle 1-3 stop\nhandle SIGTERM\nhandle 99\nhandle SIGUSR1-SIGUSR2 stop\nhandle sigint stop\nhandle 0 stop\n"
          "handle 5-4 nostop\ninfo signals 5\ninfo signals foo\nsignal 3\nrun\nhandle SIGTRAP pass\ncontinue\ncontinue\n"
          "continue\ncontinue\ncontinue\nprint $_exitsignal\ninfo program\n"),
    ("11", "handle all nostop noprint\nhandle SIGUSR2 SIGSEGV stop\nhandle SIGINT nostop noprint\nrun\nsignal 0\n"
           "continue\nthread apply 1 queue-signal SIGALRM\nqueue-signal SIGINT\n"
           "thread apply 1 signal SIG36\ncontinue\n"
           "continue\nprint $_exitsignal\n"),
    ("", "handle SIGSEGV SIGUSR2 nostop noprint\nbreak after\nrun\nsignal SIGUSR1\nnext\nnext\ncontinue\nstepi\nnext\n"
         "step\nfinish\ncontinue\nnext 3\nstep 2\nstepi 3\nkill\n"),
]


def test_signals(need, mtdb, compile):
    program = compile("debug_signals.c", "-O0", "-pthread")
    gdb = need("gdb")
    for script in SIGNALS:  # what "handle" said stays
        same(gdb, mtdb, [*words_of([script]), program])


class Ticking:
    """A program that waits in two threads, and is stopped by job control."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "one", "two"], stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.communicate()

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)
        self.wait_for_the_stop()

    def wait_for_the_stop(self):
        """A thread that is let go of stops anew, a moment later."""
        wait_until(lambda: state_of(self.pid) == "T")

    def is_as_before(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return "TracerPid:\t0\n" in status.read() and changed(self.pid) == []


@pytest.fixture(name="ticks")
def compile_ticks(compile):
    return compile("debug_ticks.c", "-O0", "-pthread")


def run(debugger, pid, *lines):
    words = [word for line in lines for word in ("-ex", line.format(pid=pid))]
    done = subprocess.run([*debugger, "-batch", *words], capture_output=True, text=True, timeout=PATIENCE * 5, check=False,
                          stdin=subprocess.DEVNULL)
    lines = [re.sub(rf"\b{pid}\b", "N", line) for line in normalized(done.stdout)]
    # Which round it is, is not the debugger's doing.
    return re.sub(r"\(n=\d+\)", "(n=N)", "\n".join(lines))


def test_attach(need, mtdb, ticks):
    attach = ["echo where it\\n", "attach {pid}", "echo waited\\n"]
    lines = [*attach, "break work", "continue", "bt", "info threads", "thread 2", "bt 1", "info inferiors", "info program",
             "finish", "next", "detach", "info threads", "info inferiors", *attach, "continue", "info program", "kill",
             "thread"]
    told = []
    for debugger in [[need("gdb"), "-nx", "-iex", "set auto-load python-scripts off"], [mtdb]]:
        with Ticking(ticks) as program:
            text = run(debugger, program.pid, *lines)
        told.append(re.sub(r"^where it\n.*?^waited\n", "", text, flags=re.M | re.S).splitlines())
    assert told[0] == told[1], "\n".join(difflib.unified_diff(*told, "gdb", "mtdb", lineterm=""))


def test_stopped_by_job_control(mtdb, ticks):
    """That is told once, and then it runs all the same; GDB tells it once or twice, or for each thread."""
    with Ticking(ticks) as program:
        program.stop()
        told = run([mtdb], program.pid, "attach {pid}", "break work", "continue", "info program", "continue", "continue",
                      "detach")
        assert told.count("received signal SIGSTOP, Stopped (signal).") == 1, told
        assert told.count("hit Breakpoint 1, work") == 2, told
        program.wait_for_the_stop()
        assert program.is_as_before()
        told = run([mtdb], program.pid, "attach {pid}", "detach")
        program.wait_for_the_stop()
        assert program.is_as_before()
        os.kill(program.pid, signal.SIGCONT)
        told = run([mtdb], program.pid, "attach {pid}", "break work", "continue", "detach")
        assert "hit Breakpoint 1, work" in told, told
        assert program.is_as_before() and state_of(program.pid) != "T"
