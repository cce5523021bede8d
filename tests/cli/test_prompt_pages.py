# SPDX-License-Identifier: GPL-3.0-or-later
"""What mtdb's prompt prints in a terminal: a page at a time, and in colours."""
import os
import re

import pexpect
import pytest
from terminal import end_child

QUESTION = "--Type <RET> for more, q to quit, c to continue without paging--"
PROMPT = "(mtdb) "
ROWS = 10


@pytest.fixture(name="terminal")
def open_terminal(mtdb, compile):
    children = []

    def start(*words, **environment):
        program = compile("debug_steps.c", "-O0")
        child = pexpect.spawn(str(mtdb), [*words, str(program)], encoding="utf-8", timeout=60,
                              dimensions=(ROWS, 80),
                              env={**os.environ, "TERM": "xterm", "INPUTRC": "/dev/null",
                                   **environment})
        children.append(child)
        return child
    yield start
    for child in children:
        end_child(child)


@pytest.fixture(name="prompt")
def open_prompt(terminal):
    child = terminal(NO_COLOR="1")
    child.expect_exact(PROMPT)
    return child


def rows(text):
    """How many a terminal of 80 columns needs."""
    lines = re.sub(r"\x1b\[\?2004[hl]\r?", "", text).split("\r\n")
    return sum(1 + (len(line.expandtabs(8)) > 80) for line in lines[:-1])


@pytest.mark.parametrize("command", ["list 1,40", "help"])
def test_a_page_at_a_time(prompt, command):
    prompt.sendline(command)
    prompt.expect_exact(QUESTION)
    assert ROWS - 1 <= rows(prompt.before) <= ROWS  # with what was typed
    prompt.sendline("")
    prompt.expect_exact(QUESTION)
    assert ROWS - 1 <= rows(prompt.before) <= ROWS
    prompt.sendline("c")
    assert prompt.expect_exact([PROMPT, QUESTION]) == 0


def test_enough(prompt):
    prompt.sendline("help")
    prompt.expect_exact(QUESTION)
    prompt.sendline("q")
    prompt.expect_exact("Quit")
    assert prompt.expect_exact([PROMPT, QUESTION]) == 0
    prompt.sendline("echo again\\n")
    prompt.expect(r"[^ ]again\r\n")


def test_all_at_once(prompt):
    prompt.sendline("set pagination off")
    prompt.expect_exact(PROMPT)
    prompt.sendline("help")
    assert prompt.expect_exact([PROMPT, QUESTION]) == 0


@pytest.mark.parametrize("environment, coloured", [({}, True), ({"NO_COLOR": "1"}, False),
                                                   ({"TERM": "dumb"}, False)])
def test_colours(terminal, environment, coloured):
    child = terminal("-ex", "start", "-ex", "backtrace", **environment)
    child.expect("#0  (.*)\r\n")
    frame = child.match.group(1)
    assert ("\x1b[33mmain\x1b[m (" in frame) == coloured
    assert ("\x1b" in frame) == coloured
