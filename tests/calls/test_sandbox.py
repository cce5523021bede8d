# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that go into a sandbox, recorded from their start, and attached to before and within: it
may be that each system call of ours ends them, or that a time stamp does.  None is harmed."""
import os
import re
import subprocess

import pytest

WAYS = ["strict", "stampless", "kill", "kill-thread", "errno", "trap", "trace", "notify",
        "dispatch"]
FILTERS = [way for way in WAYS if way != "stampless"]
REASONS = {"dispatch": "it catches its system calls"}
GOOD = b"343 0\n"  # fib(10) + 2 fib(12), and no SIGSYS
LIBRARIES = [("one", "return n;"), ("two", "return n > 9 ? inner(n - 1) * 5 : n * 2;")]
CALLS = 177 + 2 * 465  # of fib
OWN = ["--modules", "calls_sandbox", "--size", "256k"]


@pytest.fixture(name="program")
def compile_program(compile):
    return compile("calls_sandbox.c", "-O1")


def skip_if_untold(way):
    if way == "dispatch" and tuple(map(int, os.uname().release.split(".")[:2])) < (6, 4):
        pytest.skip("Linux 6.4 is the first that tells tracers of it")


@pytest.fixture(name="is_stampless")
def has_no_stamps(program):
    """is_stampless(way): whether a time stamp ends it there, which not every virtual machine does."""
    def is_stampless(way):
        return (way in ["strict", "stampless"] and
                subprocess.run([program, "stamp"], check=False).returncode != 0)

    return is_stampless


@pytest.fixture(name="start")
def start_program(program):
    """start(way) -> it waits, and goes into its sandbox at the first line that it gets."""
    started = []

    def start(way):
        skip_if_untold(way)
        process = subprocess.Popen([program, way, "wait"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def go_on(process):
    process.stdin.write(b"\n")
    process.stdin.flush()


def check_it_ends_well(process):
    out, _ = process.communicate(b"\n", timeout=60)
    assert (out, process.returncode) == (GOOD, 7)


def attach(mtdb, pid, out, *options):
    """The tracer, that records by now."""
    ours, its = os.pipe()
    tracer = subprocess.Popen([mtdb, "attach", "-e", "calls", f"--ready-fd={its}", *options, "-o",
                               out, "-p", str(pid)], pass_fds=[its], text=True,
                              stderr=subprocess.PIPE)
    os.close(its)
    with os.fdopen(ours) as pipe:
        assert pipe.read()
    return tracer


def count(path):
    return len(re.findall(r"^ .*  fib(?: |$)", path.read_text(), re.M))


@pytest.mark.parametrize("stamps", ["sampled", "full"])
@pytest.mark.parametrize("way", WAYS)
def test_run(program, run_mtdb, tmp_path, is_stampless, way, stamps):
    """All that it calls is recorded, within the sandbox too."""
    out = tmp_path / "out.txt"
    done = run_mtdb("run", "-e", "calls", "--timestamps", stamps, *OWN, "-o", out, "--", program,
                    way)
    assert (done.stdout.encode(), done.returncode) == (GOOD, 7), done.stderr
    assert count(out) == CALLS
    assert ("recording it is slow" in done.stderr) == is_stampless(way)


@pytest.mark.parametrize("way", FILTERS)
def test_attach_within(start, run_mtdb, tmp_path, way):
    process = start(way)
    go_on(process)
    assert process.stdout.readline() == b"ready\n"
    done = run_mtdb("attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "out.txt", "-p",
                    process.pid)
    assert done.returncode == 1 and REASONS.get(way, "it is under seccomp") in done.stderr, done.stderr
    assert "--engine step can" in done.stderr
    check_it_ends_well(process)


@pytest.mark.parametrize("way", WAYS)
def test_attach_before(start, mtdb, tmp_path, is_stampless, way):
    """The tracer lets go of it within the sandbox: its text is as it was."""
    process, out = start(way), tmp_path / "out.txt"
    with attach(mtdb, process.pid, out, *OWN) as tracer:
        go_on(process)
        assert process.stdout.readline() == b"ready\n"
        tracer.send_signal(2)
        errors = tracer.communicate(timeout=60)[1]
        assert tracer.returncode == 0
    assert ("it is not recorded from now on" in errors) == is_stampless(way)
    assert count(out) < 465 if is_stampless(way) else count(out) == 465
    check_it_ends_well(process)


@pytest.mark.parametrize("stamps", ["sampled", "full"])
@pytest.mark.parametrize("when", ["before", "within"])
@pytest.mark.parametrize("way", WAYS)
def test_tracer_is_killed(start, mtdb, tmp_path, way, when, stamps):
    """Nobody is there any more to help with what is forbidden to it."""
    process = start(way)
    with attach(mtdb, process.pid, tmp_path / "out.txt", "--timestamps", stamps, *OWN) as tracer:
        if when == "within":
            go_on(process)
            assert process.stdout.readline() == b"ready\n"
        tracer.kill()
    if when == "before":
        go_on(process)
        assert process.stdout.readline() == b"ready\n"
    check_it_ends_well(process)


def test_from_the_beginning(program, compile, run_mtdb, tmp_path):
    """Nothing of ours is in its environment then."""
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", program, "allow",
                    compile("calls_privileged.c", "-O1"))
    assert done.returncode == 7 and " alone 55\n" in done.stdout, done.stderr
    assert "it is under seccomp" in done.stderr


def test_libraries_within(program, mtdb, tmp_path):
    """Another one lies where a patched one was: it is left alone when the tracer leaves."""
    source = tmp_path / "library.c"
    for name, body in LIBRARIES:
        source.write_text(f"__attribute__((noipa)) int inner(int n) {{ {body} }}\n"
                          f"__attribute__((noipa)) int {name}(int n) {{ return inner(n); }}\n")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", tmp_path / f"{name}.so", source],
                       check=True)
    with subprocess.Popen([program, "swap", tmp_path / "one.so", tmp_path / "two.so"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        tracer = attach(mtdb, process.pid, tmp_path / "out.txt")
        go_on(process)
        assert process.stdout.readline() == b"ready\n"
        tracer.send_signal(2)
        errors = tracer.communicate(timeout=60)[1]
        assert tracer.returncode == 0
        process.communicate(b"\n", timeout=60)
        assert process.returncode == 7
    assert "two.so is the first): it is under seccomp" in errors


@pytest.mark.parametrize("microseconds", [0, 500, 2000, 5000, 10000, 20000, 50000, 100000, 150000, 200000, 300000])
def test_while_it_is_taken(compile, mtdb, tmp_path, microseconds):
    """Whenever it goes into its sandbox; with pauses between the stops that take longer."""
    preload = compile("slow_pause.c", "-shared", "-fPIC", "-D_GNU_SOURCE", output="slow_pause.so")
    with subprocess.Popen([compile("calls_confines.c", "-O1"), str(microseconds)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        done = subprocess.run([mtdb, "attach", "-e", "calls", *OWN, "--for=50ms", "-o", tmp_path / "x.json", "-p",
                               str(process.pid)], env={**os.environ, "LD_PRELOAD": str(preload)}, text=True,
                              stderr=subprocess.PIPE, timeout=60, check=False)
        assert process.poll() is None, done.stderr
        assert done.returncode == 0 or "seccomp" in done.stderr, done.stderr
        process.communicate(b".", timeout=60)
        assert process.returncode == 5
