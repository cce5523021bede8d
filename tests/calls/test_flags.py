# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions in assembly that return flags, take some, or keep their caller's: a trampoline keeps none,
so they are not recorded, and who calls them is."""
import re

import pytest

FUNCTIONS = {"keeps", "returns_a_carry", "takes_a_carry", "stores_flags"}


@pytest.mark.parametrize("flags", [("-O0",), ("-O1",), ("-O1", "-fPIE", "-pie"), ("-O1", "-static")], ids=" ".join)
def test_they_compute_the_same(compile, run_mtdb, tmp_path, flags):
    program = compile("calls_flags.c", "-fno-inline", *flags)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--size=4m", "--modules", program.name,
                    "--", program, "1000")
    assert (done.returncode, done.stdout) == (0, "1000 turns\n"), done.stderr
    shown = re.findall(r"^ .*  (?:\+\d+ )?(\w+)(?: |$)", (tmp_path / "out.txt").read_text(), re.M)
    assert shown.count("is_above") == shown.count("is_carried") == 1000
    assert not FUNCTIONS & set(shown)
    left = run_mtdb("plan", "-v", program).stdout
    assert set(re.findall(r"entry +(\w+): its callers' flags are in use", left)) == FUNCTIONS
