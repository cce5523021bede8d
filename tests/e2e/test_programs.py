# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that nobody wrote for this, and what can be made of a recording."""
import gzip
import json
import subprocess

import pytest

import fxt


@pytest.mark.parametrize("words, package", [
    (["dash", "-c", "read word; echo $word >&2; exit 3"], "dash"),
    pytest.param(["cat"], "coreutils", marks=pytest.mark.soak),
    pytest.param(["git", "--version"], "git", marks=pytest.mark.soak),
])
def test_their_output_is_untouched(traced, need, words, package):
    need(words[0], package)
    alone = subprocess.run(words, input="a word\n", text=True, capture_output=True, check=False)
    run = traced(*words, input="a word\n")
    assert (run.status, run.stdout) == (alone.returncode, alone.stdout)
    assert alone.stderr in run.stderr
    assert sum(len(thread.slices()) for thread in run.trace.threads.values()) > 500
    end, = run.instants("exit")
    assert end.args["exit_status"] == alone.returncode


@pytest.fixture(name="recorded")
def recorded_crash(traced, compile):
    return traced(compile("deep.c", "-O1", "-static"), "fault", options=["-t", "b"])


def test_decode_says_what_run_said(run_mtdb, recorded, tmp_path):
    done = run_mtdb("decode", "-o", tmp_path / "again.fxt", recorded.recording)
    assert done.returncode == 0
    assert (tmp_path / "again.fxt").read_bytes() == recorded.output.read_bytes()


def test_formats(run_mtdb, recorded, tmp_path):
    for name in ["a.fxt.gz", "a.json", "a.json.gz", "a.txt"]:
        assert run_mtdb("decode", "-o", tmp_path / name, recorded.recording).returncode == 0
    plain = gzip.decompress((tmp_path / "a.fxt.gz").read_bytes())
    assert plain == recorded.output.read_bytes()
    text = (tmp_path / "a.json").read_text()
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()).decode() == text
    events = json.loads(text)["traceEvents"]
    begun = [event["name"] for event in events if event["ph"] == "B"]
    assert begun == [piece.name for piece in recorded.main.slices()]
    ended = sum(event["ph"] == "E" for event in events)
    assert len(begun) - ended == len(recorded.main.open_at_end())
    text = (tmp_path / "a.txt").read_text()
    assert "*** SIGSEGV, address 0x0 in c " in text


def test_history_and_dump_read_it(run_mtdb, recorded):
    history = run_mtdb("history", "-n", "4", recorded.recording).stdout.splitlines()
    opened = [line.split()[2:4] for line in history if " open " in line]
    assert [words[-1].partition("(")[0] for words in opened][-4:] == ["main", "a", "b", "c"]
    dump = run_mtdb("dump", recorded.recording)
    assert dump.returncode == 0
    for word in ["PSB", "TIP.PGE", "MODE.Exec", "AUXTRACE", "MMAP2", "COMM"]:
        assert word in dump.stdout


def test_perf_reads_it(recorded, need):
    perf = need("perf", "linux-perf")
    done = subprocess.run([perf, "script", "-i", str(recorded.recording), "--itrace=cre", "-F",
                           "comm,tid,sym,flags,addr,ip"], text=True, capture_output=True,
                          check=True)
    assert "instruction trace error" not in done.stdout + done.stderr
    calls = [line for line in done.stdout.splitlines() if " call " in line]
    assert len(calls) > 100
    assert any(" b " in line for line in calls[-3:])


def test_the_timeline_can_go_to_standard_output(run_mtdb, compile):
    done = run_mtdb("run", "--engine=step", "-o", "-", "--", compile("deep.c", "-O1", "-static"), "fault",
                    text=False)
    assert done.returncode == 139
    assert fxt.parse(done.stdout).instants()
