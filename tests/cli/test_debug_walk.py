# SPDX-License-Identifier: GPL-3.0-or-later
"""Five threads are stopped, stepped and let go at random: in the end their sums are right."""
import random
import re
import subprocess

import pytest

PLACES = ["branch", "tree", "leaping", "round_of", "leap"]
MOVES = ["step", "next", "stepi", "nexti", "finish", "continue", "continue", "until", "up", "down", "bt 3"]


def script(seed):
    dice = random.Random(seed)
    lines = ["break main", "run", "break leaf"]  # where every thread comes soon
    for place in dice.sample(PLACES, dice.randint(1, 3)):
        lines.append(f"{dice.choice(['break', 'break', 'tbreak'])} {place}")
    for _ in range(dice.randint(10, 60)):
        lines.append(dice.choice(MOVES))
        if dice.random() < 0.1:
            lines.append(f"thread {dice.randint(1, 5)}")
        if dice.random() < 0.05:
            lines.append(f"{dice.choice(['disable', 'enable'])} 3")
        if dice.random() < 0.05:
            lines.append(f"{dice.choice(['watch sums', 'awatch over', 'hbreak leap', 'delete 5'])}")
        if dice.random() < 0.05:
            lines.append(f"break *{dice.choice(PLACES)}")
    return lines


def walk(mtdb, program, seed, where, first=()):
    words = [mtdb, "-batch"]
    for line in [*first, *script(seed), "delete", "signal SIGUSR1"]:
        words += ["-ex", line]
    done = subprocess.run(
        [*words, program], capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL, cwd=where
    )
    assert "5 of 5 sums are right" in done.stdout, f"seed {seed}:\n{done.stdout[-4000:]}\n{done.stderr}"
    assert re.search(r"\[Inferior 1 \(process \d+\) exited normally\]", done.stdout)


@pytest.mark.parametrize("seed", range(4))
def test_walk(mtdb, compile, seed, tmp_path):
    walk(mtdb, compile("debugged_threads.c", "-O0", "-pthread"), seed, tmp_path)


@pytest.mark.parametrize("seed", range(4, 7))
def test_recorded_walk(mtdb, compile, seed, tmp_path):
    walk(mtdb, compile("debugged_threads.c", "-O1", "-pthread"), seed, tmp_path, ["mtrace start"])


@pytest.mark.soak
@pytest.mark.parametrize("first", [[], ["mtrace start"]], ids=["plain", "recorded"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_many_walks(mtdb, compile, level, first, tmp_path):
    for seed in range(100):
        walk(mtdb, compile("debugged_threads.c", level, "-pthread"), 1000 + seed, tmp_path, first)
