# SPDX-License-Identifier: GPL-3.0-or-later
"""Retpolines jump by a ret to what they have pushed: call stacks are as without them."""
import json

import pytest

GCC = ["-O2", "-fno-pie", "-no-pie", "-fcf-protection=none"]
KINDS = {
    "thunk": ("gcc", ["-mindirect-branch=thunk"]),
    "return-thunk": ("gcc", ["-mindirect-branch=thunk", "-mfunction-return=thunk"]),
    "inline": ("gcc", ["-mindirect-branch=thunk-inline", "-mfunction-return=thunk-inline"]),
    "clang": ("clang", ["-mretpoline"]),
}
THUNKS = ("__x86_indirect_thunk", "__x86_return_thunk", "__llvm_retpoline")


@pytest.fixture(name="paths")
def paths_fixture(run_mtdb, compile, need, tmp_path):
    """paths(compiler, flags): of each call in main(), in their order, with their callers; thunks left out."""
    def record(compiler, flags):
        program = compile("calls_thunks.c", *flags, compiler=need(compiler))
        done = run_mtdb("run", "-e", "calls", "--timestamps=full", "-r", tmp_path / "x.perf", "-o", tmp_path / "x.fxt",
                        "--", program)
        assert (done.returncode, done.stdout) == (0, "60\n"), done.stderr
        calls = json.loads(run_mtdb("grep", "--json", tmp_path / "x.perf", "*").stdout)
        calls.sort(key=lambda call: (call["time_ns"], len(call["path"])))
        within = [call for call in calls if "main" in call["path"][:-1] and call["end_seen"]]
        paths = [[name for name in call["path"][call["path"].index("main"):] if not name.startswith(THUNKS)]
                 for call in within if not call["function"].startswith(THUNKS)]
        return [path for path in paths if set(path) <= {"main", "middle", "jump", "wide", "leaf"}]
    return record


@pytest.mark.parametrize("kind", KINDS)
def test_stacks_are_the_same(paths, kind):
    compiler, flags = KINDS[kind]
    common = GCC if compiler == "gcc" else GCC[:1]
    plain = paths(compiler, common)
    assert sum(path[-1] == "leaf" for path in plain) == 18
    assert paths(compiler, [*common, *flags]) == plain
