# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs under the calls engine: they do what they do without it, and what they called is there.

The counts are those that the programs' own arithmetic gives."""
import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile

import pytest

LEVELS = ["-O0", "-O1", "-O2", "-Os"]


def calls_of(path):
    """How often each function was called, in all threads."""
    events = json.loads(path.read_text())["traceEvents"]
    return collections.Counter(event["name"] for event in events
                               if event["ph"] == "B" and event.get("cat") == "call")


@pytest.fixture(name="record")
def record_calls(run_mtdb, tmp_path):
    """record(words, option…) -> CompletedProcess of mtdb, Counter of calls."""

    def run(words, *options, **others):
        out = tmp_path / "calls.json"
        done = run_mtdb("run", "--engine", "calls", "-o", out, *options, "--", *words, **others)
        assert out.exists(), done.stderr
        return done, calls_of(out)

    return run


def fib_calls(n):
    return 1 if n < 2 else 1 + fib_calls(n - 1) + fib_calls(n - 2)


def same(words, run_mtdb, tmp_path, **options):
    """Standard output and exit status are the same with and without us."""
    words = [str(word) for word in words]
    plain = subprocess.run(words, text=True, capture_output=True, check=False, **options)
    traced = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "same.fxt", "--", *words,
                      **options)
    assert traced.stdout == plain.stdout
    status = plain.returncode
    assert traced.returncode == (status if status >= 0 else 128 - status)
    return traced


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("stamps", ["sampled", "full"])
def test_counts_are_right(compile, record, level, stamps):
    program = compile("calls_threads.c", level, "-fno-inline", "-pthread",
                      "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-fno-partial-inlining")
    done, calls = record([program, "1", "3"], "--modules", program.name, "--timestamps", stamps,
                         "--size", "16M")
    assert done.stdout == f"{3 * 4 * 144} 1\n"
    assert calls["fib"] == 4 * 3 * fib_calls(12) + calls["handler"] * fib_calls(5)
    assert calls["run"] == 4 and calls["main"] == 1 and calls["handler"] > 0


def test_threads_signals_and_libc(compile, run_mtdb, tmp_path):
    program = compile("calls_threads.c", "-O2", "-pthread")
    same([program, "20", "20"], run_mtdb, tmp_path)


@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_exceptions(compile, record, level):
    program = compile("calls_throw.cpp", level, "-pthread", "-fno-optimize-sibling-calls")
    done, calls = record([program], "--modules", program.name)
    assert done.stdout == "100 101 102 103\n"
    rounds = [i % 30 + 1 for n in range(100, 104) for i in range(n)]
    assert calls["long deep<long>(long)"] + calls["deep<long>"] == sum(rounds)
    done, _ = record([program])
    assert done.stdout == "100 101 102 103\n"


@pytest.mark.parametrize("options", [[], ["--follow-forks"], ["--trigger", "work"]])
def test_births(compile, run_mtdb, tmp_path, options):
    program = compile("calls_births.c", "-O1")
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.fxt", *options, program)
    assert done.stdout == "7 6 5\n" * 5 + "20 9\n"
    assert done.returncode == 3


def test_a_trigger_in_a_child_that_is_let_go(compile, run_mtdb, tmp_path):
    """Nobody is there to be asked, and no signal comes."""
    program = compile("calls_let_go.c", "-O1")
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.fxt", "--trigger", "work if n == 3", program)
    assert done.stdout == "55 7\n", done.stdout + done.stderr


def test_a_program_that_traces_its_children(compile, run_mtdb, tmp_path):
    """We must not be in the way of another tracer, of a vfork child's either."""
    traced = same([compile("calls_tracer.c", "-O1")], run_mtdb, tmp_path)
    assert traced.stdout == "0 0\n"


@pytest.mark.parametrize("words", [
    ["grep", "-E", "^(Sig[BIC]|ShdPnd|Umask|Cap|NoNewPrivs|Seccomp|Cpus_allowed)",
     "/proc/self/status"],
    ["cat", "/proc/self/limits", "/proc/self/oom_score_adj", "/proc/self/cgroup"],
    ["ls", "/proc/self/fd"],
])
def test_what_a_program_inherits(run_mtdb, tmp_path, words):
    def before():
        for number in signal.SIGINT, signal.SIGPIPE, signal.SIGHUP, signal.SIGQUIT:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD])

    same(words, run_mtdb, tmp_path, preexec_fn=before, restore_signals=False)


def test_closed_standard_files(mtdb, tmp_path):
    program = 'ls /proc/self/fd > "$0"; echo said 2> /dev/null; exit 3'
    seen = []
    for index, before in enumerate([[], [mtdb, "run", "-e", "calls", "-o", tmp_path / "x.fxt", "-r",
                                         tmp_path / "x.perf", "--"]]):
        out = tmp_path / f"fds{index}"
        done = subprocess.run(["sh", "-c", 'exec <&- >&- 2>&-; "$@"', "sh", *before, "sh", "-c",
                               program, out], check=False, capture_output=True)
        assert done.returncode == 3 and not done.stdout + done.stderr
        seen.append(out.read_text())
    assert seen[0] == seen[1]
    done = subprocess.run([mtdb, "history", tmp_path / "x.perf"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0 and "exit with status 3" in done.stdout


def test_many_functions_in_two_segments(compile, run_mtdb, tmp_path):
    """Those of the one must not cost when the other is patched."""
    program = compile("calls_segments.S", "-no-pie", "-nostartfiles",
                      "-Wl,--section-start=far=0x8000000")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    same([program], run_mtdb, tmp_path)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 6


def test_a_segment_that_begins_within_a_page(compile, need, run_mtdb, tmp_path):
    """As lld lays them out; Rust's programs are so."""
    need("ld.lld", "lld")
    program, out = compile("calls_killed.c", "-O1", "-fuse-ld=lld"), tmp_path / "x.json"
    done = run_mtdb("run", "-e", "calls", "-o", out, program, "exit", "5")
    assert done.returncode == 3 and calls_of(out)["mark"] == 5, done.stderr


def test_a_long_list_of_libraries_to_preload(run_mtdb, tmp_path):
    names = ":".join(["libm.so.6"] * 1000 + ["libutil.so.1"])
    done = same(["env", f"LD_PRELOAD={names}", "grep", "-c", "libutil", "/proc/self/maps"],
                run_mtdb, tmp_path)
    assert int(done.stdout) > 0 and "ERROR" not in done.stderr


@pytest.mark.parametrize("option", [[], ["--follow-forks"]])
def test_a_program_that_hides_itself(compile, build, tmp_path_factory, option):
    """Only root could look at it any more: it runs on, and so do its children."""
    folder = tmp_path_factory.mktemp("hidden")
    folder.chmod(0o777)
    for path in folder.relative_to(tempfile.gettempdir()).parents:
        if path.name:
            (tempfile.gettempdir() / path).chmod(0o711)
    for path in build / "mtdb", compile("calls_hidden.c"):
        shutil.copy(path, folder)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(["./mtdb", "run", "--engine", "calls", *option, "./calls_hidden"],
                          cwd=folder, text=True, capture_output=True, check=False, timeout=60,
                          env={**os.environ, "HOME": str(folder)}, **nobody)
    assert (done.stdout, done.returncode) == ("7 1\n" * 2, 3), done.stderr
    assert "are not recorded" in done.stderr
    assert done.stderr.count("will have no symbols and no triggers") == 1


@pytest.mark.parametrize("kib", [4000, 9000, 12000, 20000, 40000, 200000])
def test_a_limit_on_addresses(compile, run_mtdb, tmp_path, kib):
    """What has no room for our code or our rings runs on without."""
    program = compile("calls_vectors.c")
    same(["bash", "-c", f"ulimit -v {kib}; exec {program} 2>&1"], run_mtdb, tmp_path)


def test_our_own_limit_on_addresses(compile, mtdb, tmp_path):
    out = tmp_path / "x.json"
    program = compile("calls_killed.c", "-O1")
    done = subprocess.run(["bash", "-c", f"ulimit -v 1000000; {mtdb} run -e calls -o {out} "
                           f"{program} exit 5"], text=True, capture_output=True, check=False)
    assert done.returncode == 3 and calls_of(out)["mark"] == 5, done.stderr


def test_more_threads_than_rings(need, mtdb, tmp_path):
    threads = ("import threading\nthreading.stack_size(65536)\nend = threading.Event()\n"
               "all = [threading.Thread(target=end.wait) for _ in range(200)]\n"
               "[t.start() for t in all]; end.set(); [t.join() for t in all]; print('done')")
    need("python3")
    done = subprocess.run(["bash", "-c", 'ulimit -v 1000000; exec "$0" "$@"', mtdb, "run", "-e",
                           "calls", "-o", tmp_path / "x.fxt", "--modules", "none",
                           "/usr/bin/python3", "-c", threads], text=True, capture_output=True,
                          check=False, env={**os.environ, "MALLOC_ARENA_MAX": "1"})
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
    assert done.stderr.count("threads at a time") == 1


def test_waits_are_not_interrupted(compile, run_mtdb, tmp_path):
    """Threads are stopped when a library comes, and must not see that."""
    done = same([compile("calls_waits.c", "-O1", "-pthread")], run_mtdb, tmp_path)
    assert done.stdout == "0 0 0 0 0 0\n"


def test_locked_memory(compile, run_mtdb, tmp_path):
    """mlockall() fills what is mapped: that must not be all the rings there could be."""
    program = compile("calls_locked.c", "-O1")
    done = run_mtdb("run", "--engine", "calls", "--size", "64k", "-o", tmp_path / "x.fxt", program)
    if done.returncode == 2:
        pytest.skip("mlockall() is not allowed here")
    assert done.returncode == 0 and int(done.stdout) < 2000


def test_a_root_of_its_own(need, run_mtdb, tmp_path):
    ls, unshare = need("ls"), need("unshare", "util-linux")
    files = [ls] + re.findall(r"/lib\S+", subprocess.check_output(["ldd", ls], text=True))
    for path in files:
        (tmp_path / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / path[1:])
    words = [unshare, "--map-root-user", "--root", tmp_path, ls, "/"]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    done = same(words, run_mtdb, tmp_path / "lib")
    assert "not recorded" not in done.stderr


@pytest.mark.parametrize("preload", [None, "libdl.so.2"])
def test_environment_is_as_it_was(compile, run_mtdb, tmp_path, preload):
    program = compile("calls_vectors.c")
    words = ["env", f"LD_PRELOAD={preload}"] if preload else []
    same([*words, program, "more"], run_mtdb, tmp_path)


@pytest.mark.parametrize("words", [
    ["bash", "-c", "for i in 1 2 3; do echo $i; ls / | head -2; done; x=$(echo hi); echo $x; "
                   "(exit 4); echo $?; trap 'echo bye' EXIT; kill -USR1 $BASHPID; echo no"],
    ["python3", "-c", "import json, threading, subprocess\n"
                      "print(json.dumps(list(range(20))))\n"
                      "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
                      "print(subprocess.run(['echo', 'x'], capture_output=True).stdout)\n"
                      "raise SystemExit(5)"],
    ["perl", "-e", "print join(',', sort { $a <=> $b } map { $_ * 7 % 13 } 1..50), \"\\n\"; "
                   "print `echo sub`; exit 3"],
    ["sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i+1 from n where "
                            "i<2000) select sum(i), count(distinct i%7) from n;"],
    ["git", "--version"],
    ["sh", "-c", "kill -TERM $$"],
])
def test_real_programs(need, run_mtdb, tmp_path, words):
    need(words[0])
    same(words, run_mtdb, tmp_path)


@pytest.mark.parametrize("how, status", [("exit", 3), ("kill", 137), ("segv", 139),
                                         ("abort", 134)])
@pytest.mark.parametrize("count", [10, 5000])
def test_history_survives_the_end(compile, record, how, status, count):
    program = compile("calls_killed.c", "-O1")
    done, calls = record([program, how, count], "--modules", program.name, "--size", "1M")
    assert done.returncode == status
    assert calls["mark"] == count and calls["last"] == 1


def test_a_full_ring_keeps_the_newest(compile, record):
    program = compile("calls_killed.c", "-O1")
    _, calls = record([program, "exit", 100000], "--modules", program.name, "--size", "64k")
    assert 2300 < calls["mark"] <= 64 * 1024 / 256 * 31 / 3 and calls["last"] == 1


@pytest.mark.parametrize("stamps", ["sampled", "full"])
@pytest.mark.parametrize("count", [10, 1001, 50000])
def test_history_survives_exec(compile, record, count, stamps):
    """The end of a ring whose owner is gone is found, also when the ring began anew."""
    program = compile("calls_exec.c", "-O1")
    done, calls = record([program, count], "--modules", "calls_exec", "--modules", "libc.*",
                         "--size", "64k", "--timestamps", stamps)
    assert done.returncode == 7
    assert calls["last"] == 1 and calls["execve"] == 1
    assert calls["mark"] == count if count < 100 else calls["mark"] > 400


def test_threads_by_the_thousand(compile, record):
    program = compile("calls_many.c", "-O1", "-pthread")
    done, calls = record([program, 2000, 8, 50], "--modules", "calls_many")
    assert done.returncode == 0
    assert calls["work"] == 2000 * 50 and calls["farewell"] == 2000


def test_ended_threads_share_room(compile, record, tmp_path):
    """All keep their last calls, and the recording is no larger than that of eight rings."""
    program = compile("calls_many.c", "-O1", "-pthread")
    done, calls = record([program, 24, 4, 20000], "--modules", "calls_many", "--size", "64k",
                         "--record", tmp_path / "x.data")
    assert done.returncode == 0
    assert calls["farewell"] == 24 and calls["work"] > 24 * 500
    assert (tmp_path / "x.data").stat().st_size < 9 * 64 * 1024 * 6
    done, calls = record([program, 100, 4, 20000], "--modules", "calls_many", "--size", "64k")
    assert "many threads ended" in done.stderr
    assert 20 < calls["farewell"] < 100


def test_triggers_take_snapshots(compile, record):
    program = compile("calls_killed.c", "-O1")
    done, calls = record([program, "exit", 20], "--modules", program.name, "--trigger", "mark",
                         "--trigger", "last")
    assert done.returncode == 3
    assert calls["mark"] == 20 and calls["last"] == 1


def test_chosen_functions(compile, record):
    program = compile("calls_killed.c", "-O1")
    _, calls = record([program, "exit", 20], "--functions", "mark", "--modules", "calls_killed")
    assert calls == {"mark": 20}
    _, calls = record([program, "exit", 20], "--no-functions", "mar?", "--modules",
                      "*/calls_killed")
    assert calls["last"] == 1 and "mark" not in calls


def test_signals_in_patched_code(compile, run_mtdb, tmp_path):
    program = compile("calls_storm.c", "-O1", "-pthread")
    same([program], run_mtdb, tmp_path)
    done = run_mtdb("run", "--engine", "calls", "--follow-forks", "-o", tmp_path / "x.fxt", program)
    assert done.returncode == 0 and done.stdout.endswith("stopped 1, then 4\n")


def test_no_call_is_no_lack_of_a_processor_trace(compile, run_mtdb, tmp_path):
    program = compile("calls_killed.c")
    done = run_mtdb("run", "--engine", "calls", "--modules", "of-no-file", "-o",
                    tmp_path / "x.fxt", program, "exit", "1")
    assert done.returncode == 3
    assert "contains no calls" in done.stderr and "Intel PT" not in done.stderr


@pytest.mark.parametrize("level", LEVELS)
def test_handlers_see_where_a_fault_was(compile, run_mtdb, tmp_path, level):
    program = compile("calls_faults.c", level)
    done = same([program], run_mtdb, tmp_path)
    assert " 0 strange of " in done.stdout


def test_handlers_see_where_the_stack_ended(compile, run_mtdb, tmp_path):
    """Also when it did so within a trampoline."""
    done = run_mtdb("run", "-e", "calls", "--size", "64k", "-o", tmp_path / "x.fxt", "--",
                    compile("calls_overflow.c", "-O1"))
    assert (done.stdout, done.returncode) == ("48 0\n", 7), done.stderr


@pytest.mark.parametrize("kind", ["-static", "-static-pie"])
def test_a_static_program(compile, run_mtdb, tmp_path, kind):
    program = compile("calls_killed.c", "-O1", kind, output="static")
    out = tmp_path / "x.json"
    done = run_mtdb("run", "--engine", "calls", "-o", out, program, "exit", "5")
    assert done.returncode == 3 and calls_of(out)["mark"] == 5, done.stderr
