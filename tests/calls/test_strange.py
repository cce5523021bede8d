# SPDX-License-Identifier: GPL-3.0-or-later
"""A table of programs that are hard to record: they print and return the same as alone, and each of
their own calls is recorded.  tests/calls/test_gs.py, test_shared_memory.py, test_sandbox.py and
test_sanitizers.py have those of their kinds."""
import re
import shutil
import signal
import subprocess

import pytest

# Source, way, and how many calls its output does not count: of a program that is gone by then, of a
# child in its memory, or made where it cannot ask who it is.
WAYS = {
    "calls_strange": {"nested-signals": 0, "faults": 0, "stack-overflows": 0, "timers": 0, "stops": 0, "no-tsc": 0,
        "vforks": 0, "daemons": 0, "namespaces": 0, "no-rights": 0, "moved-text": 0, "libraries": 0,
        "main-ends": 0, "thread-execs": 15, "contexts": 0, "descriptors": 0, "locked-memory": 0,
        "bad-tls": 0, "nothing": 0},
    "calls_processes": {"clones": 0, "clones-with-stacks": 10, "child-of-the-parent": 0, "pidfds": 0, "each-signal": 0,
        "dumps": 0, "forks-in-handlers": 0, "forks-in-threads": 0, "families": 0, "vfork-within-vfork": 0,
        "exec-among-threads": 0, "exec-again": 72, "memory-exec": 0, "deleted-exec": 0, "personalities": 15,
        "own-tracer": 0, "namespaces-entered": 0, "what-it-is": 0},
    "calls_memory": {"huge-stack": 0, "growing-stack": 0, "sealed-text": 0, "protected-text": 0, "advised-text": 0,
        "no-new-code": 0, "user-faults": 0, "flags": 0, "own-steps": 0, "floating-state": 0, "fixed-addresses": 0,
        "own-memory-file": 0, "limited-memory": 0, "library-namespaces": 0, "keys": 0},
    "calls_signals": {"queued": 0, "storm": 0, "interruptions": 0, "timers-threads": 0, "waited-for": 0,
        "stacks-of-signals": 0, "coroutines-in-handlers": 0, "dispatched": 0, "dispatched-thread": 10,
        "robust-locks": 0, "cancellations": 0, "many-threads": 0, "bare-threads": 0, "io-uring": 0, "limits": 0,
        "scheduled": 0},
    "calls_odd": {"skipped-faults": 0, "vfork-storm": 0, "notified": 0, "told-otherwise": 0, "bare-births": 0,
        "becomes": 14, "hardest-limits": 0, "no-descriptors": 0, "forged-frames": 0, "other-mode": 0, "aligned": 0,
        "poked-child": 0, "odd-stacks": 0, "ends-by-descriptor": 0, "own-changes": 0, "own-jumps": 0},
}
CASES = [(source, way) for source, ways in WAYS.items() for way in ways]
QUICK = ["faults", "no-tsc", "namespaces", "moved-text", "main-ends", "thread-execs",
         "clones", "exec-again", "own-tracer", "what-it-is", "sealed-text", "user-faults", "flags",
         "coroutines-in-handlers", "dispatched", "robust-locks", "io-uring", "skipped-faults", "notified", "bare-births",
         "other-mode"]
BUILDS = {"dynamic": ["gcc", "-O1"], "-O0": ["gcc", "-O0"], "-O2": ["gcc", "-O2", "-fno-optimize-sibling-calls"],
          "static": ["gcc", "-O1", "-static"], "static-pie": ["gcc", "-O1", "-static-pie"],
          "no-pie": ["gcc", "-O1", "-no-pie"], "clang": ["clang", "-O1"],
          "blocks": ["clang", "-O1", "-fbasic-block-sections=all"],
          "musl": ["musl-gcc", "-O1"], "musl-static": ["musl-gcc", "-O1", "-static"]}
NO_LIBRARIES = ["libraries", "no-rights", "no-new-code", "library-namespaces"]
ALL = [(kind, *case) for kind in BUILDS for case in CASES
       if case[0] == "calls_strange" or kind in ("-O2", "static", "musl")]
OF_GNU = ["contexts", "growing-stack", "coroutines-in-handlers", "storm"] + NO_LIBRARIES
OF_GLIBC_ALONE = {"static": NO_LIBRARIES, "static-pie": NO_LIBRARIES,
                  "musl": OF_GNU, "musl-static": OF_GNU}
NO_NUMBERS = {"timers", "storm", "vfork-storm"}  # how long it takes, nobody knows


@pytest.fixture(name="program")
def compile_program(compile, need):
    def build(source, kind):
        compiler, *flags = BUILDS[kind]
        if kind.startswith("musl"):
            need("musl-gcc", "musl-tools")
            if not shutil.which("musl-gcc"):
                pytest.skip("no musl")
            flags += ["-Wl," + ",".join(f"--defsym={name}=0" for name in
                                        ["makecontext", "swapcontext", "getcontext", "dlmopen", "pthread_sigqueue"]),
                      "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
        return compile(f"{source}.c", "-D_GNU_SOURCE", "-pthread", "-w", *flags,
                       compiler=compiler, output=source)

    return build


def count(path):
    return len(re.findall(r"^ .*  (?:\+\d+ )?work(?: |$)", path.read_text(), re.M))


def check(program, run_mtdb, tmp_path, way):
    out = tmp_path / "out.txt"
    alone = subprocess.run([program, way], text=True, capture_output=True, check=False, timeout=60)
    if way == "other-mode" and alone.returncode == -signal.SIGSEGV:
        pytest.skip("the kernel here runs no code of 32 bits")
    size = "256M" if way in NO_NUMBERS else "16M"
    done = run_mtdb("run", "-e", "calls", "--size", size, "--modules", program.name, "-o", out,
                    "--", program, way)
    assert (done.returncode, done.stdout.count("\n")) == (7, 1), done.stderr
    assert done.stdout == alone.stdout or way in NO_NUMBERS
    assert alone.returncode == 7
    assert count(out) == int(done.stdout.split()[-1]) + WAYS[program.name][way]


@pytest.mark.parametrize("source, way", [case for case in CASES if case[1] in QUICK])
def test_quick(program, run_mtdb, tmp_path, source, way):
    check(program(source, "dynamic"), run_mtdb, tmp_path, way)


@pytest.mark.parametrize("kind, source, way", ALL)
def test_all(program, run_mtdb, tmp_path, kind, source, way):
    if way in OF_GLIBC_ALONE.get(kind, []):
        pytest.skip("this C library has none of that")
    check(program(source, kind), run_mtdb, tmp_path, way)


def test_blocks_are_no_calls(program, run_mtdb, tmp_path):
    """Of a function that has a symbol for each."""
    check(program("calls_strange", "blocks"), run_mtdb, tmp_path, "nothing")
    assert ".__part." not in (tmp_path / "out.txt").read_text()


@pytest.mark.soak
@pytest.mark.parametrize("source, way", CASES)
@pytest.mark.parametrize("kind", BUILDS)
def test_twenty_times(program, run_mtdb, tmp_path, kind, source, way):
    if way in OF_GLIBC_ALONE.get(kind, []):
        pytest.skip("this C library has none of that")
    for _ in range(20):
        check(program(source, kind), run_mtdb, tmp_path, way)


def test_under_another_tracer(need, mtdb, compile, tmp_path):
    """The reason is the tracer, and not what a container may forbid."""
    done = subprocess.run([need("strace"), "-f", "-o", "/dev/null", mtdb, "run", "-o",
                           tmp_path / "out.txt", compile("calls_privileged.c", "-O1")], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 125 and "run strace without -f" in done.stderr, done.stderr


def test_without_proc(mtdb, compile, tmp_path):
    program = compile("calls_privileged.c", "-O1")
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"umount -l /proc && {mtdb} run -o "
                           f"{tmp_path}/out.txt {program}"], text=True, capture_output=True,
                          check=False)
    if "unshare" in done.stderr or "umount" in done.stderr:
        pytest.skip("no mount namespaces here")
    assert done.returncode == 125 and "/proc is missing" in done.stderr, done.stderr
