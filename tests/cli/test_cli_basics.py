# SPDX-License-Identifier: GPL-3.0-or-later
"""What mtdb says and how it ends, whatever the command."""
import os
import re
import signal
import subprocess

import pexpect
import pytest

COMMANDS = ["run", "decode", "history", "dump", "plan", "doctor", "help"]


def test_alone_it_lists_its_commands(run_mtdb):
    done = run_mtdb()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run_mtdb("help").stdout == run_mtdb("--help").stdout
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\w", done.stdout, re.M)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(run_mtdb, name):
    done = run_mtdb("help", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: mtdb {name}" in done.stdout
    assert done.stdout == run_mtdb(name, "--help").stdout == run_mtdb(name, "-h").stdout
    lines = done.stdout.splitlines()
    assert not [line for line in lines if len(line) > 90 or line != line.rstrip()]


def test_version(run_mtdb):
    done = run_mtdb("--version")
    assert re.match(r"mtdb \d+\.\d+\n", done.stdout)
    assert run_mtdb("-V").stdout == done.stdout


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["decod"], 'unknown command "decod": did you mean "decode"?'),
        (["xyzzy"], 'unknown command "xyzzy": try "mtdb help"'),
        (["help", "xyzzy"], 'unknown command "xyzzy"'),
        (["--nonsense"], 'unknown command "--nonsense"'),
        (["decode"], "decode: missing argument"),
        (["decode", "--nonsense", "x"], "decode: unknown option: --nonsense"),
        (["decode", "--decoder=perf", "x"],
         'decode: "perf" is no decoder of Intel PT: take own or libipt'),
        (["decode", "x", "-o"], "decode: missing argument: -o"),
        (["history", "a", "b", "c"], "history: unexpected argument: c"),
        (["history", "-n", "0", "x"], '"0" is not a valid number of calls'),
        (["history", "-n", "many", "x"], '"many" is not a valid number of calls'),
        (["history", "--thread=-1", "x"], '"-1" is not a valid thread id'),
        (["doctor", "x"], "doctor: unexpected argument"),
    ],
)
def test_wrong_words_end_with_2(run_mtdb, words, complaint):
    done = run_mtdb(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mtdb: ")
    assert complaint in done.stderr


@pytest.mark.parametrize("command", ["decode", "history", "dump", "plan"])
@pytest.mark.sanitize
def test_a_recording_that_is_not_there(run_mtdb, tmp_path, command):
    done = run_mtdb(command, tmp_path / "none.perf")
    assert (done.returncode, done.stdout) == (1, "")
    assert "none.perf" in done.stderr and "No such file" in done.stderr


@pytest.mark.parametrize("command", ["decode", "history", "dump", "plan"])
@pytest.mark.parametrize("contents", [b"", b"x", b"PERFILE2", b"\x7fELF" + bytes(200), bytes(5000)])
@pytest.mark.sanitize
def test_what_is_no_recording(run_mtdb, tmp_path, command, contents):
    path = tmp_path / "odd.perf"
    path.write_bytes(contents)
    done = run_mtdb(command, path)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.match(r"mtdb: .*odd\.perf.*\n", done.stderr)
    assert os.listdir(tmp_path) == ["odd.perf"]


@pytest.mark.parametrize("command", ["decode", "history", "dump", "plan"])
def test_a_directory_is_no_recording(run_mtdb, tmp_path, command):
    done = run_mtdb(command, tmp_path)
    assert done.returncode == 1
    assert str(tmp_path) in done.stderr


def test_a_closed_pipe_is_quiet(mtdb):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([mtdb, "help"], stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_a_full_disk_is_told(mtdb):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([mtdb, "help"], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False)
    assert done.returncode == 1
    assert done.stderr == "mtdb: cannot write to standard output: No space left on device\n"


def test_doctor_tells_of_every_engine(run_mtdb):
    done = run_mtdb("doctor", env={**os.environ, "DEBUGINFOD_URLS": "http://127.0.0.1:9"})
    assert done.stderr == ""
    verdicts = dict(re.findall(r"^(\w+) +(yes|no) ", done.stdout, re.M))
    assert {"step", "pt", "calls", "intel_pt", "perf", "debuginfod", "output"} <= verdicts.keys()
    assert verdicts["debuginfod"] == "yes"
    assert done.returncode == (0 if verdicts["step"] == "yes" else 1)
    assert not [line for line in done.stdout.splitlines() if re.search(r"\bno +$", line)]


def test_doctor_knows_this_machine(run_mtdb):
    verdicts = dict(re.findall(r"^(\w+) +(yes|no) ", run_mtdb("doctor").stdout, re.M))
    kernel_has_pt = os.path.exists("/sys/bus/event_source/devices/intel_pt/type")
    assert verdicts["intel_pt"] == ("yes" if kernel_has_pt else "no")


def test_doctor_in_a_read_only_place(run_mtdb):
    done = run_mtdb("doctor", cwd="/proc")
    assert re.search(r"^output +no .*use -o", done.stdout, re.M)


def test_a_terminal_gets_the_same_words(mtdb, run_mtdb):
    shown = pexpect.run(f"{mtdb} help", env={**os.environ, "TERM": "xterm"}).decode()
    assert shown.replace("\r\n", "\n") == run_mtdb("help").stdout
