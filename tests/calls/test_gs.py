# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that use the GS register themselves: they run as they would alone, unrecorded, and a
message names who uses it."""
import re
import subprocess

import pytest

WAYS = ["WRGSBASE", "MOV", "OPERAND", "SYSTEM_CALL", "SYSCALL", "WRAPPER"]
KINDS = [["-O0"], ["-O2"], ["-O1", "-static"]]
TRIES = 5
GOOD = "0 changed, own base, 55\n"


@pytest.fixture(name="program")
def compile_program(compile):
    """program(way, flags) -> its path."""

    def build(way, *flags):
        path = compile("calls_gs.c", f"-DHOW={way}", "-D_GNU_SOURCE", "-pthread",
                       *(flags or ["-O1"]), output="calls_gs")
        for _ in range(TRIES):
            alone = subprocess.run([path], text=True, capture_output=True, check=False)
            if alone.returncode == 77:
                pytest.skip("the processor, or the kernel, has no wrgsbase")
            if "lost base" in alone.stdout:
                pytest.skip("a thread here has not always its parent's GS base")
            assert (alone.stdout, alone.returncode) == (GOOD, 7)
        return path

    return build


@pytest.fixture(name="library")
def compile_library(compile):
    return compile("calls_gs_library.c", "-O1", "-shared", "-fPIC", output="sets_gs.so")


def count(path):
    return len(re.findall(r"^ .*  fib(?: |$)", path.read_text(), re.M)) if path.exists() else 0


def check_run(run_mtdb, tmp_path, *options, command):
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", *options, "--", *command)
    assert (done.stdout, done.returncode) == (GOOD, 7), done.stderr
    assert done.stderr.count("the GS register") == 1 and "--engine step can" in done.stderr
    assert "--engine sample samples its stacks" in done.stderr
    return done.stderr


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flags", KINDS, ids=" ".join)
def test_run(program, run_mtdb, tmp_path, way, flags):
    errors = check_run(run_mtdb, tmp_path, command=[program(way, *flags)])
    assert "set_base() in " in errors
    assert count(tmp_path / "out.txt") == 0


def test_what_is_kept(program, run_mtdb, tmp_path, monkeypatch):
    """Its file is not recorded, and not planned the second time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = program("MOV")
    for _ in range(2):
        errors = check_run(run_mtdb, tmp_path, "--modules", "none", command=[path])
        assert "set_base() in " in errors


@pytest.mark.parametrize("way", WAYS)
def test_attach(program, run_mtdb, tmp_path, way):
    with subprocess.Popen([program(way), "wait"], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        done = run_mtdb("attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "out.txt", "-p",
                        process.pid)
        assert done.returncode == 1 and "set_base() in " in done.stderr, done.stderr
        assert "uses the GS register" in done.stderr and "--engine step can" in done.stderr
        out, _ = process.communicate("\n\n", timeout=60)
        assert (out, process.returncode) == (f"ready\n{GOOD}", 7)


def test_attach_to_a_base(program, run_mtdb, tmp_path):
    """Nothing in the files tells of it, but its threads have one."""
    with subprocess.Popen([program("GENERATED"), "wait"], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE) as process:
        process.stdin.write("\n")
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        done = run_mtdb("attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "out.txt", "-p",
                        process.pid)
        assert done.returncode == 1 and "the GS register" in done.stderr, done.stderr
        out, _ = process.communicate("\n", timeout=60)
        assert (out, process.returncode) == (GOOD, 7)


def test_library_that_comes_late(program, library, run_mtdb, tmp_path):
    """Recorded until then, also where the library itself is not."""
    check_run(run_mtdb, tmp_path, "--modules", "calls_gs",
              command=[program("LIBRARY", "-O1", f'-DPATH="{library}"')])


def test_generated_code(program, run_mtdb, tmp_path):
    """Seen at the next stop."""
    check_run(run_mtdb, tmp_path, command=[program("GENERATED")])


def test_attached_before(program, mtdb, tmp_path):
    """The tracer leaves it its base."""
    with subprocess.Popen([program("GENERATED"), "wait"], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        with subprocess.Popen([mtdb, "attach", "-e", "calls", "--ready-fd=1", "-o",
                               tmp_path / "out.txt", "-p", str(process.pid)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tracer:
            assert tracer.stdout.read(1)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "ready\n"
            tracer.send_signal(2)
            errors = tracer.communicate(timeout=60)[1]
            assert tracer.returncode == 0 and errors.count("the GS register") == 1, errors
        out, _ = process.communicate("\n", timeout=60)
        assert (out, process.returncode) == (GOOD, 7)


def test_follow_forks(program, run_mtdb, tmp_path):
    """Others of the tree are recorded."""
    check_run(run_mtdb, tmp_path, "--follow-forks",
              command=["sh", "-c", f"{program('WRGSBASE')}; exit 7"])
