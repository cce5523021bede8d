# SPDX-License-Identifier: GPL-3.0-or-later
"""`mtrace` at mtdb's prompt: what it records, and that nobody sees that it does."""
import re
import subprocess

import pytest


@pytest.fixture
def session(mtdb, compile, tmp_path):
    """session(lines, *arguments): the output of a script."""
    program = compile("debug_steps.c", "-O0")

    def run(lines, *arguments):
        script = tmp_path / "script"
        script.write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            [mtdb, "-batch", "-x", script, "--args", program, *arguments],
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL, cwd=tmp_path,
        )  # fmt: skip
        assert "rror" not in done.stderr, done.stderr
        return done.stdout

    return run


def test_history(session):
    text = session(["mtrace start", "break factorial if n == 1", "run", "mtrace history 8"])
    calls = re.findall(r"(main|add|square|factorial) +\S+$", text, re.M)
    assert calls[-4:] == ["factorial"] * 4
    assert "Recording" in session(["mtrace start", "break main", "run", "mtrace info"])


def test_start_while_it_is_stopped(session):
    text = session(["break square", "run", "mtrace start", "c", "mtrace history 5", "mtrace stop", "c", "delete", "c"])
    assert "Recording the calls of process" in text
    assert re.search(r"square +\S+$", text, re.M)
    assert "none: total 32" in text


def test_trigger(session, tmp_path):
    text = session(
        ["mtrace start", "mtrace trigger -print a -print b add if a > 0", "run", "mtrace info", "mtrace history 100"]
    )
    assert len(re.findall(r"^\[mtrace: trigger 1, add, hit [12] in thread \d+: (\S+)\]\n  a = [12]\n  b = 1$", text, re.M)) == 2
    assert "Trigger 1: add if a > 0: 2 hits" in text
    assert (tmp_path / "trace-1.fxt").stat().st_size and (tmp_path / "trace-2.fxt").stat().st_size


def test_files_are_not_overwritten(session, tmp_path):
    (tmp_path / "trace-1.fxt").write_text("of another session")
    text = session(["mtrace start", "break square", "run", "mtrace snapshot", "kill"])
    assert "Snapshot 1 is in trace-2.fxt." in text
    assert (tmp_path / "trace-1.fxt").read_text() == "of another session"


def test_an_ending_that_is_no_formats(mtdb, compile, tmp_path):
    lines = ["mtrace start", "break square", "run", "mtrace snapshot x.foo", "kill"]
    done = subprocess.run([mtdb, "-batch", *(word for line in lines for word in ("-ex", line)),
                           compile("debug_steps.c", "-O0")], capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, cwd=tmp_path)
    assert "x.foo: the ending selects the format: .fxt, .pftrace, .json, .speedscope.json, .html, .txt or .folded" in done.stderr
    assert not (tmp_path / "x.foo").exists()


def test_trigger_that_stops(session):
    text = session(["mtrace start", "mtrace trigger -stop -max 1 square", "run", "bt", "mtrace delete 1", "c"])
    assert "#0  square (v=0)" in text and "#1 " in text
    assert "none: total 32" in text


def test_crash(session, tmp_path):
    text = session(["mtrace start", "handle SIGUSR1 nostop noprint", "run a b", "mtrace history 5", "mtrace save x.perf", "kill"])
    assert re.search(r"^\[mtrace: the calls up to SIGABRT are in trace-1.fxt", text, re.M)
    assert "abort" in text
    assert (tmp_path / "x.perf").stat().st_size


STEPS = (
    ["break square", "run", "x/16xb add", "x/16xb main", "bt", "finish"]
    + ["step"] * 12
    + ["next"] * 6
    + ["c", "stepi", "nexti", "x/24xb add", "up", "x/16xb square", "info locals", "delete", "tbreak compare", "c", "bt 1", "c"]
)


def test_nobody_sees_it(session):
    plain = session(STEPS)
    recorded = session(["mtrace start", *STEPS])

    def same(text):
        text = re.sub(r"^(The program's calls will be|\[mtrace: ).*\n", "", text, flags=re.M)
        text = re.sub(r"0x7ff[0-9a-f]+", "STACK", text)
        return re.sub(r"process \d+", "process N", text)

    assert same(recorded) == same(plain)
