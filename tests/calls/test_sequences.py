# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs with threads, callbacks, longjmp and exceptions: each thread's calls come in the order
and at the depths that uftrace sees, and as often as callgrind counts."""
import collections

import pytest

from tests.calls import counted, planned

SOURCES = ["calls_sequence.c", "calls_sequence.cpp"]


@pytest.fixture(name="trace")
def trace_program(run_mtdb, tmp_path):
    """trace(program) -> {thread: calls}"""

    def trace(program):
        out = tmp_path / "calls.json"
        done = run_mtdb("run", "--engine", "calls", "--modules", program.name, "--size", "64M",
                        "-o", out, program, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return counted.sequences(out)

    return trace


def by_length(sequences):
    """Whose thread is whose, no number says."""
    return sorted(sequences.values(), key=lambda calls: (len(calls), calls))


@pytest.mark.parametrize("source", SOURCES)
def test_same_sequences_as_uftrace(need, compile, trace, tmp_path, source):
    program = compile(source, "-O0", "-pg", "-pthread")
    symbols = counted.Symbols(program)
    ours = by_length(symbols.depths_and_names(trace(program)))
    theirs = by_length(counted.uftrace(need("uftrace"), tmp_path, symbols, [program]))
    assert len(ours) >= 3 and len(ours[-1]) > 1000
    assert [len(calls) for calls in ours] == [len(calls) for calls in theirs]
    assert ours == theirs


@pytest.mark.parametrize("level", ["-O0", "-O2", "-Os"])
@pytest.mark.parametrize("source", SOURCES)
def test_as_many_calls_as_callgrind_counts(mtdb, need, compile, trace, tmp_path, source, level):
    program = compile(source, level, "-gdwarf-4", "-pthread")
    symbols = counted.Symbols(program)
    calls = [call for calls in trace(program).values() for call in calls]
    ours = collections.Counter(call.address for call in symbols.file_addresses(calls))
    theirs = counted.callgrind(need("valgrind"), tmp_path, [str(program)])
    left = {left.address for left in planned.Plan(mtdb, program).left if left.kind == "entry"}
    differ = {symbols.at[address]: (ours[address], theirs[address]) for address in symbols.at
              if symbols.at[address] not in counted.RUNTIME
              and ".cold" not in symbols.at[address] and ours[address] != theirs[address]
              and address not in left}
    assert not differ
    assert sum(ours.values()) > 1000
