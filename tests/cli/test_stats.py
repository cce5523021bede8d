# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb stats: counts and times of a program that calls what is known, and what is no recording."""
import collections
import csv
import io
import json
import re
import subprocess

import pytest

COUNTS = {"main": 1, "work": 15, "leaf": 45 + 40 + 15, "depth": 40, "other": 1}
SLEPT_NS = 20_000_000


@pytest.fixture(name="recorded", scope="module")
def recorded_fixture(compile, run_mtdb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stats")
    program = compile("stats.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    done = run_mtdb("run", "-e", "calls", "--timestamps=full", "--args=work", "-r", folder / "x.perf", "-o",
                    folder / "x.fxt", "--", program)
    assert done.returncode == 0, done.stderr
    return folder / "x.perf"


@pytest.fixture(name="stats")
def stats_fixture(run_mtdb, recorded):
    def run(*words):
        done = run_mtdb("stats", "--json", "-n", "0", *words[:1], recorded, *words[1:])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def rows(found, **keys):
    return [row for row in found if all(row.get(key) == value for key, value in keys.items())]


def one(found, **keys):
    matching = rows(found, **keys)
    assert len(matching) == 1, matching
    return matching[0]


def test_counts_are_the_programs(stats):
    found = stats("--sort=self")["functions"]
    for name, count in COUNTS.items():
        row = one(found, name=name)
        assert (row["calls"], row["partial"]) == (count, 0)
        assert row["file"].endswith("/stats.c") and row["line"] > 0
        assert row["min_ns"] <= row["p50_ns"] <= row["p90_ns"] <= row["p99_ns"] <= row["max_ns"]
        assert row["self_ns"] <= row["total_ns"] and row["max_ns"] <= row["total_ns"]
    assert [row["self_ns"] for row in found] == sorted((row["self_ns"] for row in found), reverse=True)
    work = one(found, name="work")
    assert SLEPT_NS <= work["max_ns"] <= work["total_ns"]
    assert work["p50_ns"] < SLEPT_NS, "the others do not sleep"
    assert work["self_ns"] + one(found, name="leaf")["total_ns"] < work["total_ns"], "but for nanosleep()"
    assert one(found, name="depth")["total_ns"] <= one(found, name="main")["total_ns"], "the outer calls alone"


def test_times_add_up(stats):
    """All time in calls is the own time of one of them, and there is no other time."""
    found = stats("--by=thread")
    by_thread = collections.defaultdict(list)
    for row in found["functions"]:
        by_thread[row["thread"]].append(row)
    assert len(by_thread) == 2
    for row in by_thread.values():
        in_all = sum(each["self_ns"] for each in row)
        assert max(each["total_ns"] for each in row) <= in_all <= found["span_ns"]


@pytest.mark.parametrize("by, groups", [
    ("thread", {"work": [5, 10], "leaf": [15, 85]}),
    ("process", {"work": [15], "leaf": [100]}),
    ("caller", {"work": [5, 10], "leaf": [40, 60], "depth": [4, 36]}),
])
def test_by_group(stats, by, groups):
    found = stats(f"--by={by}")["functions"]
    for name, counts in groups.items():
        assert sorted(row["calls"] for row in rows(found, name=name)) == counts
    if by == "caller":
        assert one(found, name="depth", caller="main")["calls"] == 4
        assert one(found, name="depth", caller="depth")["calls"] == 36


def test_one_function(stats, run_mtdb, recorded):
    found = stats("--sort=total", "work")
    assert one(found["functions"])["calls"] == 15
    assert {row["name"]: row["calls"] for row in found["callers"]} == {"main": 10, "other": 5}
    assert one(found["callees"], name="leaf")["calls"] == 60
    assert sum(bucket["calls"] for bucket in found["histogram"]) == 15
    slowest = found["slowest"]
    assert slowest[0]["arguments"] == "count=7" and slowest[0]["duration_ns"] >= SLEPT_NS
    assert slowest[0]["before_end_ns"] >= slowest[0]["duration_ns"] and slowest[0]["tid"] > 0
    durations = [call["duration_ns"] for call in slowest]
    assert durations == sorted(durations, reverse=True) and len(durations) == 10

    text = run_mtdb("stats", recorded, "w?rk").stdout
    assert re.search(r"^ +[1-9][\d.]* m?s to +[1-9][\d.]* m?s +1 \|@", text, re.M) and "work(count=7)" in text
    assert max(map(len, text.split("Called by")[0].split("Durations")[1].splitlines())) <= 80
    missing = run_mtdb("stats", recorded, "nosuch")
    assert (missing.returncode, missing.stdout) == (1, "") and 'no call of "nosuch"' in missing.stderr


def test_the_table(run_mtdb, recorded, stats):
    text = run_mtdb("stats", "-n", "3", "--sort=calls", recorded).stdout
    head, *lines = text.splitlines()
    assert head.split() == ["total", "self", "calls", "min", "p50", "p90", "p99", "max", "function"]
    assert re.search(r" 100 .* leaf \(stats.c:\d+\)$", lines[0]) and lines[3].endswith(" more)")
    table = list(csv.DictReader(io.StringIO(run_mtdb("stats", "--csv", "-n", "0", recorded).stdout)))
    for row, same in zip(table, stats("--sort=total")["functions"], strict=True):
        assert row["name"] == same["name"] and row["line"] == str(same.get("line", 0))
        for key in ("calls", "total_ns", "self_ns", "p99_ns", "partial"):
            assert int(row[key]) == same[key]


def test_threads_alone(run_mtdb, recorded, stats):
    tid = re.search(r"\((\d+)\)", one(stats("--by=thread")["functions"], name="other")["thread"])[1]
    done = run_mtdb("stats", "--json", "-t", tid, recorded)
    assert one(json.loads(done.stdout)["functions"], name="leaf")["calls"] == 15


def test_behind_the_program(run_mtdb, compile, tmp_path):
    program = compile("stats.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    done = run_mtdb("run", "-e", "calls", "--stats", "-o", "x.fxt", "--", program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert re.search(r" 15 .* work \(stats.c:\d+\)$", done.stderr, re.M)


def test_on_a_terminal_as_wide_as_it(mtdb, recorded):
    pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")
    child = pexpect.spawn(str(mtdb), ["stats", str(recorded), "work"], timeout=60, dimensions=(24, 60),
                          encoding="utf-8")
    lines = [line for line in child.read().splitlines() if line.endswith("|")]
    assert {len(line) for line in lines} == {60}


def test_as_many_calls_as_callgrind_counts(run_mtdb, need, compile, tmp_path):
    program = compile("stats.c", "-O0", "-pthread")
    out = tmp_path / "callgrind.out"
    subprocess.run([need("valgrind"), "--tool=callgrind", "--compress-strings=no", f"--callgrind-out-file={out}",
                    program], check=True, capture_output=True, timeout=600)
    theirs, callee = collections.Counter(), ""
    for line in out.read_text(errors="replace").splitlines():
        if line.startswith("cfn="):
            callee = re.sub(r"'\d+$", "", line[4:])
        elif line.startswith("calls="):
            theirs[callee] += int(line[6:].split()[0])
    run_mtdb("run", "-e", "calls", "-r", "x.perf", "-o", "x.fxt", "--", program, cwd=tmp_path)
    ours = json.loads(run_mtdb("stats", "--json", "-n", "0", "x.perf", cwd=tmp_path).stdout)["functions"]
    for name in COUNTS:
        assert one(ours, name=name)["calls"] == theirs[name] == COUNTS[name]


def test_waiting(run_mtdb, compile, tmp_path):
    program = compile("stats.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    done = run_mtdb("run", "-e", "calls", "--events=sched", "--timestamps=full", "-r", "x.perf", "-o", "x.fxt", "--",
                    program, cwd=tmp_path)
    found = json.loads(run_mtdb("stats", "--json", "-n", "0", "x.perf", cwd=tmp_path).stdout)
    if not rows(found["waits"], category="sched"):
        pytest.skip(f"the kernel's events cannot be recorded here: {done.stderr}")
    work, leaf = one(found["functions"], name="work"), one(found["functions"], name="leaf")
    assert SLEPT_NS * 0.9 <= work["waited_ns"] <= work["total_ns"]
    assert leaf["waited_ns"] <= leaf["total_ns"]
    assert max(row["max_ns"] for row in found["waits"]) >= SLEPT_NS * 0.9
    assert "waited" in run_mtdb("stats", "x.perf", cwd=tmp_path).stdout.splitlines()[0]


@pytest.fixture(name="record")
def record_fixture(run_mtdb, compile, tmp_path):
    """record(text, flags, *options): the recording of the program whose source that is, named "program"."""
    def record(text, flags, *options):
        source, path = tmp_path / "program.c", tmp_path / "x.perf"
        source.write_text(text)
        done = run_mtdb("run", "-e", "calls", *options, "-r", path, "-o", tmp_path / "x.fxt", "--",
                        compile(source, *flags))
        assert done.returncode == 0, done.stderr
        return path
    return record


PLAIN = ["-O1", "-fno-optimize-sibling-calls"]
WRAPS = """
#include <signal.h>
#include <time.h>
static volatile int sum;
__attribute__((noinline)) void leaf(int i) { for (int k = 0; k < 10; k++) sum += i; }
__attribute__((noinline)) void caller(int n) { for (int i = 0; i < n; i++) leaf(i); }
int main(void)
{
	signal(SIGUSR2, caller);
	raise(SIGUSR2);
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, 0);
	caller(100000);
	return 0;
}
"""


def test_calls_are_no_older_than_the_ring(run_mtdb, record):
    """A signal is kept that came before all that the ring holds: calls do not begin with it."""
    path = record(WRAPS, PLAIN, "--size=64k", "--timestamps=full")
    begins = {name: [call["time_ns"] for call in json.loads(run_mtdb("grep", "--json", path, name).stdout)]
              for name in ("leaf", "caller", "main")}
    assert len(begins["leaf"]) > 100 and len(begins["caller"]) == len(begins["main"]) == 1
    assert begins["main"] == begins["caller"] == [min(begins["leaf"])]
    lines = run_mtdb("history", "-n", "100000", path).stdout.splitlines()
    assert sum("*** SIGUSR2" in line for line in lines) == 1


EXECS = """
#include <signal.h>
#include <time.h>
#include <unistd.h>
static volatile int sum;
__attribute__((noinline)) void leaf(int i) { for (int k = 0; k < 10; k++) sum += i; }
__attribute__((noinline)) void caller(int n) { for (int i = 0; i < n; i++) leaf(i); }
int main(int argc, char **argv)
{
	if (argc == 1) {
		caller(10);
		execl(argv[0], argv[0], "again", (char *)0);
	}
	signal(SIGUSR2, caller);
	raise(SIGUSR2);
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, 0);
	caller(100000);
	return 0;
}
"""


def test_a_program_ends_at_its_exec(run_mtdb, record):
    """Not where the ring of the next one begins."""
    path = record(EXECS, PLAIN, "--size=64k", "--timestamps=full")
    first, second = json.loads(run_mtdb("grep", "--json", path, "main").stdout)
    assert first["time_ns"] + first["duration_ns"] < second["time_ns"] - 100_000_000
    segments = re.split("^-- history of .*$", run_mtdb("history", "-n", "100000", path).stdout, flags=re.M)
    assert [("*** exec" in text, "*** SIGUSR2" in text) for text in segments[1:]] == [(True, False), (False, True)]


JUMPS = """
#include <setjmp.h>
static volatile int sum;
static jmp_buf before;
__attribute__((noinline)) void leaf(int i) { for (int k = 0; k < 10; k++) sum += i; }
__attribute__((noinline)) void inner(int n) { leaf(n); longjmp(before, 1); }
__attribute__((noinline)) void deep(int n) { for (int i = 0; i < n; i++) leaf(i); inner(n); leaf(n); }
__attribute__((noinline)) void last(int n) { leaf(n); leaf(n); }
__attribute__((noinline)) int middle(int n) { if (!setjmp(before)) deep(n); leaf(n); return sum; }
int main(void) { middle(100000); last(1); return 0; }
"""


@pytest.mark.parametrize("size", ["64k", "16m"])
def test_a_longjmp_to_what_the_ring_does_not_hold(run_mtdb, record, size):
    path = record(JUMPS, PLAIN, f"--size={size}")
    found = json.loads(run_mtdb("grep", "--json", path, "last").stdout)
    assert [call["path"][-2:] for call in found] == [["main", "last"]] and found[0]["begin_seen"]
    assert "deep" not in found[0]["path"]


TAILS = """
#include <stdio.h>
__attribute__((noinline)) int say(const char *text) { return puts(text); }
int main(void) { return say("one") + say("two") < 0; }
"""


@pytest.mark.parametrize("stamps, why", [("full", "their ends were not seen"),
                                         ("sampled", "--timestamps=full records all")])
def test_why_times_are_estimates(run_mtdb, record, stamps, why):
    """say() ends with a jump to a function that is not recorded."""
    path = record(TAILS, ["-O2"], f"--timestamps={stamps}", "--modules=program")
    assert re.search(rf"^The times of \d+ % of the calls are estimates \({why}\)\.$", run_mtdb("stats", path).stdout, re.M)


@pytest.mark.sanitize
def test_what_is_no_whole_recording(run_mtdb, recorded, tmp_path):
    whole = recorded.read_bytes()
    cut = tmp_path / "cut.perf"
    for size in (0, 7, 100, 1000, len(whole) // 3, len(whole) * 2 // 3, len(whole) - 1):
        cut.write_bytes(whole[:size])
        done = run_mtdb("stats", cut)
        assert done.returncode in (0, 1) and done.stderr.startswith("mtdb: "), size
        assert bool(done.stdout) == (done.returncode == 0)
        if not done.returncode:
            assert "is truncated" in done.stderr
    for size in (0, 7):
        cut.write_bytes(whole[:size])
        assert run_mtdb("stats", cut).returncode == 1
    cut.write_bytes(b"\x7fELF" * 1000)
    done = run_mtdb("stats", cut)
    assert (done.returncode, done.stdout) == (1, "") and "is not a recording" in done.stderr
    assert run_mtdb("stats", tmp_path / "nosuch").returncode == 1


@pytest.mark.parametrize("words, said", [
    (["--by=x"], "choose one of function, thread, process, caller"),
    (["--sort=x"], "choose one of total, self"), (["-n", "x"], "number of rows"), (["-t", "0"], "thread id"),
    (["--json", "--csv"], "either"), (["a", "b"], "stats"),
])
def test_wrong_options(run_mtdb, recorded, words, said):
    done = run_mtdb("stats", *words, recorded)
    assert done.returncode == 2 and said in done.stderr, done.stderr
