# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine `sample` in both debuggers: the samples before a stop, and the stack at it."""
import re
import subprocess

import fxt
import pytest

COMMANDS = ["break hit", "mtrace start -engine sample -size 64M", "run", "mtrace info", "mtrace history",
            "continue", "mtrace history", "mtrace snapshot kept.fxt", "mtrace stop", "kill"]


@pytest.fixture(name="program")
def program_fixture(run_mtdb, compile):  # pylint: disable=redefined-builtin
    found = re.search(r"^sample +(\w+) +(.*)$", run_mtdb("doctor").stdout, re.M)
    if found[1] != "yes":
        pytest.skip(f"the kernel samples no stacks here: {found[2]}")
    return compile("sample_engine.c", "-O0", "-g", "-pthread")


def check(output, folder):
    assert "with the engine sample" in output, output
    counts = [int(number) for number in re.findall(r"^(\d+) samples of task-clock", output, re.M)]
    # It is there as long as the ring has room: the second has what the first one had, and more.
    assert len(counts) == 2 and 0 < counts[0] < counts[1], output
    assert re.search(r"^ +~-\S+ \S+ +~\S+ \S+ +spin \(\d+ samples?\)", output, re.M)
    main = next(iter(fxt.read(folder / "kept.fxt").threads.values()))
    hit = main.find("hit")[-1]
    assert hit.path()[-3:] == ["main", "triggers", "hit"]
    assert any(one.begin < hit.begin for one in main.find("spin"))


def test_in_gdb(gdb, program, tmp_path):
    session = gdb(None, f"file {program}", "set args triggers", *COMMANDS)
    session.check_clean()
    check(session.all, tmp_path)


def test_at_the_prompt(mtdb, program, tmp_path):
    words = [word for command in COMMANDS for word in ("-ex", command)]
    done = subprocess.run([mtdb, "-batch", *words, "--args", program, "triggers"], cwd=tmp_path,
                          text=True, capture_output=True, check=False, timeout=120,
                          stdin=subprocess.DEVNULL)
    check(done.stdout + done.stderr, tmp_path)
