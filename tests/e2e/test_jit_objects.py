# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that a program has made and registered for GDB has the names and lines that GDB gives it."""
import random
import re
import subprocess

import pytest

from conftest import linked_for

CALL = re.compile(r"  (enter|made_outer|made_inner|other_inner|back)(?: \((?:inferred|end lost)\))* +(\S+:\d+)$")
DEATH = re.compile(r"\*\*\* SIGSEGV, address 0x8 in (\w+) +\S*/(\S+)$", re.MULTILINE)


@pytest.fixture(name="registers")
def registers_fixture(compile):
    return compile("jit_registers.c", "-O1")


@pytest.fixture(name="stepped")
def stepped_fixture(compile):
    """The same, to be stepped."""
    return compile("jit_registers.c", "-O1", *linked_for("step"))


@pytest.fixture(name="made")
def made_fixture(compile):
    return compile("jit_made.c", "-O1", "-c", output="jit_made.o")


@pytest.fixture(name="framed")
def framed_fixture(compile):
    """The engine calls does not look for unwind tables of such code."""
    return compile("jit_made.c", "-O1", "-c", "-fno-omit-frame-pointer", output="framed.o")


@pytest.fixture(name="other")
def other_fixture(compile):
    return compile("jit_made.c", "-O1", "-c", "-DINNER=other_inner", output="other.o")


def calls_in(text):
    """Name and call site of each, and how deep it is within the others."""
    found = [(len(line) - len(line.lstrip()), match) for line in text.splitlines() if (match := CALL.search(line))]
    return [(match[1], match[2].rsplit("/")[-1], match.start()) for _, match in found]


def frames_of(text):
    """Of a backtrace: functions, and where each was called, innermost first."""
    frames = dict(re.findall(r"^#\d+ .*?(\w+) \(.* at \S+/([^/\s]+:\d+)$", text, re.MULTILINE))
    return list(zip(frames, list(frames.values())[1:]))


def backtrace(debugger, program, *words):
    commands = ["set confirm off", "set width 0", "break back", "run", "bt", "up", "info symbol $pc", "x/i $pc"]
    given = [word for command in commands for word in ("-ex", command)]
    return subprocess.run([*debugger, "-batch", *given, "--args", program, "run", *words], text=True,
                          capture_output=True, timeout=300, check=True, stdin=subprocess.DEVNULL).stdout


def test_calls_are_those_of_gdbs_backtrace(run_mtdb, need, stepped, made, tmp_path):
    """Of the engine step, whose branches lead through the code; and of the recording, when program
    and code are gone."""
    truth = frames_of(backtrace([need("gdb"), "-nx"], stepped, made))
    assert [name for name, _ in truth] == ["back", "made_inner", "made_outer", "enter"]
    record = tmp_path / "out.data"
    done = run_mtdb("run", "-e", "step", "-o", tmp_path / "out.txt", "-r", record, stepped, "run", made)
    assert done.returncode == 0 and "may have no names" not in done.stderr, done.stderr
    for text in (tmp_path / "out.txt").read_text(), run_mtdb("history", "-n", "100000", record).stdout:
        calls = calls_in(text)
        assert [call[:2] for call in calls] == truth[::-1], text
        assert [call[2] - calls[0][2] for call in calls] == [0, 2, 4, 6], text


def test_the_prompt_shows_what_gdb_shows(mtdb, need, registers, made):
    gdb = backtrace([need("gdb"), "-nx"], registers, made)
    ours = backtrace([mtdb], registers, made)
    assert frames_of(ours) == frames_of(gdb)
    for words in (r"^made_inner \+ \d+ in section \.text of", r"^=> 0x\w+ <made_inner\+\d+>:"):
        assert re.search(words, ours, re.MULTILINE)[0] == re.search(words, gdb, re.MULTILINE)[0]


def test_frames_of_an_attached_process(run_mtdb, registers, framed, tmp_path):
    record = tmp_path / "out.data"
    with subprocess.Popen([registers, "wait", framed], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        done = run_mtdb("attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "out.txt", "-r", record,
                        "-p", process.pid)
        assert done.returncode == 0, done.stderr
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
    for text in (tmp_path / "out.txt").read_text(), run_mtdb("history", "-n", "100000", record).stdout:
        assert [call[0] for call in calls_in(text)] == ["enter", "made_outer", "made_inner", "back"], text


@pytest.mark.parametrize("engine", ["step", "calls"])
def test_death_in_made_code(run_mtdb, compile, made, tmp_path, engine):
    program = compile("jit_registers.c", "-O1", *linked_for(engine))
    done = run_mtdb("run", "-e", engine, "-o", tmp_path / "out.txt", program, "fall", made)
    function, place = DEATH.search(done.stdout + done.stderr).groups()
    assert (function, place) == ("made_inner", "jit_made.c:11"), done.stdout + done.stderr


def test_names_hold_while_the_code_is_registered(run_mtdb, stepped, made, other, tmp_path):
    """Three codes at one place: the last one was not registered, so nobody knows what it is."""
    out = tmp_path / "out.txt"
    done = run_mtdb("run", "-e", "step", "-o", out, stepped, "reuse", made, other)
    assert done.returncode == 0, done.stderr
    names = re.findall(r"  (made_outer|made_inner|other_inner|back) ", out.read_text())
    assert names == ["made_outer", "made_inner", "back", "made_outer", "other_inner", "back", "back"]


@pytest.mark.sanitize
@pytest.mark.parametrize("way, why", [
    ("circular", "their list is circular"),
    ("huge", "an object file is larger than 64 MiB"),
    ("empty", "an object file has no bytes"),
    ("unmapped", "an object file lies in memory that cannot be read"),
    ("wild", "their list leads to memory that cannot be read"),
    ("garbled", "it does not start with the ELF magic number"),
    ("many", "their lists have more than 65536 entries"),
])
def test_a_list_that_is_none(run_mtdb, registers, framed, tmp_path, way, why):
    """It is said once; what is sound in it has its names, and the program goes on."""
    with subprocess.Popen([registers, way, framed], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        done = run_mtdb("attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "out.txt", "-p", process.pid)
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "may have no names" in line]
    assert len(warnings) == 1 and why in warnings[0], done.stderr
    names = [call[0] for call in calls_in((tmp_path / "out.txt").read_text())]
    assert names == ["enter", "made_outer", "made_inner", "back"]


@pytest.mark.sanitize
def test_a_recording_whose_objects_are_garbled(run_mtdb, registers, made, tmp_path):
    """What is left of them has names or none; the calls around them stay."""
    sound = tmp_path / "sound.data"
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "-r", sound, registers, "run", made)
    assert done.returncode == 0, done.stderr
    bytes_of = sound.read_bytes()
    first = bytes_of.index(b"\x7fELF") - 24  # a struct mt_object_piece
    for seed in range(20):
        dice = random.Random(seed)
        garbled = bytearray(bytes_of)
        for _ in range(dice.choice([1, 10, 100])):
            garbled[first + dice.randrange(dice.choice([24, 1000, 4000]))] = dice.choice([0, 0xFF, dice.randrange(256)])
        path = tmp_path / "garbled.data"
        path.write_bytes(garbled)
        done = run_mtdb("history", "-n", "100000", path)
        assert done.returncode == 0 and re.search(r"  back ", done.stdout), f"seed {seed}: {done.stderr}"
