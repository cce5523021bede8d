# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress on a terminal, and Ctrl-C."""
import os
import pathlib
import re
import signal
import subprocess

import pexpect
import pytest

from conftest import wait_until
from tests.processes import state_of

PAUSE_S = 1.3  # longer than mtdb waits before it shows how far it is


def slow_input(mtdb, redirection, **environment):
    """What a terminal shows of an mtdb whose input comes in two parts."""
    feed = f"(echo one; sleep {PAUSE_S}; echo two)"
    command = f"{feed} | {mtdb} dump - {redirection}"
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", **environment}
    child = pexpect.spawn("bash", ["-c", command], env=environment, timeout=60)
    child.expect(pexpect.EOF)
    return child.before.decode()


def test_slow_work_tells_how_far_it_is(mtdb):
    shown = slow_input(mtdb, "")
    assert shown.startswith("\rreading the recording: 4\x1b[K")
    message = shown.split("\r\x1b[K")[-1]
    assert message.startswith("mtdb: ") and "\x1b" not in message


@pytest.mark.parametrize("redirection, environment", [("2>&1 | cat", {}), ("", {"TERM": "dumb"})])
def test_no_progress_but_on_a_terminal(mtdb, redirection, environment):
    shown = slow_input(mtdb, redirection, **environment)
    assert shown.startswith("mtdb: ")


def test_quick_work_shows_none(mtdb):
    shown = pexpect.run(f"bash -c 'echo one | {mtdb} dump -'", env={**os.environ, "TERM": "xterm"})
    assert shown.startswith(b"mtdb: ")


def handles(pid, number):
    """Whether a process has a handler of a signal."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"SigCgt:\t(\w+)", status)[1], 16) >> (number - 1) & 1


def test_ctrl_c_ends_it(mtdb):
    with subprocess.Popen([mtdb, "dump", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        child.stdin.write(b"one")
        child.stdin.flush()
        wait_until(lambda: state_of(child.pid) == "S" and handles(child.pid, signal.SIGINT))
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 130
        assert b"interrupted" in child.stderr.read()
