# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel refuses is told with its reason and the cure, before the program runs."""
import errno
import re

import pytest

MACHINE = {"proc/sys/kernel/perf_event_paranoid": "2", "proc/self/status": "Name:\tx\n"
           "CapEff:\t0000000000000000\nSeccomp:\t0", "proc/sys/kernel/perf_event_mlock_kb": "516"}


@pytest.fixture
def machine(tmp_path):
    """machine(path="text", …): what /proc and /sys say there, besides Intel PT's sysfs."""

    def make(**files):
        for name, text in {**MACHINE, **{key.replace("__", "/"): value
                                         for key, value in files.items()}}.items():
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    return make


def refused(done, *words):
    assert done.returncode == 125, done.stderr
    assert "the engine \"pt\" does not work here" in done.stderr
    for word in [*words, "--engine calls"]:
        assert word in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("settings,files,words", [
    ({"BUSY": 1}, {}, ["serves one trace at a time", "record btrace", "perf record"]),
    ({"PARANOID": 3}, {"proc__sys__kernel__perf_event_paranoid": "3"},
     ["perf_event_paranoid is 3", "CAP_PERFMON", "sudo sysctl kernel.perf_event_paranoid=2"]),
    ({"ERRNO": errno.EPERM}, {"proc__self__status": "CapEff:\t0\nSeccomp:\t2"},
     ["seccomp", "--cap-add PERFMON"]),
    ({"ERRNO": errno.EPERM}, {}, ["security module"]),
    ({"ERRNO": errno.ENOSYS}, {}, ["CONFIG_PERF_EVENTS"]),
    ({"ERRNO": errno.EMFILE}, {}, ["ulimit -n"]),
])
def test_what_is_seen_beforehand(run_pt, machine, put_sysfs, settings, files, words):
    put_sysfs()
    machine(**files)
    refused(run_pt("run", "--engine=pt", "touch", "ran", **settings), *words)


@pytest.mark.parametrize("settings,options,words", [
    ({"MLOCK_KB": 20}, [], ["perf_event_mlock_kb (516 kB)", "ulimit -l", "smaller rings"]),
    ({"PARANOID": 2}, ["--kernel"], ["what the kernel does", "sysctl kernel.perf_event_paranoid=1"]),
])
def test_what_is_seen_at_the_first_thread(run_pt, machine, put_sysfs, tmp_path, settings, options,
                                          words):
    put_sysfs()
    machine()
    done = run_pt("run", "--engine=pt", *options, "touch", tmp_path / "ran", **settings)
    assert done.returncode == 125
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "ran").exists()


def test_options_that_the_processor_lacks(run_pt, put_sysfs, tmp_path):
    put_sysfs(ptwrite=0, power_event_trace=0)
    for option, word in [("--ptwrite", "PTWRITE"), ("--power-events", "power events")]:
        done = run_pt("run", "--engine=pt", option, "touch", tmp_path / "ran")
        assert done.returncode == 125 and word in done.stderr
    assert not (tmp_path / "ran").exists()


def test_doctor_tells_what_the_processor_has(run_pt, put_sysfs, machine):
    put_sysfs()
    machine()
    done = run_pt("doctor")
    assert "\npt         yes  Intel PT" in done.stdout
    assert "TSC, MTC, CYC, 2 address filters" in done.stdout
    assert "perf_event_paranoid is 2" in done.stdout and "perf_event_mlock_kb is 516" in done.stdout


def test_doctor_tells_whether_a_hit_pauses_the_trace(run_pt, put_sysfs, machine, debug_registers_hit):
    put_sysfs()
    machine()

    def told(**settings):
        return re.search(r"^aux_pause +(.*)$", run_pt("doctor", **settings).stdout, re.M)[1]

    if not debug_registers_hit:
        assert told(PAUSES=1, PARANOID=1).startswith("no   no trigger of the engine pt is hit: debug registers can be set")
        return
    assert told(PAUSES=1, PARANOID=1).startswith("yes  a trigger's hit pauses the trace")
    assert told(PARANOID=1).endswith("needs Linux 6.13")
    assert re.match("no .*what the kernel does.* kernel.perf_event_paranoid=1", told(PAUSES=1))


def test_auto_takes_it_where_it_works(run_pt, put_sysfs):
    put_sysfs()
    assert "recording with the engine pt (" in run_pt("run", "true").stderr
    done = run_pt("run", "true", BUSY=1)
    assert "recording with the engine calls (" in done.stderr and "not pt: " in done.stderr


def test_later_threads_do_without(play, compile):
    played = play(compile("pt_together.c", "-static"), MOST_EVENTS=3)
    assert played.done.returncode == 7
    assert played.done.stderr.count("is not recorded: cannot open Intel PT on thread") == 2
    assert len(played.trace.threads) >= 3


def test_options_of_others_are_refused(run_mtdb, tmp_path):
    done = run_mtdb("run", "--engine=step", "--kernel", "touch", tmp_path / "ran")
    assert done.returncode == 125
    assert "--kernel is only for the engines pt and sample" in done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("option", ["--functions=x", "--no-functions=x", "--modules=x",
                                    "--throttle=1"])
def test_options_of_the_engine_calls_are_warned_of(run_mtdb, compile, tmp_path, option):
    done = run_mtdb("run", "--engine=step", option, "-o", tmp_path / "x.fxt",
                    compile("two_calls.S", "-nostdlib", "-static"))
    assert done.returncode == 139
    assert f"{option.split('=')[0]} is only for the engine calls: step records everything" \
        in done.stderr
