# SPDX-License-Identifier: GPL-3.0-or-later
"""Garbled debug information ends in words, never in a crash or a loop."""
import pathlib
import random
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SECTION = re.compile(r"\s*\[\s*\d+\]\s+(\.debug_\w+)\s+\S+\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)")


def debug_sections(path):
    lines = subprocess.run(["readelf", "-SW", path], text=True, capture_output=True,
                           check=True).stdout.splitlines()
    found = [SECTION.match(line) for line in lines]
    return [(int(match[2], 16), int(match[3], 16)) for match in found
            if match and not match[1].endswith("str")]


def garble(contents, sections, rng):
    garbled = bytearray(contents)
    for _ in range(rng.choice([1, 3, 10, 40])):
        offset, size = rng.choice(sections)
        garbled[offset + rng.randrange(size)] = rng.choice([0, 1, 0x80, 0xff, rng.randrange(256)])
    return garbled


@pytest.mark.sanitize
@pytest.mark.parametrize("words, source, flags, rounds", [
    ("optimized.txt", "expr_optimized.c", "-O2", 6),
    pytest.param("optimized.txt", "expr_optimized.c", "-O2", 100, marks=pytest.mark.soak),
    pytest.param("cpp.txt", "expr.cpp", "-O0", 100, marks=pytest.mark.soak),
])
def test_garbled(compile, dump, gdb, tmp_path, words, source, flags, rounds):
    program = tmp_path / "program"
    shutil.copy(compile(source, flags), program)
    commands = [line for line in (HERE / words).read_text().splitlines() if line]
    core, _ = gdb(program, source, ["print 1"])
    contents, sections = program.read_bytes(), debug_sections(program)
    for seed in range(rounds):
        program.write_bytes(garble(contents, sections, random.Random(seed)))
        shown = dump(core, commands)
        assert [command for command, _ in shown] == commands, f"seed {seed}"
