# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of attach: its options, and how it tells that recording has begun."""
import os
import subprocess
import time

import pytest


@pytest.fixture(name="sleeper")
def start_sleeper():
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def attach(mtdb, *options, **others):
    return subprocess.Popen([mtdb, "attach", *(str(option) for option in options)],
                            stderr=subprocess.PIPE, text=True, **others)


@pytest.mark.parametrize("engine", ["calls", "step"])
@pytest.mark.parametrize("words", [["-p"], ["--pid"], []])
def test_for_a_while(mtdb, sleeper, tmp_path, engine, words):
    out = tmp_path / "out.txt"
    before = time.monotonic()
    with attach(mtdb, "-e", engine, "--for=300ms", "-o", out, *words, sleeper.pid) as process:
        _, messages = process.communicate(timeout=60)
    assert process.returncode == 0 or "no events" in messages or "contains no" in messages, messages
    assert f"recording process {sleeper.pid} with the engine {engine} (" in messages
    assert time.monotonic() - before > 0.3
    assert sleeper.poll() is None


@pytest.mark.parametrize("options, snapshots", [([], 1), (["--max=3"], 3)])
def test_it_ends_by_itself_after_a_snapshot(mtdb, compile, tmp_path, options, snapshots):
    """With a trigger one is what somebody waits for."""
    program = compile("calls_busy.c", "-O0", "-pthread")
    out = tmp_path / "out.json"
    with subprocess.Popen([program, "1"], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as busy:
        with attach(mtdb, "-e", "calls", "-o", out, "--trigger", "fib", *options,
                    busy.pid) as process:
            _, messages = process.communicate(timeout=60)
        assert process.returncode == 0, messages
        assert busy.poll() is None
        busy.kill()
    assert out.read_text().count('"name":"trigger"') == snapshots


def test_ready_fd(mtdb, sleeper, tmp_path):
    ours, its = os.pipe()
    with attach(mtdb, f"--ready-fd={its}", "-e", "calls", "-o", tmp_path / "out.txt", "-p",
                sleeper.pid, pass_fds=[its]) as process:
        os.close(its)
        with os.fdopen(ours) as pipe:
            assert pipe.read() == "recording\n"
        sleeper.kill()
        _, messages = process.communicate(timeout=60)
    assert f"process {sleeper.pid} ended" in messages


def test_ready_fd_of_run(mtdb, tmp_path):
    """The program does not hold it open."""
    ours, its = os.pipe()
    command = [mtdb, "run", f"--ready-fd={its}", "-o", tmp_path / "out.txt", "cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[its]) as process:
        os.close(its)
        with os.fdopen(ours) as pipe:
            assert pipe.read() == "recording\n"
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("words, message", [
    (["1", "2"], "unexpected argument"),
    (["-p", "1", "2"], "two processes given"),
    (["-p", "0"], "not a valid process number"),
    (["--for=2", "1"], "is not a time"),
    (["--ready-fd=99", "1"], "no such file descriptor"),
    (["--timestamps=none", "1"], "invalid time stamps"),
    (["--size=1", "1"], "too small"),
])
def test_what_makes_no_sense(run_mtdb, words, message):
    done = run_mtdb("attach", *words)
    assert done.returncode == 2 and message in done.stderr
