# SPDX-License-Identifier: GPL-3.0-or-later
"""From start to timeline through every line but the hardware's: what the stand-in's processor plays
is what single-stepping saw, and must be what comes out."""
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
