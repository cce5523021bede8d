# SPDX-License-Identifier: GPL-3.0-or-later
"""The bash completion, asked as bash asks it."""
import subprocess

import pytest

from conftest import ROOT

SCRIPT = """
. completions/mtdb.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_mtdb
printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(*words, cwd=ROOT):
    script = SCRIPT.replace("completions/", f"{ROOT}/completions/")
    command = ["bash", "-c", script, "bash", *words]
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True)
    assert done.stderr == ""
    return sorted(done.stdout.split())


@pytest.mark.parametrize(
    "words, expected",
    [
        (("mtdb", "d"), ["decode", "diff", "doctor", "dump"]),
        (("mtdb", "--v"), ["--version"]),
        (("mtdb", "help", "his"), ["history"]),
        (("mtdb", "decode", "--f"), ["--format="]),
        (("mtdb", "browse", "--"), ["--coroutine=", "--goroutine=", "--help", "--thread="]),
        (("mtdb", "dump", "--"), ["--help", "--packets", "--records"]),
        (("mtdb", "decode", "--format", "=", "j"), ["json"]),
        (("mtdb", "decode", "--format", "="), ["folded", "fxt", "html", "json", "pftrace", "speedscope", "text"]),
        (("mtdb", "run", "--engine", "=", ""), ["auto", "calls", "pt", "sample", "step"]),
        (("mtdb", "nonsense", "--"), ["--help"]),
    ],
)
def test_words(words, expected):
    assert complete(*words) == expected


def test_files(tmp_path):
    (tmp_path / "one.perf").touch()
    (tmp_path / "other.perf").touch()
    assert complete("mtdb", "decode", "on", cwd=tmp_path) == ["one.perf"]
    assert complete("mtdb", "decode", "--output", "=", "ot", cwd=tmp_path) == ["other.perf"]
