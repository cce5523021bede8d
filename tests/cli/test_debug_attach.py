# SPDX-License-Identifier: GPL-3.0-or-later
"""A busy process is taken and let go again and again: its sums are right, and its text is whole."""
import os
import re
import signal
import subprocess
import time

import pytest

from tests.calls.code import changed

PATIENCE = 120


@pytest.fixture(name="busy")
def start_busy(compile):
    """Nine threads that call all the time."""
    program = compile("debugged_threads.c", "-O1", "-pthread", "-DTHREADS=8", output="debugged_nine")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        while len(os.listdir(f"/proc/{process.pid}/task")) < 9:
            time.sleep(0.01)
        yield process
        process.kill()


def end(process):
    assert process.poll() is None and changed(process.pid) == []
    process.send_signal(signal.SIGUSR1)
    out, _ = process.communicate(timeout=600)
    assert (out, process.returncode) == ("9 of 9 sums are right\n", 0)


def attach(mtdb, pid, rounds):
    words = []
    for i in range(rounds):
        lines = [f"attach {pid}", "break leaf", "break tree if depth == 2", "continue", "continue", "next", "continue",
                 "finish", "delete" if i % 2 else "info breakpoints", "detach", "delete"]
        for line in lines:
            words += ["-ex", line]
    done = subprocess.run([mtdb, "-batch", *words], capture_output=True, text=True, timeout=3600, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.stdout.count("detached]") == rounds, done.stdout[-2000:] + done.stderr
    assert done.stdout.count("hit Breakpoint") >= rounds


@pytest.mark.sanitize
def test_attach_again_and_again(mtdb, busy):
    attach(mtdb, busy.pid, 10)
    end(busy)


@pytest.mark.soak
def test_attach_500_times_to_threads(mtdb, busy):
    attach(mtdb, busy.pid, 500)
    end(busy)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_text_is_whole_when_asked_to_end(mtdb, busy, number):
    """While breakpoints are in it, and are hit all the time."""
    words = [mtdb, "-ex", "break leaf if x == 1 && x == 2", "-ex", "break round_of if x == 1 && x == 2",
             "-ex", "echo set\\n", "-ex", "continue", "-p", str(busy.pid)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as debugger:
        for line in debugger.stdout:
            if line == b"set\n":
                break
        while changed(busy.pid) == []:
            assert debugger.poll() is None
        debugger.send_signal(number)
        debugger.communicate(timeout=PATIENCE)
    end(busy)


@pytest.fixture(name="storm")
def start_storm(compile, request):
    """Four threads that write a variable all the time."""
    flags = getattr(request, "param", [])
    program = compile("watched_storm.c", "-O1", "-g", "-pthread", "-D_GNU_SOURCE", *flags)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.usefixtures("debug_registers")
@pytest.mark.parametrize("storm", [[], ["-DBLOCKED"]], indirect=True, ids=["", "blocked"])
def test_debug_registers_of_a_process(run_mtdb, storm):
    """Those of its four threads, and none is left."""
    lines = ["watch counter if counter % 3 == 0", "continue", "delete", "hbreak count", "continue",
             "continue", "detach"]
    done = run_mtdb("-batch", "-p", storm.pid, *(word for line in lines for word in ("-ex", line)))
    new = re.search(r"hit Hardware watchpoint 1: counter\n\nOld value = (\d+)\nNew value = (\d+)\n",
                    done.stdout)
    assert new and int(new[2]) % 3 == 0 and int(new[1]) < int(new[2]), done.stdout + done.stderr
    assert done.stdout.count("hit Breakpoint 2, count () at") == 2
    storm.stdin.close()
    assert storm.wait(timeout=PATIENCE) == 0


@pytest.mark.usefixtures("debug_registers")
def test_killed_with_debug_registers(mtdb, storm):
    """They go with the debugger, whatever a thread stands for."""
    words = [mtdb, "-ex", "hbreak count if 1 == 2", "-ex", "watch counter if counter == 1",
             "-ex", "echo set\\n", "-ex", "continue", "-p", str(storm.pid)]
    for i in range(10):
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as debugger:
            for line in debugger.stdout:
                if line == b"set\n":
                    break
            time.sleep(i * 0.003)
            debugger.kill()
        assert storm.poll() is None
    storm.stdin.close()
    assert storm.wait(timeout=PATIENCE) == 0
