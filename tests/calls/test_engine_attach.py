# SPDX-License-Identifier: GPL-3.0-or-later
"""Attaching the calls engine to a busy process, and letting go of it: the process goes on, right in
what it computes, with its text as the files have it."""
import collections
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest

from conftest import FIXTURES
from tests.calls.code import changed

THREADS = 8


@pytest.fixture(name="busy")
def start_busy(compile):
    program = compile("calls_busy.c", "-O1", "-pthread")
    with subprocess.Popen([program, str(THREADS)], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.fixture(name="attach")
def start_attach(mtdb, tmp_path):
    def start(pid, *options):
        return subprocess.Popen([mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json",
                                 *options, str(pid)], text=True, stderr=subprocess.PIPE)

    return start


def end(process):
    """What it prints at its end."""
    out, _ = process.communicate("\n", timeout=60)
    assert (out, process.returncode) == (f"0 wrong, {THREADS} worked\n", 5)


def wait_until_changed(pid):
    for _ in range(200):
        if len(changed(pid)) > 1:
            return
        time.sleep(0.05)
    raise AssertionError("nothing was ever patched")


def calls_of(path):
    events = json.loads(path.read_text())["traceEvents"]
    return collections.Counter(event["name"] for event in events
                               if event["ph"] == "B" and event.get("cat") == "call")


def test_throttle(busy, attach):
    """What was taken out, or records no more, is as it was in the end."""
    with attach(busy.pid, "--throttle", "--size", "64k") as tracer:
        for line in tracer.stderr:
            if line.endswith("throttled, not recorded from now on: fib\n"):
                break
        else:
            pytest.fail("fib was never throttled")
        tracer.send_signal(signal.SIGINT)
        _, messages = tracer.communicate(timeout=60)
    assert tracer.returncode == 0, messages
    assert not changed(busy.pid)
    end(busy)


def test_what_ran_meanwhile_is_recorded(busy, attach, tmp_path):
    with attach(busy.pid, "--for", "1s", "--size", "256k") as mtdb:
        _, messages = mtdb.communicate(timeout=60)
        assert mtdb.returncode == 0, messages
    calls = calls_of(tmp_path / "out.json")
    assert calls["fib"] > 1000 and calls["malloc"] > 0
    assert not changed(busy.pid)
    end(busy)


def rounds(busy, attach, count):
    for _ in range(count):
        with attach(busy.pid, "--size", "16k", "--for=20ms") as mtdb:
            _, messages = mtdb.communicate(timeout=60)
            assert mtdb.returncode == 0, messages
        assert not changed(busy.pid)
    maps = pathlib.Path(f"/proc/{busy.pid}/maps").read_text().count("\n")
    assert maps < 100
    end(busy)


def test_twenty_five_rounds(busy, attach):
    rounds(busy, attach, 25)


@pytest.mark.soak
def test_five_hundred_rounds(busy, attach):
    rounds(busy, attach, 500)


FORKS = """
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) int work(int x) { __asm__ volatile(""); return x + 1; }
int main(void)
{
	int status, wrong = 0;

	puts("ready");
	fflush(stdout);
	for (;;) {
		pid_t child = fork();
		if (child == 0)
			_exit(work(2));
		wrong += waitpid(child, &status, 0) != child || status != 3 << 8;
		if (wrong)
			return 1;
	}
}
"""


def test_children_born_while_it_is_entered(attach, compile, tmp_path):
    """They are let go at once, when the memory that they copy may be half filled."""
    (tmp_path / "forks.c").write_text(FORKS)
    program = compile(tmp_path / "forks.c", "-O1")
    with subprocess.Popen([program], text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        for _ in range(6):
            with attach(process.pid, "--size", "16k", "--for=10ms") as mtdb:
                _, messages = mtdb.communicate(timeout=60)
                assert mtdb.returncode == 0, messages
        assert process.poll() is None
        process.kill()


def test_ctrl_c(busy, attach):
    with attach(busy.pid, "--size", "16k") as mtdb:
        assert any("press Ctrl-C to stop" in line for line in mtdb.stderr)
        mtdb.send_signal(signal.SIGINT)
        _, messages = mtdb.communicate(timeout=60)
        assert mtdb.returncode == 0, messages
    assert not changed(busy.pid)
    end(busy)


def test_waits_are_not_interrupted(compile, attach):
    program = compile("calls_waits.c", "-O1", "-pthread")
    with subprocess.Popen([program, "line"], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        for _ in range(5):
            with attach(process.pid, "--for", "300ms", "--size", "16k") as mtdb:
                _, messages = mtdb.communicate(timeout=60)
                assert mtdb.returncode == 0, messages
        out, _ = process.communicate("\n", timeout=60)
    assert out == "0 0 0 0 0 0\n"


def test_our_own_sudden_end(busy, attach):
    """Killed while it records: the process goes on, patched; the next one puts all of it back."""
    with attach(busy.pid) as mtdb:
        wait_until_changed(busy.pid)
        time.sleep(0.5)
        mtdb.kill()
    time.sleep(0.3)
    assert busy.poll() is None and changed(busy.pid)
    with attach(busy.pid, "--for", "1s") as mtdb:
        _, messages = mtdb.communicate(timeout=60)
        assert mtdb.returncode == 0, messages
    assert not changed(busy.pid)
    end(busy)


def test_the_process_ends_meanwhile(busy, attach, tmp_path):
    with attach(busy.pid, "--size", "64k") as mtdb:
        wait_until_changed(busy.pid)
        time.sleep(0.5)  # its threads are let go last
        end(busy)
        _, messages = mtdb.communicate(timeout=60)
        assert mtdb.returncode == 0 and f"process {busy.pid} ended" in messages
    assert calls_of(tmp_path / "out.json")["fib"] > 100


@pytest.mark.parametrize("kind", ["-static", "-static-pie"])
def test_a_static_process(compile, attach, tmp_path, kind):
    program = compile("calls_busy.c", "-O1", kind, "-pthread", output="static_busy")
    with subprocess.Popen([program, str(THREADS)], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        with attach(process.pid, "--for=300ms", "--size", "64k") as mtdb:
            _, messages = mtdb.communicate(timeout=60)
            assert mtdb.returncode == 0, messages
        assert not changed(process.pid)
        end(process)
    assert calls_of(tmp_path / "out.json")["fib"] > 100


def mapped(pid):
    """The mappings, without what the program itself may have taken meanwhile."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [line for line in lines if "/" in line or "x" in line.split()[1]]


def written(pid, name):
    """KiB of a file's code that are not the file's pages."""
    maps = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", pathlib.Path(f"/proc/{pid}/smaps").read_text(), flags=re.M)
    return sum(int(re.search(r"Anonymous: +(\d+)", one)[1]) for one in maps
               if name in one.split("\n", 1)[0] and " r-xp " in one)


@pytest.mark.parametrize("free", [0, 1, 2])
def test_few_files_may_be_open(busy, attach, tmp_path, free):
    """The rings are files for a moment: whoever has no room for them is not recorded, and hears why."""
    used = max(int(name) for name in os.listdir(f"/proc/{busy.pid}/fd")) + 1
    resource.prlimit(busy.pid, resource.RLIMIT_NOFILE, (used + free, used + free))
    with attach(busy.pid, "--for=100ms", "--size", "64k") as tracer:
        _, messages = tracer.communicate(timeout=60)
    if free == 2:
        assert tracer.returncode == 0 and calls_of(tmp_path / "out.json"), messages
    else:
        assert tracer.returncode == 1 and f"prlimit --pid {busy.pid} --nofile" in messages, messages
        assert messages.count("\n") == 1
    assert not changed(busy.pid)
    end(busy)


@pytest.mark.skipif(tuple(int(word) for word in os.uname().release.split(".")[:2]) < (5, 13),
                    reason="texts are moved aside from Linux 5.13 on")
def test_a_text_has_its_pages_back(compile, attach, tmp_path):
    """Also when its file is gone."""
    program = tmp_path / "gone"
    shutil.copy(compile("calls_busy.c", "-O1", "-pthread", FIXTURES / "large_text.c", output="busy"), program)
    with subprocess.Popen([program, str(THREADS)], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        before = mapped(process.pid)
        with attach(process.pid, "--size", "64k") as tracer:
            wait_until_changed(process.pid)
            assert "recording" in tracer.stderr.readline()
            assert [len([line for line in mapped(process.pid) if " r-xp " in line and name in line])
                    for name in ("/gone", "/libc.so")] == [1, 1]
            assert written(process.pid, "/gone") >= 64 * 4
            program.unlink()
            tracer.send_signal(signal.SIGINT)
            _, messages = tracer.communicate(timeout=60)
            assert tracer.returncode == 0, messages
        # The last call is made from behind the code.
        assert written(process.pid, "/gone") <= 4
        assert [line.removesuffix(" (deleted)") for line in mapped(process.pid)] == before
        end(process)


@pytest.mark.parametrize("stack", [[], ["alternate"]])
def test_handlers_outlast_us(compile, attach, stack):
    """What they return to was in trampolines, far above them on the stack: it is not any more when
    these are unmapped."""
    program = compile("calls_handlers.c", "-O1", "-pthread")
    with subprocess.Popen([program, *stack], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        before = mapped(process.pid)
        with attach(process.pid, "--size", "64k") as tracer:
            wait_until_changed(process.pid)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "inside\n"
            tracer.send_signal(signal.SIGINT)
            _, messages = tracer.communicate(timeout=60)
            assert tracer.returncode == 0, messages
        assert mapped(process.pid) == before
        out, _ = process.communicate("\n", timeout=60)
        assert (out, process.returncode) == ("0 wrong\n", 5)


def test_what_killed_tracers_left_goes_along(busy, attach):
    """All of it, and also where a module was recorded then and is not now."""
    before = mapped(busy.pid)
    for options in ["--modules", "libc.so*"], [], ["--trigger", "fib", "--max=0"]:
        with attach(busy.pid, "--size", "64k", *options) as tracer:
            for line in tracer.stderr:
                if "Ctrl-C" in line:
                    break
            tracer.kill()
    assert len(mapped(busy.pid)) > len(before)
    with attach(busy.pid, "--size", "64k", "--for=50ms", "--modules", "calls_busy") as tracer:
        _, messages = tracer.communicate(timeout=60)
        assert tracer.returncode == 0, messages
    assert mapped(busy.pid) == before
    assert not changed(busy.pid)
    end(busy)
