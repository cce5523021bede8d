# SPDX-License-Identifier: GPL-3.0-or-later
"""The Tab key at mtdb's prompt."""
import os

import pexpect
import pytest
from terminal import end_child


@pytest.fixture(name="prompt")
def open_prompt(mtdb, compile, tmp_path):
    (tmp_path / "commands-of-mine").write_text("")
    environment = {**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null"}
    child = pexpect.spawn(str(mtdb), [str(compile("debug_steps.c", "-O0"))], encoding="utf-8",
                          env=environment, cwd=tmp_path, timeout=60)
    child.expect_exact("(mtdb) ")
    yield child
    end_child(child)


@pytest.mark.parametrize("typed, completed", [
    ("backt", "backtrace "),
    ("info thr", "info threads "),
    ("i thr", "i threads "),
    ("break factor", "break factorial "),
    ("b factor", "b factorial "),
    ("list squ", "list square "),
    ("help backt", "help backtrace "),
    ("source comm", "source commands-of-mine "),
])
def test_what_could_stand_there(prompt, typed, completed):
    prompt.send(typed + "\t")
    prompt.expect_exact(completed)


def test_all_that_could(prompt):
    prompt.send("ste\t\t\t")
    prompt.expect(r"step +stepi")


@pytest.mark.parametrize("typed", ["nonsense ", "echo ste", "info threads wor"])
def test_nothing(prompt, typed):
    prompt.send(typed + "\t")
    prompt.send("\x15echo here\\n\r")
    prompt.expect_exact("\r\nhere\r\n")


def test_functions_of_libraries(prompt):
    prompt.sendline("start")
    prompt.expect_exact("(mtdb) ")
    prompt.send("break pthread_mutex_tryl\t")
    prompt.expect_exact("break pthread_mutex_trylock ")
