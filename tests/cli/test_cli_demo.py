# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make demo` runs: a crash, its last calls with file and line, and a timeline."""
import re
import subprocess

import pytest

import fxt
from conftest import BUILD, FIXTURES, ROOT


@pytest.fixture(name="demo", scope="module")
def demo_fixture(mtdb, need):
    need("gcc")
    assert mtdb
    return subprocess.run(["scripts/demo", BUILD], cwd=ROOT, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


def line_of(text):
    lines = (FIXTURES / "crash.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_it_works_though_the_program_crashed(demo):
    assert demo.returncode == 0, demo.stdout
    assert "was killed by SIGSEGV" in demo.stdout
    assert "https://ui.perfetto.dev" in demo.stdout


def test_the_last_calls_have_their_lines(demo):
    call = line_of("sum_cents += price_of")
    fault = line_of("the bug")
    assert re.search(rf" open +sum_up +crash\.c:{line_of('sum_up(baskets')}$", demo.stdout, re.M)
    assert re.search(rf" open +price_of +crash\.c:{call}$", demo.stdout, re.M)
    assert re.search(rf" find_article +crash\.c:{line_of('= find_article')}$", demo.stdout, re.M)
    assert re.search(rf"SIGSEGV.* in price_of .*crash\.c:{fault}$", demo.stdout, re.M)


def test_the_timeline_is_where_it_says(demo):
    path = re.search(r"^ +(/.*crash\.fxt)$", demo.stdout, re.M)[1]
    (thread,) = fxt.read(path).threads.values()
    (signal,) = [one for one in thread.instants if one.name == "SIGSEGV"]
    around = [one.name for one in thread.slices()
              if one.begin <= signal.time and (one.end is None or one.end > signal.time)]
    assert around[-3:] == ["main", "sum_up", "price_of"]


def test_it_fails_when_mtdb_does(tmp_path, need):
    need("gcc")
    (tmp_path / "mtdb").write_text("#!/bin/sh\nexit 125\n")
    (tmp_path / "mtdb").chmod(0o755)
    done = subprocess.run(["scripts/demo", tmp_path], cwd=ROOT, check=False, capture_output=True,
                          text=True)
    assert done.returncode == 1
    assert "mtdb doctor" in done.stderr
