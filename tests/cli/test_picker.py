# SPDX-License-Identifier: GPL-3.0-or-later
"""Choosing a process, or a function, in the terminal."""
import os
import pathlib
import signal
import stat
import subprocess

import pexpect
import pytest
from terminal import end_child

from tests.watchdog import descendants

ESC, CTRL_C, ENTER, DOWN = "\x1b", "\x03", "\r", "\x1b[B"


@pytest.fixture(name="path")
def make_path(tmp_path):
    """A PATH in which there is no fzf but what a test puts there."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "bash", "stty", "sleep", "grep", "head", "cat"):
        (tools / name).symlink_to(subprocess.check_output(["which", name], text=True).strip())
    return tools


@pytest.fixture(name="terminal")
def open_terminal(path, tmp_path):
    """mtdb in a shell, which tells what became of it and of the terminal."""
    shells = []

    def run(*words):
        command = " ".join(map(str, words))
        script = (f'before=$(stty -g); {command}; echo "status $?"; '
                  '[ "$before" = "$(stty -g)" ] && echo "terminal as before"')
        shells.append(pexpect.spawn("bash", ["-c", script], timeout=60, encoding="utf-8",
                                    cwd=tmp_path, dimensions=(24, 100),
                                    env={**os.environ, "PATH": str(path), "TERM": "xterm"}))
        return shells[-1]
    yield run
    for shell in shells:
        end_child(shell)


def check_end(shell, status):
    shell.expect_exact(f"status {status}")
    shell.expect_exact("terminal as before")
    shell.expect(pexpect.EOF)


@pytest.mark.parametrize("asked", ["?", "."])
def test_a_function(mtdb, terminal, compile, asked):
    shell = terminal(mtdb, f"run --engine=calls -r r.perf -t '{asked}'",
                     compile("calls_sequence.c"))
    shell.expect_exact("function> ")
    shell.send("fib")
    shell.expect(r"function> fib  1/\d+")
    shell.send(ENTER)
    check_end(shell, 0)


def test_the_next_one_and_erasing(mtdb, terminal, compile):
    program = compile("calls_sequence.c")
    shell = terminal(mtdb, "run -o out.json -t '?'", program)
    shell.expect_exact("function> ")
    shell.send("xyzxyz")
    shell.expect(r"xyzxyz  0/(\d+)")
    every = shell.match.group(1)
    shell.send("\x17")
    shell.expect(rf"function>   {every}/{every}")
    shell.send(DOWN + DOWN + "\x1b[A" + ENTER)
    check_end(shell, 0)


@pytest.mark.parametrize("key", [ESC, CTRL_C, "\x04"])
def test_none(mtdb, terminal, key, compile):
    shell = terminal(mtdb, "run -t '?'", compile("calls_sequence.c"))
    shell.expect_exact("function> ")
    shell.send(key)
    shell.expect_exact("no function was chosen")
    check_end(shell, 125)


def test_a_signal_leaves_the_terminal_as_it_was(mtdb, terminal, compile):
    shell = terminal("set -m;", mtdb, "run -t '?'", compile("calls_sequence.c"))
    shell.expect_exact("function> ")
    (pid,) = [pid for pid in descendants(shell.pid)
              if b"run\0-t" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(pid, signal.SIGTERM)
    check_end(shell, 128 + signal.SIGTERM)


def test_a_process(mtdb, terminal):
    with subprocess.Popen(["bash", "-c", "read word", "a-word-of-its-own"],
                          stdin=subprocess.PIPE) as process:
        shell = terminal(mtdb, "attach --for=200ms -o out.txt")
        shell.expect_exact("process> ")
        shell.send("a-word-of-its-own")
        shell.expect(rf"> +{process.pid} .*a-word-of-its-own")
        shell.send(ENTER)
        shell.expect_exact(f"recording process {process.pid}")
        check_end(shell, 0)
        process.kill()


def test_fzf(mtdb, terminal, path, compile):
    fzf = path / "fzf"
    fzf.write_text("#!/bin/sh\ngrep -w fib | head -n 1\n")
    fzf.chmod(fzf.stat().st_mode | stat.S_IXUSR)
    shell = terminal(mtdb, "run --engine=calls -o out.json -t '?'", compile("calls_sequence.c"))
    check_end(shell, 0)


@pytest.mark.parametrize("status, message", [(130, "no function was chosen"),
                                             (1, "no function was chosen"),
                                             (2, "fzf failed with status 2")])
def test_fzf_without_a_choice(mtdb, terminal, path, compile, status, message):
    fzf = path / "fzf"
    fzf.write_text(f"#!/bin/sh\nexit {status}\n")
    fzf.chmod(fzf.stat().st_mode | stat.S_IXUSR)
    shell = terminal(mtdb, "run -t '?'", compile("calls_sequence.c"))
    shell.expect_exact(message)


@pytest.mark.parametrize("words", [["attach"], ["run", "-t", "?", "true"]])
def test_without_a_terminal(run_mtdb, words):
    done = run_mtdb(*words, start_new_session=True)
    assert done.returncode in (2, 125) and "without a terminal" in done.stderr


def test_at_the_prompt(mtdb, terminal, compile):
    shell = terminal(mtdb, compile("calls_sequence.c"))
    for line, keys, answer in [("mtrace trigger ?", "fib" + ENTER, "Trigger 1: a snapshot at each hit of fib."),
                               ("break ?", ESC, "no function was chosen"),
                               ("break ? if n == 3", "fib" + ENTER, "Breakpoint 1 at "),
                               ("attach ?", CTRL_C, "no process was chosen")]:
        shell.expect_exact("(mtdb) ")
        shell.sendline(line)
        shell.expect_exact("process> " if "attach" in line else "function> ")
        shell.send(keys)
        shell.expect_exact(answer)
    shell.expect_exact("(mtdb) ")
    shell.sendline("quit")
    check_end(shell, 0)
