# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs made at random: what a timeline shows is what the programs log of themselves, begin for
begin and end for end."""
import pathlib
import random
import re
import subprocess
import tempfile

import hypothesis
import pytest
from hypothesis import strategies

from tests.calls import counted, generated, planned
from tests.conftest import FIXTURES

LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os"]
KNOWN = re.compile(r"^(?:.*\W)?([ftm]\d+|d0|compare)\b(?!\.(?:part|cold))")


def names_of(path):
    """Begins and ends, of the functions that log."""
    for _, call in counted.begins_and_ends(path):
        match = KNOWN.match(call.name) if call else None
        yield match[1] if match else call and call.name


def build(need, folder, source, compiler, flags):
    path = folder / ("program.cpp" if "+" in compiler else "program.c")
    path.write_text(source)
    program = folder / "program"
    subprocess.run([need(compiler), "-w", "-g", "-fwrapv", *flags, f"-I{FIXTURES}", "-o", program,
                    path], check=True)
    return program


def check(mtdb, need, folder, source, compiler, flags):
    program = build(need, folder, source, compiler, flags)
    plain = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)
    hypothesis.assume(plain.returncode == 0)
    out, log = folder / "calls.json", folder / "log"
    # libc too: only its calls tell where a longjmp went, when the next call is further inside.
    done = subprocess.run([mtdb, "run", "--engine", "calls", "--modules", "program",
                           "--modules", "libc.so*", "--size", "16M", "-o", out, "--", program, log],
                          check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    wanted = generated.expected(log.read_bytes())
    # Where a return is not seen either, a call begins whose end nobody knows.
    left = {left.name for left in planned.Plan(mtdb, program).left}
    left = {match[1] for match in map(KNOWN.match, left) if match}
    seen = list(names_of(out))
    left |= {name for name in seen if name and not KNOWN.match(name)}
    assert generated.without(seen, left) == generated.without(wanted, left)


@pytest.fixture(name="holds")
def make_holds(mtdb, need):
    """holds(random, compiler, level, flag)"""

    def holds(decide, compiler, level, pie):
        source = generated.Writer(decide, "+" in compiler).source()
        with tempfile.TemporaryDirectory() as folder:
            hypothesis.note(source)
            # What two functions share would have the name of either.
            others = [] if "clang" in compiler else ["-fno-ipa-icf"]
            check(mtdb, need, pathlib.Path(folder), source, compiler, [level, *pie, *others])

    return holds


ARGUMENTS = {
    "seed": strategies.integers(0, 2**32),
    "compiler": strategies.sampled_from(["gcc", "clang", "g++", "clang++"]),
    "level": strategies.sampled_from(LEVELS),
    "pie": strategies.sampled_from([[], ["-no-pie", "-fno-pie"], ["-fcf-protection=full"]]),
}
# Programs are numbers: to shrink one makes no smaller program.
SETTINGS = {"deadline": None, "database": None, "phases": [hypothesis.Phase.generate],
            "suppress_health_check": list(hypothesis.HealthCheck)}


@hypothesis.settings(max_examples=12, derandomize=True, **SETTINGS)
@hypothesis.given(**ARGUMENTS)
def test_generated_programs(holds, seed, compiler, level, pie):
    holds(random.Random(seed), compiler, level, pie)


@pytest.mark.soak
@hypothesis.settings(max_examples=400, **SETTINGS)
@hypothesis.given(**ARGUMENTS)
def test_more_generated_programs(holds, seed, compiler, level, pie):
    holds(random.Random(seed), compiler, level, pie)
