# SPDX-License-Identifier: GPL-3.0-or-later
"""From start to timeline through every line but the hardware's: what the stand-in's processor plays
is what single-stepping saw, and must be what comes out."""
import re
import subprocess

import pytest

from branches import first_difference

GOOD = 7


def check(played, decoders):
    assert played.done.returncode == GOOD, played.done.stderr
    for decoder in decoders:
        decoded = decoder(played.recording)
        assert len(decoded) == len(played.seen)
        for seen, found in zip(played.seen, decoded):
            assert first_difference(seen, found) is None


@pytest.mark.parametrize("counts", [0, 1])
def test_branches_come_through(play, compile, decoders, counts):
    check(play(compile("truth.c", "-O1", "-static", "-w"), "recursion", COUNTS=counts), decoders)


def test_every_thread_has_its_own(play, compile, decoders):
    played = play(compile("truth.c", "-O1", "-static", "-w"), "threads")
    assert len(played.seen) == 5
    check(played, decoders)


def notes_of(recording, need):
    """(event, number) of the notes of triggers and snapshots, with how often."""
    done = subprocess.run([need("perf", "linux-perf"), "script", "-F", "event,weight", "-i",
                           recording], text=True, capture_output=True, check=True)
    return sorted(re.findall(r"mtrace:(trigger|snapshot):\s+(\d+)", done.stdout))


@pytest.mark.parametrize("mode,trigger,flags,hits", [
    ("pointers", "twice", ["-static"], 8),
    ("loaded", "cos", [], 2),  # in a library that is loaded late: asked for its variant twice
    ("threads", "work", ["-static"], 4),
])
def test_windows_end_where_triggers_are(play, compile, decoders, need, mode, trigger, flags, hits):
    options = [f"--trigger={trigger}"]
    played = play(compile("truth.c", "-O1", "-w", *flags), mode, options=options,
                  step_options=options)
    notes = notes_of(played.recording, need)
    assert notes.count(("trigger", "1")) == hits
    if mode != "threads":  # whose others stop elsewhere
        check(played, decoders[:1])
        assert notes == notes_of(played.stepped, need)


@pytest.mark.parametrize("memory_kb,word", [(12 << 10, "gets a ring of"), (4500, "is not recorded")])
def test_threads_that_find_no_memory(play, compile, memory_kb, word):
    """The first ones are worth going on for: they have what they ran."""
    played = play(compile("truth.c", "-O1", "-static", "-w"), "threads", MEMORY_KB=memory_kb)
    assert played.done.returncode == GOOD, played.done.stderr
    assert word in played.done.stderr
    assert "take smaller rings" in played.done.stderr
