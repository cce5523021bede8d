# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens while a process is attached: threads and children are born, or run in its memory, and
have no ring yet; it becomes another program.  No harm comes to it, whether or not mtdb is killed."""
import contextlib
import ctypes
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from tests.calls.code import changed

SYS_KCMP, KCMP_VM = 312, 1


@pytest.fixture(name="start")
def make_start(compile):
    program = compile("calls_vforks.c", "-O1", "-pthread")

    @contextlib.contextmanager
    def start(way, milliseconds):
        with subprocess.Popen([program, way, str(milliseconds)], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                assert process.stdout.readline() == "ready\n"
                yield process
            finally:
                process.kill()

    return start


def is_untraced(pid):
    return "TracerPid:\t0\n" in pathlib.Path(f"/proc/{pid}/status").read_text()


@pytest.fixture(name="attach")
def make_attach(mtdb, compile, tmp_path):
    """Attaches and lets go.  With a number: dies after so many of the things that it does to the
    process.  Meanwhile: when it is traced.  Returns how many there were."""
    preload = compile("kill_at.c", "-shared", "-fPIC", output="kill_at.so")

    def attach(pid, *options, number=None, meanwhile=None):
        count = tmp_path / "count"
        environment = {**os.environ, "LD_PRELOAD": str(preload), "KILL_COUNT": str(count)}
        if number:
            environment["KILL_AT"] = str(number)
        with subprocess.Popen(
            [mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json", "--size", "16k",
             "--for=50ms", *options, "-p", str(pid)],
                env=environment, text=True, stderr=subprocess.PIPE) as process:
            if meanwhile:
                while process.poll() is None and is_untraced(pid):
                    time.sleep(0.001)
                meanwhile()
            _, messages = process.communicate(timeout=120)
        assert process.returncode in ((0, -signal.SIGKILL) if number else (0,)), messages
        return None if number else int(count.read_text())

    return attach


def end(process):
    assert process.communicate("\n", timeout=60) == ("0 wrong\n", "")
    assert process.returncode == 5


@pytest.mark.parametrize("way", ["ends", "exec"])
@pytest.mark.parametrize("options", [[], ["--follow-forks"], ["--trigger", "work"]])
def test_a_child_in_its_parents_memory(start, attach, way, options):
    """It is there nearly all the time; nobody tells it of rings."""
    with start(way, 150) as process:
        for _ in range(3):
            attach(process.pid, *options)
        end(process)


@pytest.fixture(name="attach_while_it_vforks")
def make_attach_while_it_vforks(compile, mtdb, tmp_path):
    """A process, and what mtdb ended with and said of it, in the middle of whose second look at its
    text it made a child that lives for so long."""
    program = compile("calls_vforks_then.c", "-O1", "-pthread", "-D_GNU_SOURCE")
    preload = compile("replace_at.c", "-shared", "-fPIC", output="replace_at.so")

    @contextlib.contextmanager
    def attach(milliseconds):
        with subprocess.Popen([program, str(milliseconds)], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            try:
                tell, hear = process.stdin.fileno(), process.stdout.fileno()
                environment = {**os.environ, "LD_PRELOAD": str(preload), "REPLACE_NTH": "1",
                               "REPLACE_AT": process.stdout.readline().strip(), "REPLACE_LETTER": "v",
                               "REPLACE_TELL": str(tell), "REPLACE_HEAR": str(hear)}
                done = subprocess.run(
                    [mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json", "--size", "16k",
                     "--for=50ms", "--modules", "calls_*", "-p", str(process.pid)], env=environment,
                    pass_fds=[tell, hear], text=True, stderr=subprocess.PIPE, timeout=120, check=False)
                yield process, done.returncode, done.stderr
            finally:
                process.kill()

    return attach


def test_a_child_comes_between_the_two_stops(attach_while_it_vforks):
    with attach_while_it_vforks(100) as (process, status, said):
        assert status == 0, said
        assert process.communicate(timeout=60)[0] == "0 wrong\n"


def test_a_child_stays_between_the_two_stops(attach_while_it_vforks):
    """Then nothing is patched, and there is no second attempt, for which the first has used up what
    was made."""
    with attach_while_it_vforks(3000) as (process, status, said):
        assert status == 1 and "runs in its memory" in said
        assert changed(process.pid) == []
        assert process.communicate(timeout=60)[0] == "0 wrong\n"


@pytest.mark.parametrize("way,options", [("exec", ["--follow-forks"]), ("exec", []), ("spawn", []),
                                         ("threads", ["--trigger", "work"])])
def test_killed_after_each_thing_it_does(start, attach, way, options):
    rounds = 15
    with start(way, 2) as process:
        count = attach(process.pid, *options)
        for i in range(rounds):
            number = random.randint(i * count // rounds, (i + 1) * count // rounds) + 1
            attach(process.pid, *options, number=number)
            assert process.poll() is None, f"killed after {number} of {count}"
        end(process)


def test_another_program_before_anything_could_be_done(compile, attach):
    """Nothing that was meant for the former one is done to it; and it is not stepped, which would
    end it if its tracer were killed then."""
    with subprocess.Popen([compile("calls_stackless.c", "-O1")], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:

        def go_on():
            process.stdin.write("\n")
            process.stdin.flush()

        assert process.stdout.readline() == "ready\n"
        attach(process.pid, number="step", meanwhile=lambda: (time.sleep(0.3), go_on()))
        assert process.stdout.readline() == "ready\n"
        assert process.poll() is None
        go_on()
        assert process.wait(timeout=60) == 5


def is_same_memory(pid, other):
    return ctypes.CDLL(None).syscall(SYS_KCMP, pid, other, KCMP_VM, 0, 0) == 0


def test_a_process_with_the_same_memory(compile, mtdb, tmp_path):
    """It has no ring, and is not traced."""
    with subprocess.Popen([compile("calls_sharers.c", "-O1", "-D_GNU_SOURCE")], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        if not (is_same_memory(process.pid, child) and
                pathlib.Path(f"/proc/{child}/task/{child}/children").exists()):
            process.kill()
            pytest.skip("the system does not tell whose child somebody is, or who shares memory")
        for pid, other in (process.pid, child), (child, process.pid):
            done = subprocess.run([mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json",
                                   "--for=50ms", "-p", str(pid)], text=True, capture_output=True,
                                  timeout=120, check=False)
            assert done.returncode == 1
            assert f"process {pid}: it shares its memory with process {other}" in done.stderr
        assert process.communicate("\n", timeout=60)[0] == "0x700\n"
