# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of a program that emulates another one, and that this one runs."""
import subprocess


def test_fenced_functions_are_left_alone(compile, mtdb, run_mtdb, tmp_path):
    program = compile("calls_fenced.c", "-O1", "-g")
    out = tmp_path / "out.txt"
    done = run_mtdb("run", "-e", "calls", "-o", out, "--", program)
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr
    plan = subprocess.run([mtdb, "plan", "--verbose", program], text=True, capture_output=True, check=True).stdout
    for name in "fenced_sum", "fenced_length":
        assert [line for line in plan.splitlines() if name in line and "an emulated program runs it" in line], plan
    assert out.read_text().count(" outside ") == 1000


def test_valgrind_is_recorded_and_its_program_goes_on(compile, need, run_mtdb, tmp_path):
    program = compile("calls_fenced.c", "-O1", "-g")
    command = [need("valgrind"), "-q", "--error-exitcode=9", program]
    native = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.fxt", "--", *command, timeout=300)
    assert (done.returncode, done.stdout) == (native.returncode, native.stdout) == (0, "1000\n"), done.stderr
