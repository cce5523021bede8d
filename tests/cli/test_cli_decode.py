# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb decode and history: names, formats and failures.  What a timeline says is tested elsewhere;
the recording here is of real hardware, and its programs are not on this machine."""
import gzip
import json
import os
import subprocess

import pytest

import fxt


@pytest.fixture(name="recording")
def recording_fixture(recordings, tmp_path):
    source = next((recordings / "quipper").glob("perf.data*"))
    path = tmp_path / "echo.perf"
    path.write_bytes(source.read_bytes())
    return path


@pytest.mark.parametrize(
    "name, options, output",
    [
        ("echo.perf", [], "echo.fxt"),
        ("perf.data", [], "perf.fxt"),
        ("no ending", [], "no ending.fxt"),
        ("an.odd.one", [], "an.odd.one.fxt"),
        (".perf", [], ".perf.fxt"),
        ("echo.perf", ["--format=json"], "echo.json"),
        ("echo.perf", ["-f", "text"], "echo.txt"),
        ("echo.perf", ["-o", "other.json"], "other.json"),
    ],
)
def test_the_output_gets_its_name(run_mtdb, recording, name, options, output):
    recording.rename(recording.with_name(name))
    done = run_mtdb("decode", *options, name, cwd=recording.parent)
    assert (done.returncode, done.stdout) == (0, "")
    assert sorted(os.listdir(recording.parent)) == sorted([name, output])
    assert f"mtdb: {output}: the timeline of " in done.stderr


def test_beside_the_recording(run_mtdb, recording):
    assert run_mtdb("decode", recording, cwd="/").returncode == 0
    assert recording.with_name("echo.fxt").exists()


def test_from_standard_input(run_mtdb, recording):
    with open(recording, "rb") as file:
        assert run_mtdb("decode", "-", cwd=recording.parent, stdin=file).returncode == 0
    assert run_mtdb("decode", recording).returncode == 0
    assert len({recording.with_name(name).read_bytes() for name in ["trace.fxt", "echo.fxt"]}) == 1


def test_formats_are_what_they_say(run_mtdb, recording):
    folder = recording.parent
    for name in ["a.fxt", "a.json", "a.txt", "a.fxt.gz", "a.fxt.zst"]:
        assert run_mtdb("decode", "-o", folder / name, recording).returncode == 0
    plain = (folder / "a.fxt").read_bytes()
    assert gzip.decompress((folder / "a.fxt.gz").read_bytes()) == plain
    subprocess.run(["gzip", "-t", folder / "a.fxt.gz"], check=True)
    assert subprocess.run(["zstd", "-dc", folder / "a.fxt.zst"], check=True, capture_output=True).stdout == plain
    assert fxt.parse(plain).threads
    assert json.loads((folder / "a.json").read_text())
    assert (folder / "a.txt").read_text().startswith("Command: ")


def test_a_second_opinion(compile, run_mtdb, tmp_path):
    path = tmp_path / "x.perf"
    run_mtdb("run", "--engine=step", "-o", tmp_path / "x.fxt", "--record", path, "--",
             compile("truth.c", "-O1", "-g", "-static", "-w"), "recursion")
    texts = [run_mtdb("decode", f"--decoder={name}", "--format=text", "-o", "-", path).stdout
             for name in ("own", "libipt")]
    assert texts[0] == texts[1] and "main" in texts[0]


def test_to_standard_output(run_mtdb, recording):
    assert run_mtdb("decode", recording).returncode == 0
    done = run_mtdb("decode", "-o", "-", recording, text=False)
    assert done.stdout == recording.with_name("echo.fxt").read_bytes()


@pytest.mark.sanitize
@pytest.mark.parametrize(
    "options, complaint",
    [
        (["-f", "nonsense"], 'unknown format "nonsense"'),
        (["-o", "none/x.fxt"], "none/x.fxt"),
        (["-o", "."], "directory"),
        (["-o", "/dev/full"], "No space left"),
    ],
)
def test_failures_leave_nothing(run_mtdb, recording, options, complaint):
    done = run_mtdb("decode", *options, "echo.perf", cwd=recording.parent)
    assert done.returncode == (2 if "nonsense" in options else 1)
    assert complaint in done.stderr
    assert os.listdir(recording.parent) == ["echo.perf"]


@pytest.mark.sanitize
def test_cut_off_recordings(run_mtdb, recording):
    contents = recording.read_bytes()
    for part in range(1, 12):
        recording.write_bytes(contents[: len(contents) * part // 12])
        done = run_mtdb("decode", "-o", "-", recording, text=False)
        assert done.returncode in (0, 1)
        assert b"echo.perf" in done.stderr
        assert done.returncode or fxt.parse(done.stdout)


def test_history_shows_the_last_calls(run_mtdb, recording):
    done = run_mtdb("history", recording)
    assert done.returncode == 0
    assert 'Thread 3174 "echo"' in done.stdout
    assert len(run_mtdb("history", "-n", "1", recording).stdout) < len(done.stdout)


def test_history_of_one_thread(run_mtdb, recording):
    done = run_mtdb("history", "--thread=3174", recording)
    heads = [line.split()[1] for line in done.stdout.splitlines() if line[:6] == "Thread"]
    assert heads == ["3174"]
    assert "Thread" not in run_mtdb("history", "--thread=1", recording).stdout


def test_history_of_one_function(compile, run_mtdb, tmp_path):
    recording = tmp_path / "r.perf"
    done = run_mtdb("run", "--engine", "calls", "--trigger", "fib", "-o", "/dev/null", "-r",
                    recording, "--", compile("calls_sequence.c"))
    assert done.returncode == 0, done.stderr
    whole = run_mtdb("history", recording).stdout
    done = run_mtdb("history", recording, "main")
    lines = done.stdout.splitlines()
    assert " main " in done.stdout and lines[0] in whole
    assert '*** trigger' in whole and "***" not in done.stdout
    done = run_mtdb("history", recording, "nosuch")
    assert "Thread" not in done.stdout and 'the recording contains no call of "nosuch"' in done.stderr


def test_history_into_a_closed_pipe(mtdb, run_mtdb, recording):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = run_mtdb("history", recording, stdout=write_end)
    os.close(write_end)
    assert done.returncode == 141


def test_history_of_names_as_people_write_them(mtdb, run_mtdb, compile, tmp_path):
    record = tmp_path / "x.perf"
    subprocess.run([mtdb, "run", "--record", record, "-o", tmp_path / "x.fxt", "--",
                    compile("history_names.cpp", "-O0", compiler="g++")], check=True, timeout=60)
    for name, shown in [("hidden", "hidden"), ("price", "price"), ("Shop::price", "price"), ("ns::Shop::price", "price"),
                        ("twice", "twice"), ("twice<int>", "twice"), ("(anonymous namespace)::hidden", "hidden")]:
        done = run_mtdb("history", record, name)
        assert shown in done.stdout, (name, done.stderr)


def test_an_ending_of_no_format(run_mtdb, recording):
    """The recording itself may be what was meant."""
    folder = recording.parent
    before = sorted(os.listdir(folder))
    for words in (["decode", "-o", "x.foo", "echo.perf"], ["run", "-o", "echo.perf", "--", "true"],
                  ["attach", "-o", "x.perf.gz", "-p", os.getpid()]):
        done = run_mtdb(*words, cwd=folder)
        assert done.returncode == (125 if words[0] == "run" else 2), done.stderr
        assert ("the ending selects the format: .fxt, .pftrace, .json, .speedscope.json, .html, .txt or .folded, "
                "each also with .gz or .zst behind it"
                in done.stderr)
        assert sorted(os.listdir(folder)) == before
    done = run_mtdb("decode", "-f", "json", "-o", "x.foo", "echo.perf", cwd=folder)
    assert done.returncode == 0 and (folder / "x.foo").read_bytes()[:1] in b"{["


def test_a_program_that_was_rebuilt(run_mtdb, compile, tmp_path):
    """Its functions have no names any more, and it is said why; where nobody asks for them nothing is said."""
    program, path = tmp_path / "program", tmp_path / "x.perf"
    program.write_bytes(compile("deep.c", "-O0").read_bytes())
    program.chmod(0o755)
    run_mtdb("run", "-e", "calls", "-r", path, "-o", tmp_path / "x.fxt", "--", program)
    words = {"history": [path], "stats": [path], "decode": ["-o", tmp_path / "y.fxt", path]}
    for command, rest in words.items():
        assert "missing" not in run_mtdb(command, *rest).stderr, command
    assert path.exists()
    program.write_bytes(compile("deep.c", "-O2").read_bytes())
    for command, rest in words.items():
        done = run_mtdb(command, *rest)
        told = f"warning: names of functions in {program} are missing: {program} has changed: its build ID"
        assert done.stderr.count(told) == 1, done.stderr
    assert "[program]" in run_mtdb("history", path).stdout
