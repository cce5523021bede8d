# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs built with sanitizers, which want most of the address space for themselves."""
import os
import re
import shutil
import subprocess

import pytest

GOOD = "200 610 3\n"
CALLS = 4 * 50 * 15 + 1973  # of work: work(5) and work(15)
BUILDS = ["gcc thread", "gcc address", "gcc undefined", "gcc leak", "clang thread",
          "clang address", "clang memory", "clang undefined", "clang leak", "clang safe-stack"]
NO_LEAKS = {**os.environ, "LSAN_OPTIONS": "detect_leaks=0"}


def skip_without_runtime(compiler, sanitizer):
    if not shutil.which(compiler):
        return  # the fixture says so
    done = subprocess.run([compiler, f"-fsanitize={sanitizer}", "-x", "c", "-", "-o", "/dev/null"],
                          input="int main(void) { return 0; }", text=True, capture_output=True,
                          check=False)
    if "cannot find" in done.stderr:
        pytest.skip(f"{compiler} has no runtime of -fsanitize={sanitizer} here "
                    "(package libclang-rt-14-dev)")


@pytest.fixture(name="program")
def compile_program(compile):
    """program("gcc thread", flags) -> its path."""

    def build(words, *flags):
        compiler, sanitizer = words.split()
        skip_without_runtime(compiler, sanitizer)
        return compile("calls_sanitized.c", "-O1", "-pthread", f"-fsanitize={sanitizer}", *flags,
                       compiler=compiler)

    return build


def count(path):
    return len(re.findall(r"^ .*  work(?: |$)", path.read_text(), re.M))


@pytest.mark.parametrize("build", BUILDS)
def test_run(program, run_mtdb, tmp_path, build):
    out = tmp_path / "out.txt"
    done = run_mtdb("run", "-e", "calls", "-o", out, program(build), env=NO_LEAKS)
    assert (done.stdout, done.returncode) == (GOOD, 7), done.stderr
    assert count(out) == CALLS and "leak check" not in done.stderr


@pytest.mark.parametrize("build", BUILDS)
def test_attach(program, mtdb, tmp_path, build):
    """It ends while it is recorded."""
    out = tmp_path / "out.txt"
    with subprocess.Popen([program(build), "wait"], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, env=NO_LEAKS) as process:
        assert process.stdout.readline() == "ready\n"
        ours, its = os.pipe()
        with subprocess.Popen([mtdb, "attach", "-e", "calls", f"--ready-fd={its}", "-o",
                               out, "-p", str(process.pid)], pass_fds=[its], text=True,
                              stderr=subprocess.PIPE) as tracer:
            os.close(its)
            with os.fdopen(ours) as pipe:
                assert pipe.read()
            assert process.communicate("\n", timeout=60)[0] == GOOD
            assert tracer.communicate(timeout=60) and tracer.returncode == 0
        assert process.returncode == 7
    assert count(out) == CALLS


@pytest.mark.parametrize("build, flags", [("gcc address", []), ("gcc leak", []),
                                          ("gcc address", ["-static-libasan"]),
                                          ("clang address", [])])
def test_leak_check(program, run_mtdb, tmp_path, build, flags):
    """It needs ptrace for itself: a message says how to do without it, before it fails."""
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", program(build, *flags))
    assert done.stderr.count("set LSAN_OPTIONS=detect_leaks=0") == 1
