# SPDX-License-Identifier: GPL-3.0-or-later
"""The last calls of a program that ends are those that led there, not what libraries do then."""
import os
import re
import subprocess
import sys

import pytest

FOLDED = re.compile(r"^ +(?:\+\d+ )?\((\d+) calls (in|after) (\S+) are not shown: .*\)$")


@pytest.fixture(name="last")
def last_fixture(mtdb, tmp_path):
    """last(3, program, …) -> the lines of `mtrace history 3`: names, or "57 in exit"."""

    def run(what, *program):
        environment = {**os.environ, "RUST_BACKTRACE": "0"}
        done = subprocess.run([mtdb, "-batch", "-ex", "mtrace start", "-ex", "run", "-ex",
                               f"mtrace history {what}", "--args", *program], cwd=tmp_path,
                              env=environment, text=True, capture_output=True, check=False,
                              timeout=120, stdin=subprocess.DEVNULL)
        lines = done.stdout.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("-- history"))
        found = []
        for line in lines[first + 1:]:
            folded = FOLDED.match(line)
            # Behind the columns of time and duration.
            found.append(" ".join(folded.groups()) if folded
                         else re.sub(r"^ *(\+\d+ )?", "", line[28:]))
        return [re.split("  +", line)[0] for line in found if line]

    return run


def calls_in(line, name):
    """Of "57 in exit": 57."""
    count, where, of = line.split()
    assert (where, of) == ("in", name)
    return int(count)


def test_exit(last, compile):
    program = compile("ends.c", "-O1")
    lines = last(1, program, "exit")
    assert lines[-4:-2] == ["decide", "exit"] and "exit with status 3" in lines[-1]
    assert calls_in(lines[-2], "exit") > 5
    lines = last(3, program)
    assert lines[-3] == "exit" and "exit with status 0" in lines[-1]
    assert "main" in lines and "__run_exit_handlers" not in lines
    assert calls_in(lines[-2], "exit") > 5
    lines = last("-unfold 3", program)
    assert "_exit" in lines[-2] and not any(" in exit" in line for line in lines)


def test_exit_is_not_where_a_trigger_was_hit(run_mtdb, compile, tmp_path):
    """That was the last stop, and long ago."""
    out = tmp_path / "out.txt"
    run_mtdb("run", "-e", "calls", "-t", "decide", "-o", out, "--", compile("ends.c", "-O1"), "exit")
    assert re.search(r"\*\*\* trigger 1 in decide\b", out.read_text())
    assert re.search(r"\*\*\* exit with status 3 *$", out.read_text(), re.M), out.read_text()


def test_abort_and_assert(last, compile):
    program = compile("ends.c", "-O1")
    for how, call in ("abort", "abort"), ("assert", "__assert_fail"):
        lines = last(1, program, how)
        # With the C library's debug information, __assert_fail has arguments.
        assert [line.partition("(")[0] for line in lines[-4:-2]] == ["decide", call]
        assert "SIGABRT" in lines[-1]
        assert calls_in(lines[-2], call) > 3


def test_what_goes_wrong_in_an_exit_handler_is_shown(last, compile):
    program = compile("ends.c", "-O1")
    lines = last(1, program, "late")
    assert lines[-4:-2] == ["crash_late", "abort"] and calls_in(lines[-2], "abort") > 3
    lines = last(1, program, "fault")
    assert "SIGSEGV" in lines[-1] and lines[-2] == "__strcmp_evex" or "strcmp" in lines[-2]
    assert "crash_late" in lines and not any(" in exit" in line for line in lines)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_an_exception_that_nobody_catches(last, compile, level):
    """Also -O2, where what throws and what prints it lie in functions' cold parts."""
    program = compile("ends.cpp", level)
    lines = last(1, program)
    assert lines[-3] == "__cxa_throw" and "SIGABRT" in lines[-1]
    assert any("thrower" in line for line in lines) and calls_in(lines[-2], "__cxa_throw") > 50
    every = last("-unfold 5000", program)
    assert sum(re.match(r"abort\b", line) is not None for line in every) == 1
    assert not any("(inferred)" in line for line in every[1:]), every[-30:]


def test_an_exception_that_is_caught(last, compile):
    lines = last(100, compile("ends.cpp", "-O1"), "caught")
    throw = next(i for i, line in enumerate(lines) if line.startswith("__cxa_throw"))
    assert calls_in(lines[throw + 1], "__cxa_throw") > 50
    assert any("~guard" in line for line in lines[throw:])
    assert "exit" in lines and any("__cxa_end_catch" in line for line in lines[throw:])


def test_a_panic(last, compile):
    lines = last(25, compile("ends.rs"))
    start = next(i for i, line in enumerate(lines) if "panic_bounds_check" in line)
    assert any("ends::look" in line for line in lines[:start])
    folded = [i for i, line in enumerate(lines) if re.match(r"\d+ (in|after) ", line)]
    assert "rust_begin_unwind" in lines[folded[0]] and folded[0] < start + 4
    assert "exit with status 101" in lines[-1]


def test_a_script_that_exits(last):
    lines = last(2, os.path.realpath(sys.executable), "-c", "import sys; sys.exit(3)")
    assert "exit with status 3" in lines[-1]
    assert any(line in ("Py_Exit", "exit") for line in lines[-4:])
    assert re.match(r"\d+ in (Py_Exit|exit)", lines[-2])
