# SPDX-License-Identifier: GPL-3.0-or-later
"""Folded stacks say what mtdb stats says: the same paths, and the same time in each function itself."""
import collections
import gzip
import json
import re
import shutil

import pytest


@pytest.fixture(name="recorded", scope="module")
def recorded_fixture(compile, run_mtdb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folded")
    program = compile("stats.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    done = run_mtdb("run", "-e", "calls", "--timestamps=full", "--events=sched", "-r", folder / "x.perf", "-o",
                    folder / "x.folded", "--", program)
    assert done.returncode == 0 and "mtdb view" not in done.stderr, done.stderr
    return folder / "x.perf"


def lines_of(text):
    return [re.fullmatch(r"(.+) ([1-9]\d*)", line).groups() for line in text.splitlines()]


def test_times_and_paths(run_mtdb, recorded):
    folded = lines_of(recorded.with_suffix(".folded").read_text())
    paths = [tuple(path.split(";")) for path, _ in folded]
    assert len(set(paths)) == len(paths) and {path[0] for path in paths} == {"stats"}
    assert {path[-2:] for path in paths if path[-1] == "work"} == {("main", "work"), ("other", "work")}
    assert max(path.count("depth") for path in paths) == 10
    own = collections.Counter()
    for path, (_, ns) in zip(paths, folded):
        own[path[-1]] += int(ns)
    theirs = json.loads(run_mtdb("stats", "--json", "-n", "0", recorded).stdout)["functions"]
    for name in ("main", "work", "leaf", "depth", "other"):
        assert own[name] == sum(row["self_ns"] for row in theirs if row["name"] == name), name


def test_ways_to_ask_for_it(run_mtdb, recorded, tmp_path):
    same = recorded.with_suffix(".folded").read_text()
    assert run_mtdb("decode", "-f", "folded", "-o", "-", recorded).stdout == same
    assert run_mtdb("decode", "-o", tmp_path / "x.folded.gz", recorded).returncode == 0
    done = run_mtdb("run", "-e", "calls", "-f", "folded", "--", "true", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "trace.folded").exists(), done.stderr
    assert gzip.decompress((tmp_path / "x.folded.gz").read_bytes()).decode() == same


@pytest.mark.sanitize
def test_a_cut_recording(run_mtdb, recorded, tmp_path):
    cut = tmp_path / "cut.perf"
    shutil.copy(recorded, cut)
    with open(cut, "r+b") as file:
        file.truncate(recorded.stat().st_size * 9 // 10)  # the calls are behind what was told of waiting
    done = run_mtdb("decode", "-f", "folded", "-o", "-", cut)
    assert done.returncode == 0 and lines_of(done.stdout) and "is truncated" in done.stderr
