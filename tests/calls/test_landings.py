# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a longjmp or an exception lands, what it left is over."""
import pytest

from tests.calls import counted

INNER = ["jump", "hurl", "further"]


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_what_is_left_has_ended(compile, run_mtdb, tmp_path, compiler, level):
    program = compile("calls_landing.cpp", level, compiler=compiler)
    out = tmp_path / "calls.json"
    done = run_mtdb("run", "--engine", "calls", "--size", "16M", "-o", out, program)
    assert done.returncode == 0, done.stderr
    (calls,) = counted.sequences(out).values()
    calls = [call._replace(name=call.name.split("(")[0]) for call in calls]
    outer = {call.depth for call in calls if call.name.startswith("with_")}
    inner = [call for call in calls if call.name in INNER]
    assert len(outer) == 1
    assert len(inner) == 10 * 5
    assert {call.depth for call in inner} == {outer.pop() + 1}
