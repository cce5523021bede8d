# SPDX-License-Identifier: GPL-3.0-or-later
"""SQLite's shell over a file of queries: as many calls of each function as callgrind counts, in the
timeline and in `stats`, and the same ones in the same order as uftrace sees.  And two runs of it in
threads, of which `diff` says where they part."""
import collections
import csv
import io
import os
import pathlib
import re
import subprocess

import pytest

from tests.calls import counted, planned
from tests.conftest import FIXTURES

FLAGS = ["-w", "-gdwarf-4", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"]


@pytest.fixture(name="shell")
def build_shell(compile, sqlite):
    """shell("-O2", flag…) -> path of SQLite's shell."""

    def build(*flags, compiler=None):
        return compile(sqlite / "shell.c", *flags, *FLAGS, sqlite / "sqlite3.c", "-lm",
                       compiler=compiler)

    return build


def recording_of(timeline):
    return timeline.with_suffix(".perf")


@pytest.fixture(name="trace")
def trace_queries(run_mtdb, tmp_path):
    """trace(program) -> timeline; asserts that it said what it says without us."""

    def trace(program):
        out = tmp_path / "calls.json"
        words = [str(program), "-batch", ":memory:"]
        environment = {**os.environ, "HOME": str(tmp_path)}
        with open(FIXTURES / "queries.sql", "rb") as queries:
            plain = subprocess.run(words, stdin=queries, capture_output=True, text=True,
                                   check=False, env=environment, cwd=tmp_path)
            queries.seek(0)
            done = run_mtdb("run", "--engine", "calls", "--modules", program.name, "--size", "256M",
                            "-r", recording_of(out), "-o", out, "--", *words, stdin=queries, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment, cwd=tmp_path)
        assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode)
        return out

    return trace


def calls_in_stats(run_mtdb, recording, program, symbols):
    """{name: how often `stats` says that the program's functions of it were called}"""
    table = run_mtdb("stats", "--csv", "-n", "0", recording)
    assert table.returncode == 0, table.stderr
    found = collections.Counter()
    for row in csv.DictReader(io.StringIO(table.stdout)):
        if row["module"] == str(program):
            found[symbols.same_name(row["name"])] += int(row["calls"])
    return found


def queries():
    return open(FIXTURES / "queries.sql", "rb")


@pytest.mark.parametrize("compiler, level", [
    ("gcc", "-Os"),
    *(pytest.param(compiler, level, marks=pytest.mark.soak) for compiler, level in
      [("gcc", "-O0"), ("gcc", "-O1"), ("gcc", "-O2"), ("gcc", "-O3"), ("clang", "-O2"),
       ("clang", "-Os")])])
def test_as_many_calls_as_callgrind_counts(mtdb, run_mtdb, need, shell, trace, tmp_path, compiler, level):
    program = shell(level, compiler=compiler)
    symbols = counted.Symbols(program)
    timeline = trace(program)
    (calls,) = counted.sequences(timeline).values()
    ours = collections.Counter(call.address for call in symbols.file_addresses(calls))
    with queries() as stdin:
        theirs = counted.callgrind(need("valgrind"), tmp_path,
                                   [str(program), "-batch", ":memory:"], stdin=stdin,
                                   env={**os.environ, "HOME": str(tmp_path)})
    left = {patch.address for patch in planned.Plan(mtdb, program).left if patch.kind == "entry"}
    differ = {address for address, name in symbols.at.items()
              if name not in counted.RUNTIME and ".cold" not in name
              and ours[address] != theirs[address]}
    said = {symbols.at[address]: (ours[address], theirs[address]) for address in differ - left}
    assert not said, "ours and callgrind's differ, and nothing was said to be left out"
    assert not [address for address in left if ours[address]], "left out, and yet recorded"
    assert sum(ours.values()) > 50_000 and len(ours) > 500
    assert len(left) <= 0.01 * len(symbols.at)

    in_stats = calls_in_stats(run_mtdb, recording_of(timeline), program, symbols)
    by_name, unsure = collections.Counter(), {symbols.at[address] for address in differ}
    for address, name in symbols.at.items():
        by_name[name] += theirs[address]
    said = {name: (in_stats[name], count) for name, count in by_name.items()
            if name not in counted.RUNTIME | unsure and ".cold" not in name and in_stats[name] != count}
    assert not said, "stats and callgrind count differently"
    assert sum(in_stats.values()) > 50_000 and len(in_stats) > 500


@pytest.mark.parametrize("flags", [
    ("-O0", "-pg"), pytest.param(("-O0", "-pg", "-mfentry"), marks=pytest.mark.soak)], ids=" ".join)
def test_same_sequence_as_uftrace(need, shell, trace, tmp_path, flags):
    program = shell(*flags)
    symbols = counted.Symbols(program)
    (ours,) = symbols.depths_and_names(counted.sequences(trace(program))).values()
    with queries() as stdin:
        (theirs,) = counted.uftrace(need("uftrace"), tmp_path, symbols,
                                    [program, "-batch", ":memory:"], "--no-libcall", stdin=stdin,
                                    env={**os.environ, "HOME": str(tmp_path)}).values()
    assert len(ours) > 50_000
    assert ours == theirs


def is_randomized():
    """Whether programs are loaded at random addresses here."""
    personality = int(pathlib.Path("/proc/self/personality").read_text(), 16)
    setting = int(pathlib.Path("/proc/sys/kernel/randomize_va_space").read_text())
    return setting > 0 and not personality & 0x0040000


def test_where_runs_with_another_row_part(run_mtdb, compile, sqlite, tmp_path):
    """In the one thread whose row differs, each time that a query meets it; wherever all was loaded."""
    program = compile("diff_sqlite.c", "-O1", "-w", "-pthread", "-fno-optimize-sibling-calls", f"-I{sqlite}",
                      "-DSQLITE_OMIT_LOAD_EXTENSION", sqlite / "sqlite3.c", "-lm")
    main = set()
    for name in ("good", "also", "bad"):
        done = run_mtdb("run", "-e", "calls", "-s", "64M", "--modules", "*/diff_sqlite", "-r", f"{name}.perf", "-o",
                        f"{name}.json", "--", program, name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        with open(tmp_path / f"{name}.json", encoding="utf-8") as lines:
            main.add(re.search('"address":"(.*?)"', next(line for line in lines if '"name":"main"' in line))[1])
    assert len(main) == 3 or not is_randomized()

    same = run_mtdb("diff", "good.perf", "also.perf", cwd=tmp_path)
    assert same.returncode == 0, same.stdout
    done = run_mtdb("diff", "good.perf", "bad.perf", cwd=tmp_path)
    assert done.returncode == 1
    threads = re.split(r"^thread ", done.stdout.split("calls in the first")[0], flags=re.M)[1:]
    (other,) = [thread for thread in threads if ": the same " not in thread]
    assert len(threads) == 4 and other.startswith("worker 1 (")
    assert len(re.findall(r" part(?: again)? at call \d+", other)) == 3, "as many as there are queries"
    parts = re.split(r"They part again", other)
    assert all(re.search(r"^  work\n    ask\n(?:  .*\n)+(?:-.*\n)+\+ +sumStep\n", part, re.M) for part in parts), other
    assert re.search(r"^ +(\d+) +(\d+)  sumStep$", done.stdout, re.M), done.stdout
    assert not re.search(r"  insert_row$", done.stdout.split("calls in the first")[1].split("self time")[0], re.M)
