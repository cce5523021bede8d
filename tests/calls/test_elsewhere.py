# SPDX-License-Identifier: GPL-3.0-or-later
"""A program in a mount namespace of its own, where a library's path is another file's: what a
breakpoint displaces there is that file's code, not that of ours."""
import subprocess

import pytest


def test_breakpoint_in_what_another_namespace_has(compile, run_mtdb, tmp_path):
    ours, theirs = (compile("calls_elsewhere_part.c", "-O1", "-shared", "-fPIC", f"-DRESULT={result}",
                            output="calls_elsewhere_part.so") for result in (1, 2))
    program = compile("calls_elsewhere.c", "-O1", ours)
    words = ["unshare", "-m", "sh", "-c", f"mount --bind {theirs} {ours} && exec {program}"]
    alone = subprocess.run(words, text=True, capture_output=True, check=False)
    if alone.returncode:
        pytest.skip("no mount namespaces here")
    assert alone.stdout == "6\n"
    for modules in ("*", program.name):
        ran = run_mtdb("run", "-e", "calls", "--pending", "--modules", modules, "-t", "traced", "-o",
                       tmp_path / "out.txt", "--", *words)
        assert (ran.returncode, ran.stdout) == (0, alone.stdout), (modules, ran.stderr)
