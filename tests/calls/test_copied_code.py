# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that copy their code, with jumps of the recording in it, and run the copy elsewhere: they
compute, print and end as alone."""
import re
import signal
import subprocess

import pytest

WAYS = [["1"], ["6"], ["1", "shared"], ["6", "shared"]]
SAID = "runs code that it has copied out of"


@pytest.fixture(name="program")
def compile_program(compile):
    return compile("calls_copied.c", "-g", "-O1", "-pthread")


def alone(*words):
    return subprocess.run(words, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("words", [[], ["-t", "copied"], ["-t", "also if n > 100"],
                                   ["-t", "also return"], ["-t", "copied", "-t", "also"], ["--modules", "libc.so*"]], ids=" ".join)
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_run(program, run_mtdb, tmp_path, way, words):
    done = run_mtdb("run", "-e", "calls", *words, "-o", tmp_path / "x.fxt", "--", program, *way)
    assert (done.returncode, done.stdout) == (0, alone(program, *way).stdout), done.stderr
    assert done.stderr.count(SAID) == ("--modules" not in words), done.stderr


def test_what_is_left_alone(program, run_mtdb, tmp_path):
    """File by file, as --modules says: then nothing has to be mended."""
    out = tmp_path / "out.txt"
    done = run_mtdb("run", "-e", "calls", "--modules", "libc.so*", "-o", out, "--", program, "1")
    assert (done.returncode, done.stdout) == (0, alone(program, "1").stdout), done.stderr
    assert len(re.findall(r" mprotect .* calls_copied\.c:\d+$", out.read_text(), re.M)) == 3


@pytest.mark.parametrize("count", ["1", "6"])
def test_what_is_nowhere_is_no_copy(program, run_mtdb, tmp_path, count):
    one = alone(program, count, "astray")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "x.fxt", "--", program, count, "astray")
    assert one.returncode == -signal.SIGSEGV and done.returncode == 128 + signal.SIGSEGV, done.stderr
    assert done.stdout == one.stdout and "killed by SIGSEGV" in done.stderr


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_prompt(program, mtdb, tmp_path, way):
    script = f"mtrace start\nrun {' '.join(way)}\n"
    done = subprocess.run([mtdb, program], input=script, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert "exited normally" in done.stdout and "SIGSEGV" not in done.stdout, done.stdout
    assert [line for line in done.stdout.splitlines() if line.isdigit()] == alone(program, *way).stdout.split()


def test_node(need, run_mtdb, tmp_path):
    """Its text moves into huge pages; then V8 copies its builtins out of that, and runs them."""
    words = [need("node"), "--use-largepages=on", "-e",
             "const f = n => n < 2 ? n : f(n - 1) + f(n - 2); console.log(f(20))"]
    one = alone(*words)
    if one.returncode != 0 or "not" in one.stderr:
        pytest.skip("no huge pages for text: " + one.stderr)
    done = run_mtdb("run", "-e", "calls", "--modules", "node", "-o", tmp_path / "x.txt", "--", *words)
    assert (done.returncode, done.stdout) == (0, one.stdout), done.stderr
    assert "[anon]" not in (tmp_path / "x.txt").read_text()
