# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make demo` runs: a crash in GDB, its last calls with file and line, and a timeline.  README
shows the same."""
import os
import re
import shlex
import subprocess

import pytest

import fxt
from conftest import BUILD, line_of, ROOT


def run_demo(build, **environment):
    return subprocess.run(["scripts/demo", build], cwd=ROOT, check=False, text=True,
                          env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


def linked(folder, *names):
    """A build directory of the test's own, since others may run the demo at the same time."""
    for name in names:
        (folder / name).symlink_to(BUILD / name)
    return folder


@pytest.fixture(name="demo", scope="module")
def demo_fixture(mtdb, need, tmp_path_factory):
    need("gcc")
    need("gdb")
    assert mtdb
    if not (BUILD / "mtrace.py").exists():
        pytest.skip("the plugin is not built: the headers of GDB's Python are missing "
                    "(package libpython3-dev)")
    return run_demo(linked(tmp_path_factory.mktemp("build"), "mtdb", "mtrace.py"))


def check_calls(text):
    """The chain of the crash, with its lines."""
    call, fault = line_of("crash.c", "sum_cents += price_of"), line_of("crash.c", "the bug")
    assert re.search(rf" open +sum_up(\(basket=.*\))? +crash\.c:{line_of('crash.c', 'sum_up(baskets')}$", text, re.M)
    assert re.search(rf' open +price_of(\(name="butter", count=2\))? +crash\.c:{call}$', text, re.M)
    assert re.search(rf" find_article +crash\.c:{line_of('crash.c', '= find_article')}$", text, re.M)
    assert re.search(rf"\*\*\* SIGSEGV.* in price_of .*crash\.c:{fault}$", text, re.M)


def check_timeline(text):
    path = re.search(r"^ +(/.*trace-1\.fxt)$", text, re.M)[1]
    (thread,) = fxt.read(path).threads.values()
    (signal,) = [one for one in thread.instants if one.name == "SIGSEGV"]
    around = [one.name for one in thread.slices()
              if one.begin <= signal.time and (one.end is None or one.end > signal.time)]
    assert around[-3:] == ["main", "sum_up", "price_of"]


def test_it_works_though_the_program_crashed(demo):
    assert demo.returncode == 0, demo.stdout
    assert "received signal SIGSEGV" in demo.stdout
    assert "https://ui.perfetto.dev" in demo.stdout
    check_calls(demo.stdout)
    check_timeline(demo.stdout)


def test_the_line_for_mtdb_does_the_same(demo):
    line = re.search(r"^ +(\S*mtdb run .*)$", demo.stdout, re.M)[1]
    done = subprocess.run(shlex.split(line), cwd=ROOT, check=False, text=True, capture_output=True)
    assert done.returncode == 139
    check_calls(done.stderr)
    assert ' price_of(name="butter", count=2) ' in done.stderr


def test_without_the_plugin(tmp_path, need, mtdb):
    need("gcc")
    assert mtdb
    done = run_demo(linked(tmp_path, "mtdb"))
    assert done.returncode == 0, done.stdout
    assert "there is no plugin for GDB here" in done.stdout
    check_calls(done.stdout)
    check_timeline(done.stdout)


def test_it_fails_when_nothing_is_recorded(tmp_path, need):
    need("gcc")
    (tmp_path / "mtdb").write_text("#!/bin/sh\nexit 125\n")
    (tmp_path / "mtdb").chmod(0o755)
    done = run_demo(tmp_path)
    assert done.returncode == 1
    assert "mtdb doctor" in done.stdout


def normal(line):
    """Without what another machine, or another run, has different."""
    line = re.sub(r"0x[0-9a-f]+", "ADDRESS", line)
    line = re.sub(r'\d+ "crash"', 'N "crash"', line)
    line = re.sub(r"~?-?\d+(\.\d+)? (s|ms|µs|ns)\b", "TIME", line)
    line = re.sub(r"\S*(tests/fixtures/|/mtrace.py)", r"\1", line)
    line = re.sub(r"__strcmp_\w+", "__strcmp_OF_THIS_CPU", line)
    return " ".join(line.split())


def test_readme_shows_the_demo(demo):
    """Each line of its first example, in this order."""
    assert "func@" not in demo.stdout, "the C library has no names here: scripts/install-deps demo"
    example = re.search(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    shown = [normal(line) for line in example.splitlines() if line]
    assert len(shown) > 15
    told = iter([normal(line) for line in demo.stdout.splitlines()])
    for line in shown:
        assert line in told, f"README shows what the demo does not: {line}"
