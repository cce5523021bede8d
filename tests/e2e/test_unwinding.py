# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames that are left without a return: no staircase in the timeline."""
import pytest


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("way", ["exception", "longjmp"])
def test_depth_afterwards(traced, compile, level, way):
    run = traced(compile("unwind.cpp", level, "-fPIE", "-static-pie"), way)
    assert run.status == 3
    main, = run.main.find("main")
    afters = run.main.find("after(int)")
    assert [piece.parent for piece in afters] == [main] * 4
    for depth in range(1, 6):
        frames = [piece for piece in run.main.slices()
                  if piece.name.endswith(f"frame<{depth}>(bool)")]
        assert len(frames) == 4
        assert len({piece.depth for piece in frames}) == 1
        for piece, after in zip(frames, afters):
            assert piece.end is not None and piece.end <= after.begin
    guards = run.main.find("Guard::~Guard()")
    assert len(guards) == (16 if way == "exception" else 0)
    assert {piece.parent.name.split("<")[0].split()[-1] for piece in guards} <= {"frame"}
