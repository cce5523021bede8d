# SPDX-License-Identifier: GPL-3.0-or-later
"""A table of programs that are hard to record: they print and return the same as alone, and each of
their own calls is recorded.  tests/calls/test_gs.py, test_shared_memory.py, test_sandbox.py and
test_sanitizers.py have those of their kinds."""
import re
import shutil
import subprocess

import pytest

# Way, and how many calls its output does not count: of a program that is gone by then.
WAYS = {"nested-signals": 0, "faults": 0, "stack-overflows": 0, "timers": 0, "stops": 0, "no-tsc": 0,
        "vforks": 0, "daemons": 0, "namespaces": 0, "no-rights": 0, "moved-text": 0, "libraries": 0,
        "main-ends": 0, "thread-execs": 15, "contexts": 0, "descriptors": 0, "locked-memory": 0,
        "bad-tls": 0, "nothing": 0}
QUICK = ["faults", "no-tsc", "namespaces", "moved-text", "main-ends", "thread-execs"]
BUILDS = {"dynamic": ["gcc", "-O1"], "-O0": ["gcc", "-O0"], "-O2": ["gcc", "-O2", "-fno-optimize-sibling-calls"],
          "static": ["gcc", "-O1", "-static"], "static-pie": ["gcc", "-O1", "-static-pie"],
          "no-pie": ["gcc", "-O1", "-no-pie"], "clang": ["clang", "-O1"],
          "blocks": ["clang", "-O1", "-fbasic-block-sections=all"],
          "musl": ["musl-gcc", "-O1"], "musl-static": ["musl-gcc", "-O1", "-static"]}
OF_GLIBC_ALONE = {"static": ["libraries", "no-rights"], "static-pie": ["libraries", "no-rights"],
                  "musl": ["contexts", "libraries", "no-rights"],
                  "musl-static": ["contexts", "libraries", "no-rights"]}
NO_NUMBERS = {"timers"}  # how long it takes, nobody knows


@pytest.fixture(name="program")
def compile_program(compile, need):
    def build(kind):
        compiler, *flags = BUILDS[kind]
        if kind.startswith("musl"):
            need("musl-gcc", "musl-tools")
            if not shutil.which("musl-gcc"):
                pytest.skip("no musl")
            flags += ["-Wl,--defsym=makecontext=0,--defsym=swapcontext=0,--defsym=getcontext=0"]
        return compile("calls_strange.c", "-D_GNU_SOURCE", "-pthread", "-w", *flags,
                       compiler=compiler, output="calls_strange")

    return build


def count(path):
    return len(re.findall(r"^ .*  (?:\+\d+ )?work(?: |$)", path.read_text(), re.M))


def check(program, run_mtdb, tmp_path, way):
    out = tmp_path / "out.txt"
    alone = subprocess.run([program, way], text=True, capture_output=True, check=False, timeout=60)
    size = "256M" if way in NO_NUMBERS else "16M"
    done = run_mtdb("run", "-e", "calls", "--size", size, "--modules", program.name, "-o", out,
                    "--", program, way)
    assert (done.returncode, done.stdout.count("\n")) == (7, 1), done.stderr
    assert done.stdout == alone.stdout or way in NO_NUMBERS
    assert alone.returncode == 7
    assert count(out) == int(done.stdout.split()[-1]) + WAYS[way]


@pytest.mark.parametrize("way", QUICK)
def test_quick(program, run_mtdb, tmp_path, way):
    check(program("dynamic"), run_mtdb, tmp_path, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", BUILDS)
def test_all(program, run_mtdb, tmp_path, kind, way):
    if way in OF_GLIBC_ALONE.get(kind, []):
        pytest.skip("this C library has none of that")
    check(program(kind), run_mtdb, tmp_path, way)


def test_blocks_are_no_calls(program, run_mtdb, tmp_path):
    """Of a function that has a symbol for each."""
    check(program("blocks"), run_mtdb, tmp_path, "nothing")
    assert ".__part." not in (tmp_path / "out.txt").read_text()


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", BUILDS)
def test_twenty_times(program, run_mtdb, tmp_path, kind, way):
    if way in OF_GLIBC_ALONE.get(kind, []):
        pytest.skip("this C library has none of that")
    for _ in range(20):
        check(program(kind), run_mtdb, tmp_path, way)


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
