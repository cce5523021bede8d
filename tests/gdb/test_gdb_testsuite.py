# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/gdb_testsuite/run tells a difference of the plugin's from a test that is flaky by itself.

In dejagnu's place is a runtest that says what the test wants: for each way of running a list of
rounds, of which the last is said from then on.
"""
import json
import os
import subprocess

import pytest

from conftest import ROOT

RUNTEST = """\
#!/usr/bin/python3
import json, pathlib, sys
mode = pathlib.Path.cwd().name
out = next(arg.removeprefix("--outdir=") for arg in sys.argv if arg.startswith("--outdir="))
counter = pathlib.Path(__file__).parent / f"{mode}.rounds"
done = len(counter.read_text()) if counter.exists() else 0
counter.write_text("x" * (done + 1))
rounds = json.loads((pathlib.Path(__file__).parent / "said.json").read_text())[mode]
for word in rounds[min(done, len(rounds) - 1)].split():
    with open(f"{out}/gdb.sum", "a") as sum:
        test = "hit 0x%x" % (done + 4096) if word.endswith("@") else "steps"
        sum.write(f"{word.rstrip('@')}: gdb.base/one.exp: {test}\\n")
"""


@pytest.fixture(name="suite")
def fixture_suite(tmp_path):
    """Runs the script over what a testsuite says; returns what it printed, and how many rounds it took."""
    bin_directory, source, build = tmp_path / "bin", tmp_path / "source/gdb/testsuite", tmp_path / "build"
    for directory in (bin_directory, source / "lib", source / "gdb.base", build):
        directory.mkdir(parents=True)
    for file in (source / "lib/gdb.exp", source / "gdb.base/one.exp", build / "mtrace.py", bin_directory / "gdb"):
        file.touch()
    (bin_directory / "runtest").write_text(RUNTEST)
    for name in ("runtest", "gdb"):
        (bin_directory / name).chmod(0o755)

    def run(plain, idle=("PASS",), recorded=("PASS",)):
        (bin_directory / "said.json").write_text(json.dumps({"plain": plain, "idle": idle, "recorded": recorded}))
        environment = dict(os.environ, PATH=f"{bin_directory}:{os.environ['PATH']}",
                           GDB_SOURCE=str(tmp_path / "source"))
        done = subprocess.run([ROOT / "tests/gdb_testsuite/run", "--build", build, "gdb.base/one.exp"],
                              env=environment, check=False, capture_output=True, text=True)
        assert done.stderr == ""
        rounds = {len((bin_directory / f"{mode}.rounds").read_text()) for mode in ("plain", "idle", "recorded")}
        assert len(rounds) == 1
        return done.returncode, done.stdout, *rounds
    return run


def test_the_same_is_run_once(suite):
    status, said, rounds = suite(["PASS PASS@"], ["PASS PASS@"], ["PASS PASS@"])
    assert (status, rounds) == (0, 1)
    assert "  flaky" not in said and "DIFFERS" not in said
    assert said.endswith("1 passed, 0 failed, 0 skipped\n")


@pytest.mark.parametrize("mode", ["idle", "recorded"])
@pytest.mark.parametrize("says, told", [("FAIL", "FAIL"), ("", "not run"), ("PASS PASS", "PASS PASS")])
def test_a_difference_of_every_round_counts(suite, mode, says, told):
    status, said, rounds = suite(["PASS"], **{mode: [says]})
    assert (status, rounds) == (1, 5)
    assert f"  DIFFERS {mode}: steps: PASS plain; {told} {mode}\n" in said
    assert "1 differences that are not accepted" in said
    assert said.endswith("0 passed, 1 failed, 0 skipped\n")


def test_what_fails_in_other_words_each_round_counts(suite):
    status, said, _ = suite(["PASS"], recorded=["FAIL", "UNRESOLVED", "FAIL"])
    assert status == 1
    assert "  DIFFERS recorded: steps: PASS plain; FAIL 4, UNRESOLVED 1 recorded\n" in said


def test_a_plain_run_that_fails_too_makes_it_flaky(suite):
    status, said, rounds = suite(["PASS PASS@", "PASS PASS@", "FAIL PASS@"], ["PASS PASS@"], ["FAIL PASS@"])
    assert (status, rounds) == (0, 3)
    assert "  flaky recorded: steps: PASS 2, FAIL 1 plain; FAIL recorded\n" in said
    assert "1 files with flaky tests" in said


@pytest.mark.parametrize("back", range(1, 5))
def test_a_difference_that_does_not_come_again_is_flaky(suite, back):
    status, said, rounds = suite(["PASS"], idle=["FAIL"] * back + ["PASS"])
    assert (status, rounds) == (0, back + 1)
    assert f"  flaky idle: steps: PASS plain; FAIL {back}, PASS 1 idle\n" in said
    assert said.endswith("1 passed, 0 failed, 0 skipped\n")


def test_plain_alone_may_be_the_one_that_fails(suite):
    status, said, rounds = suite(["FAIL", "PASS"])
    assert (status, rounds) == (0, 2)
    assert "  flaky idle: steps: FAIL 1, PASS 1 plain; PASS idle\n" in said


def test_a_flaky_test_hides_no_difference_beside_it(suite):
    status, said, _ = suite(["PASS PASS@", "FAIL PASS@"], recorded=["FAIL FAIL@"], idle=["PASS PASS@"])
    assert status == 1
    assert "  DIFFERS recorded: hit N: PASS plain; FAIL recorded\n" in said
    assert "  DIFFERS recorded: steps" not in said


def test_a_suite_that_says_nothing_fails(suite):
    assert suite([""], [""], [""])[0] == 1
