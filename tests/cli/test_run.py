# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb run, as a user meets it: what passes through, what is refused, when snapshots are taken."""
import os
import re
import signal
import subprocess

import pytest

from conftest import wait_until
from tests.processes import state_of
from tests.watchdog import descendants

STATIC = ["-O1", "-static", "-w"]
STEP = "--engine=step"


@pytest.fixture
def truth(compile):
    return compile("truth.c", *STATIC)


@pytest.fixture
def endless(tmp_path, compile):
    source = tmp_path / "endless.c"
    source.write_text('#include <unistd.h>\n'
                      'int main(void) { write(1, "ready\\n", 6); for (;;) pause(); }\n')
    return compile(source, *STATIC)


def left_in(directory):
    return sorted(path.name for path in directory.iterdir())


def test_input_output_and_status_pass_through(run_mtdb, tmp_path):
    done = run_mtdb("run", "--", "sh", "-c", "read line; echo got $line; exit 5", input="a word\n",
                    cwd=tmp_path)
    assert (done.returncode, done.stdout) == (5, "got a word\n")
    assert left_in(tmp_path) == ["trace.fxt"]
    assert "trace.fxt" in done.stderr


def test_a_crash_is_told_with_its_calls(run_mtdb, truth, tmp_path):
    done = run_mtdb("run", STEP, "--", truth, "crash", cwd=tmp_path)
    assert done.returncode == 128 + signal.SIGSEGV
    assert "was killed by SIGSEGV" in done.stderr
    assert "truth.c:" in done.stderr and "SIGSEGV, address 0x10 in crash" in done.stderr
    assert done.stdout == ""


def test_calls_are_recorded_unless_asked_otherwise(run_mtdb, compile, tmp_path):
    done = run_mtdb("run", "--", compile("crash.c", "-O0"), cwd=tmp_path)
    assert done.returncode == 128 + signal.SIGSEGV
    assert "recording with the engine calls" in done.stderr
    assert "find_article" in done.stderr and "crash.c:38" in done.stderr


def test_a_program_without_a_loader(run_mtdb, truth, tmp_path):
    done = run_mtdb("run", "--", truth, "recursion", cwd=tmp_path)
    assert done.returncode == 7
    assert "not recorded" not in done.stderr
    assert len(left_in(tmp_path)) == 1


@pytest.mark.parametrize("words,reason", [
    (["./absent"], "No such file"),
    (["no-such-program-anywhere"], "in PATH"),
    (["/etc/passwd"], "not executable"),
    (["/"], "directory"),
    (["--engine=tp", "true"], "valid engines are auto, pt, calls, sample, step"),
    (["--size=lots", "true"], "lots"),
    (["--size=1k", "true"], "too small"),
    (["--format=gif", "true"], "gif"),
    (["-o", "absent/x.fxt", "touch", "ran"], "absent/x.fxt"),
    (["--record", "absent/x.data", "touch", "ran"], "absent/x.data"),
])
def test_what_cannot_be_is_refused_before_it_runs(run_mtdb, tmp_path, words, reason):
    done = run_mtdb("run", *words, cwd=tmp_path)
    assert done.returncode == 125
    assert reason in done.stderr
    assert left_in(tmp_path) == []


def test_a_trigger_takes_a_snapshot_at_each_hit(run_mtdb, truth, tmp_path):
    done = run_mtdb("run", STEP, "-o", "out.txt", "--trigger=twice", "--", truth, "pointers",
                    cwd=tmp_path)
    assert done.returncode == 7
    text = (tmp_path / "out.txt").read_text()
    assert len(re.findall(r"\*\*\* trigger 1: twice, thread \d+ in twice", text)) == 8


def test_a_line_is_a_trigger(run_mtdb, truth, tmp_path, request):
    lines = (request.config.rootpath / "fixtures" / "truth.c").read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "return 2 * n" in line)
    done = run_mtdb("run", STEP, "-o", "out.txt", f"--trigger=truth.c:{number}", "--", truth, "pointers",
                    cwd=tmp_path)
    assert done.returncode == 7
    assert (tmp_path / "out.txt").read_text().count("*** trigger 1: truth.c:") == 8


@pytest.mark.parametrize("trigger,reason", [
    ("", "FUNCTION, FILE:LINE"),
    ("nowhere", 'the trigger "nowhere": Function "nowhere" not defined.'),
    ("nowhere if x > 3", 'Function "nowhere" not defined.'),
    ("nofile.c:3", "No source file named nofile.c."),
    ("*nowhere+4", 'No symbol "nowhere" in current context.'),
    ("*16", 'the trigger "*16": No code is there.'),
])
@pytest.mark.parametrize("engine", ["step", "calls"])
def test_a_trigger_that_means_nothing_is_refused(run_mtdb, truth, tmp_path, engine, trigger,
                                                 reason):
    done = run_mtdb("run", "--engine", engine, f"--trigger={trigger}", truth, "recursion",
                    cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("engine", ["step", "calls"])
def test_a_pending_trigger_that_never_comes(run_mtdb, truth, tmp_path, engine):
    done = run_mtdb("run", "--engine", engine, "--pending", "--trigger=nowhere", truth,
                    "recursion", cwd=tmp_path)
    assert done.returncode == 7
    assert "nowhere: no such function or line" in done.stderr


def start(mtdb, program, tmp_path, *options):
    process = subprocess.Popen([mtdb, "run", STEP, "-o", tmp_path / "out.txt", *options, "--",
                                program],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_mtdb_are_the_programs(mtdb, endless, tmp_path, number):
    process = start(mtdb, endless, tmp_path)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert signal.Signals(number).name in errors
    assert "main" in (tmp_path / "out.txt").read_text()


def test_killed_mtdb_leaves_nothing_under_the_name(mtdb, endless, tmp_path):
    process = start(mtdb, endless, tmp_path, "--record", tmp_path / "x.data")
    children = descendants(process.pid)
    assert children
    process.kill()
    process.communicate(timeout=60)
    assert not {"out.txt", "x.data"} & set(left_in(tmp_path))
    for child in children:
        wait_until(lambda child=child: not os.path.exists(f"/proc/{child}/exe")
                   or state_of(child) == "Z")


def test_affinity_is_what_it_would_be(run_mtdb, tmp_path):
    wanted = subprocess.run(["nproc"], text=True, capture_output=True, check=True).stdout
    done = run_mtdb("run", "--", "nproc", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, wanted)
