# SPDX-License-Identifier: GPL-3.0-or-later
"""Code of which a program is known to compute a checksum stays as it is: BoringSSL's FIPS module."""
import re

import pytest


@pytest.mark.parametrize("flags", [(), ("-static",)], ids=["dynamic", "static"])
def test_a_module_that_checks_itself(compile, run_mtdb, tmp_path, flags):
    program = compile("calls_checked.c", "-O1", "-D_GNU_SOURCE", *flags)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--", program)
    assert (done.returncode, done.stdout) == (0, "14950\n"), done.stderr
    shown = re.findall(r"^ .*  (?:\+\d+ )?(\w+)(?: |$)", (tmp_path / "out.txt").read_text(), re.M)
    assert shown.count("count") == 100 and not {"add", "twice"} & set(shown)
    left = run_mtdb("plan", "-v", program).stdout
    for name in ["add", "twice"]:
        assert re.search(rf"entry +{name}: the program checks its code", left)
