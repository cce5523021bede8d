# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of real programs, held against objdump and readelf."""
import pathlib

import pytest

from tests.calls import planned

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")


def plan_and_check(mtdb, path):
    plan = planned.Plan(mtdb, path)
    planned.check(planned.Truth(path), plan)
    print(plan.summary)
    return plan


# Least shares of entries and of returns, in per cent.
LEVELS = {"-O0": (100, 99.5), "-O1": (99.5, 99), "-O2": (99.5, 99), "-Os": (97, 98)}


@pytest.mark.parametrize("compiler, level", [
    ("gcc", "-O0"), ("gcc", "-O2"), ("gcc", "-Os"), ("clang", "-O2"),
    *(pytest.param(compiler, level, marks=pytest.mark.soak) for compiler, level in
      [("gcc", "-O1"), ("clang", "-O0"), ("clang", "-O1"), ("clang", "-Os")])])
def test_what_a_compiler_makes(mtdb, sample, compiler, level):
    plan = plan_and_check(mtdb, sample(compiler, level))
    assert (plan.share("entries"), plan.share("returns")) >= LEVELS[level]
    # clang has more branches lead to a function's only return, which is left out then.
    assert plan.share("returns") >= LEVELS[level][1] - (compiler == "clang")


@pytest.mark.parametrize("flags", [["-fcf-protection=full", "-fno-plt"],
                                   pytest.param(["-pg"], marks=pytest.mark.soak),
                                   ["-mno-red-zone", "-fomit-frame-pointer", "-falign-functions=1"],
                                   ["-fpatchable-function-entry=8,4"]], ids=" ".join)
def test_what_flags_make(mtdb, sample, flags):
    plan = plan_and_check(mtdb, sample("gcc", "-O2", *flags))
    assert plan.share("entries") >= 98


@pytest.mark.parametrize("flags", [["-no-pie", "-fno-pie"], ["-static", "-no-pie", "-fno-pie"],
                                   ["-static-pie", "-fPIE"]], ids=" ".join)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_programs_that_are_not_relocated(mtdb, compile, level, flags):
    plan = plan_and_check(mtdb, compile("unwinding.cpp", level, *flags, "-pthread"))
    assert plan.share("entries") >= 95  # but for _start
    assert plan.share("returns") >= 95


@pytest.mark.parametrize("name", ["libc.so.6", "libstdc++.so.6", "libm.so.6", "libsqlite3.so.0"])
def test_system_libraries(mtdb, name):
    path = LIBRARIES / name
    if not path.exists():
        pytest.skip(f"no {name} among the libraries")
    plan = plan_and_check(mtdb, path)
    assert plan.share("entries") >= 99.5
    assert plan.share("returns") >= 98


@pytest.mark.soak
@pytest.mark.parametrize("path", ["/usr/bin/python3.11", "/usr/bin/perl", "/usr/bin/gdb",
                                  "/usr/bin/git", "/usr/bin/bash", "/usr/bin/cmake",
                                  LIBRARIES / "libpython3.11.so.1.0",
                                  pathlib.Path("/lib64/ld-linux-x86-64.so.2")], ids=str)
def test_large_programs(mtdb, path):
    if not pathlib.Path(path).exists():
        pytest.skip(f"no {pathlib.Path(path).name} here")
    plan = plan_and_check(mtdb, path)
    assert plan.share("entries") >= 97
    assert plan.share("returns") >= 97


def test_functions_are_all_told_of(mtdb, sample):
    """Each function that the symbol table knows has an entry that is recorded or listed."""
    path = sample("gcc", "-O2")
    plan, truth = planned.Plan(mtdb, path), planned.Truth(path)
    told = {patch.start for patch in plan.patches if patch.entry}
    told |= {patch.start - 4 for patch in plan.patches if patch.entry}  # behind endbr64
    told |= {left.address for left in plan.left if left.kind == "entry"}
    missing = [name for start, _, name in truth.functions
               if start not in told and ".cold" not in name]
    assert not missing


@pytest.mark.parametrize("flags", [[], ["-no-pie"], ["-static"], ["-static-pie"]], ids=" ".join)
def test_what_the_kernel_restarts_stays(mtdb, compile, run_mtdb, tmp_path, flags):
    """A restartable sequence goes on where it was interrupted if the kernel does not know it by its place."""
    program = compile("calls_restartable.c", "-O1", "-pthread", *flags)
    start, size = next((int(words[0], 16), int(words[1], 16)) for words in
                       map(str.split, planned.output("nm", "-S", program).splitlines()) if words[-1] == "count_here")
    begins, ends = start + 7 + 4, start + size - 1
    plan = planned.Plan(mtdb, program)
    assert [patch for patch in plan.patches if patch.start < ends and patch.end > begins] == []
    assert any(patch.entry and patch.start == start for patch in plan.patches)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.json", program, "100000")
    if done.returncode == 77:
        return  # the C library has no rseq here, or the kernel none
    assert (done.stdout, done.returncode) == ("400000 of 400000\n", 0), done.stderr
