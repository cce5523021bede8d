# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that put their text into memory of no file, in its old place: it keeps its names, is
recorded as before, and triggers are hit there."""
import collections
import re
import subprocess

import pytest

import fxt

WAYS = [("moved", "all"), ("moved", "part"), ("copied", "part")]
TRIGGERS = ["work", "work if n >= 0", "work return"]


@pytest.fixture(name="program")
def compile_program(compile):
    return compile("calls_moved_text.c", "-g", "-O1")


def run(run_mtdb, program, way, out, *words):
    alone = subprocess.run([program, *way], text=True, capture_output=True, check=True).stdout
    assert alone.endswith(", 1\n")
    done = run_mtdb("run", "-o", out, *words, "--", program, *way)
    assert (done.returncode, done.stdout) == (0, alone), done.stderr
    return int(alone.split(",")[0])


@pytest.mark.parametrize("engine", ["calls", "step"])
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_names(program, run_mtdb, tmp_path, way, engine):
    out = tmp_path / "out.txt"
    calls = run(run_mtdb, program, way, out, "-e", engine, "--size", "64M")
    said = out.read_text()
    assert len(re.findall(r"^ .*  (?:\+\d+ )?work(?: |$)", said, re.M)) == calls
    assert "[anon]" not in said


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_triggers(program, run_mtdb, tmp_path, way, trigger):
    calls = run(run_mtdb, program, way, tmp_path / "x.fxt", "-e", "calls", "-t", trigger)
    instants = collections.Counter(one.name for one in fxt.read(tmp_path / "x.fxt").instants())
    assert instants["trigger"] == calls


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_crash(program, run_mtdb, tmp_path, way):
    """The frames that are open there have names, too."""
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "x.fxt", "--", program, *way, "crash")
    assert re.search("SIGSEGV, address 0x0 in behind", done.stderr) and "[anon]" not in done.stderr


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_attach(program, mtdb, tmp_path, way):
    """What was moved before keeps its names, and it is said that calls there are not recorded."""
    out = tmp_path / "out.txt"
    with subprocess.Popen([program, *way, "waits"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "moved\n"
            done = subprocess.run([mtdb, "attach", "-e", "calls", "--for=200ms", "-o", out, "-p", str(process.pid)],
                                  capture_output=True, text=True, check=False, timeout=60)
        finally:
            process.kill()
    assert done.returncode == 0 and done.stderr.count("moved into memory of no file") == 1, done.stderr
    said = out.read_text()
    assert "anon" not in said and re.search(r" getppid +calls_moved_text\.c:\d+$", said, re.M)


def test_children(compile, run_mtdb, tmp_path):
    """What a child inherits that was moved is recorded, and nothing else is said."""
    program = compile("calls_strange.c", "-D_GNU_SOURCE", "-O1", "-pthread", "-w")
    done = run_mtdb("run", "-e", "calls", "--follow-forks", "-o", tmp_path / "out.txt", "--", program, "moved-text")
    assert done.returncode == 7 and "warning" not in done.stderr, done.stderr
    assert len(re.findall(r" work(?: |$)", (tmp_path / "out.txt").read_text(), re.M)) > int(done.stdout.split()[-1])
