# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb diff: two runs that are the same, and some that part at a known call."""
import re
import shutil
import subprocess

import pytest


@pytest.fixture(name="record", scope="module")
def record_fixture(compile, run_mtdb, tmp_path_factory):
    """record("bad", number): the recording of a run; each is made once."""
    made = {}
    program = compile("diff.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")

    def record(kind, number=1, *options):
        if (kind, number, options) not in made:
            path = tmp_path_factory.mktemp("diff") / f"{kind}.perf"
            done = run_mtdb("run", "-e", "calls", "-s", "16M", "--modules=*/diff", "--no-functions=_*",
                            "--no-functions=*_tm_clones*", "--no-functions=frame_dummy", *options, "-r",
                            path, "-o", path.with_suffix(".fxt"), "--", program, kind)
            assert done.returncode == 0, done.stderr
            made[kind, number, options] = path
        return made[kind, number, options]
    return record


def test_the_same(run_mtdb, record):
    done = run_mtdb("diff", record("good"), record("good", 2))
    assert done.returncode == 0, done.stdout
    assert re.findall(r"^thread diff \(\d+\): the same (\d+) calls$", done.stdout, re.M) == ["60001", "101"]
    assert "Each function was called as often in both." in done.stdout and "self time" in done.stdout


def test_where_they_part(run_mtdb, record):
    done = run_mtdb("diff", record("good"), record("bad"))
    assert done.returncode == 1, done.stderr
    assert "the runs part at call 37039\n" in done.stdout, "main, then three a row"
    context = re.search(r"^  main\n(?:   +\S+\n)*(?:[-+] +\S+\n)+", done.stdout, re.M)[0].splitlines()
    assert [line for line in context if line[0] == " "][-2:] == ["    read_row", "      check"]
    assert [line for line in context if line[0] == "-"][:3] == ["-       store", "-   read_row", "-     check"]
    assert [line for line in context if line[0] == "+"][:3] == ["+       repair", "+         store", "+         store"]
    assert re.search(r"^ +20100 +20101  store$", done.stdout, re.M) and re.search(r"^ +0 +1  repair$", done.stdout, re.M)
    assert "the same 101 calls" in done.stdout
    assert "read_row\n" not in done.stdout.split("calls in the first")[1].split("self time")[0]


def test_where_they_part_again(run_mtdb, record):
    done = run_mtdb("diff", record("good"), record("twice"))
    assert re.findall(r" part.*", done.stdout) == [" part at call 37037", " part again at call 45004 (45005 in the second)"]
    first, second = done.stdout.split("They part again")
    assert re.search(r"^-   read_row\n(?:-.*\n)+\+   announce\n\+   read_row\n", first, re.M), first
    assert re.search(r"^-       store\n(?:-.*\n)+\+       repair\n\+         store\n", second, re.M), second
    back = run_mtdb("diff", "--partings=1", record("twice"), record("good"))
    assert re.findall(r" part.*", back.stdout) == [" part at call 37037", " part 1 time more"]
    assert run_mtdb("diff", "-p", "x", record("good"), record("bad")).returncode == 2


def test_runs_that_part_all_the_time(run_mtdb, record):
    done = run_mtdb("diff", record("good"), record("odd"))
    assert re.findall(r" part .*", done.stdout) == [
        " part at call 7", " part again at call 13 (15 in the second)", " part again at call 19 (23 in the second)",
        " part at least 997 times more"]
    assert re.search(r"^ +20100 +30100  store$", done.stdout, re.M)


def test_an_end_that_is_missing(run_mtdb, record):
    done = run_mtdb("diff", record("short"), record("good"))
    assert done.returncode == 1 and "- (no more calls)\n+   read_row\n" in done.stdout
    tid = re.search(r"\((\d+)\): the same 101", done.stdout)[1]
    alone = run_mtdb("diff", "-t", tid, record("short"), record("good"))
    assert alone.returncode == 0 and alone.stdout == f"thread diff ({tid}): the same 101 calls\n"


def test_lost_data_is_said(run_mtdb, record):
    done = run_mtdb("diff", record("good", 1, "-s", "64k"), record("bad"))
    assert done.returncode == 1 and "Not all calls before it were recorded" in done.stdout, done.stdout[:2000]


def test_sqlite_with_a_row_changed(run_mtdb, need, tmp_path):
    """One whose query meets a row that the other has not: they part where it is compared."""
    sqlite = shutil.copy(need("sqlite3"), tmp_path / "sqlite3")
    for name, value in (("good", 5), ("also", 5), ("bad", 50)):
        script = "create table t(x); " + "".join(f"insert into t values({i if i != 5 else value});" for i in range(9))
        done = run_mtdb("run", "-e", "calls", "-s", "64M", "-r", f"{name}.perf", "-o", "x.fxt", "--", sqlite, ":memory:",
                        script + "select count(*), sum(x) from t where x > 20;", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert run_mtdb("diff", "good.perf", "also.perf", cwd=tmp_path).returncode == 0
    done = run_mtdb("diff", "good.perf", "bad.perf", cwd=tmp_path)
    assert done.returncode == 1 and "the runs part at call" in done.stdout
    assert "sqlite3_step" in done.stdout.split("calls in the first")[0]


def test_wrong_words(run_mtdb, record, tmp_path):
    good = record("good")
    assert run_mtdb("diff", good).returncode == run_mtdb("diff", "-n", "x", good, good).returncode == 2
    done = run_mtdb("diff", "-t", "1", good, good)
    assert done.returncode == 2 and "the first recording has no thread 1" in done.stderr
    assert run_mtdb("diff", good, tmp_path / "nosuch").returncode == 2


@pytest.mark.sanitize
def test_what_is_no_whole_recording(run_mtdb, record, tmp_path):
    whole, cut = record("good").read_bytes(), tmp_path / "cut.perf"
    for size in (0, 7, 100, len(whole) // 3, len(whole) * 2 // 3, len(whole) - 1):
        cut.write_bytes(whole[:size])
        done = run_mtdb("diff", record("good"), cut)
        assert done.returncode in (0, 1, 2) and done.stderr.startswith("mtdb: "), size
        assert bool(done.stdout) == (done.returncode != 2)
    cut.write_bytes(b"\x7fELF" * 1000)
    done = run_mtdb("diff", cut, record("good"))
    assert (done.returncode, done.stdout) == (2, "") and "is not a recording" in done.stderr
