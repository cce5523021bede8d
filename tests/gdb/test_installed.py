# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make install` leaves loads in all the ways in which GDB loads such things."""
import os
import pathlib
import subprocess

import pytest

from conftest import ROOT

SESSION = ["-ex", "mtrace start", "-ex", "run fault"]


def install(build, prefix, root=""):
    """What the installer printed."""
    return subprocess.run(["scripts/install", build], cwd=ROOT, text=True, capture_output=True,
                          check=True, env={**os.environ, "DESTDIR": str(root),
                                           "PREFIX": str(prefix)}).stdout


@pytest.fixture(name="prefix")
def prefix_fixture(plugin, tmp_path):
    prefix = tmp_path / "prefix"
    install(plugin.parent, prefix)
    return prefix


@pytest.fixture(name="records")
def records_fixture(need, tmp_path):
    """records(words…): a GDB started so, at another user's home, records."""
    gdb = need("gdb")

    def run(*words):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        done = subprocess.run([gdb, "-batch", *words], cwd=home, text=True, capture_output=True,
                              check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, "HOME": str(home)})
        assert "[mtrace: the calls up to SIGSEGV are in trace-1.fxt" in done.stdout, done.stderr
        assert done.stderr == ""

    return run


def test_by_the_line_that_is_printed(plugin, records, compile, tmp_path):
    printed = install(plugin.parent, tmp_path / "prefix")
    (line,) = [line for line in printed.splitlines() if line.startswith("source ")]
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gdbinit").write_text(line + "\n")
    records(*SESSION, compile("deep.c", "-O1"))


def test_the_line_leaves_the_staging_directory_out(plugin, tmp_path):
    printed = install(plugin.parent, "/usr", tmp_path)
    assert "source /usr/share/mtrace/mtrace.py" in printed.splitlines()
    assert (tmp_path / "usr/share/mtrace/mtrace.py").exists()


def test_from_gdbs_data_directory(prefix, records, need, compile, tmp_path):
    """A link in python/gdb/command is loaded into each GDB."""
    place = subprocess.run([need("gdb"), "-nx", "-batch", "-ex", "python print(gdb.PYTHONDIR)"],
                           text=True, capture_output=True, check=True).stdout.strip()
    commands = tmp_path / "data/python/gdb/command"
    commands.mkdir(parents=True)
    for folder in (pathlib.Path(place).parent, pathlib.Path(place), pathlib.Path(place) / "gdb",
                   pathlib.Path(place) / "gdb/command"):
        below = tmp_path / "data" / folder.relative_to(pathlib.Path(place).parent)
        for path in folder.iterdir():
            if not (below / path.name).exists() and path.name != "__pycache__":
                (below / path.name).symlink_to(path)
    (commands / "mtrace.py").symlink_to(prefix / "share/mtrace/mtrace.py")
    records("-nx", f"--data-directory={tmp_path}/data", *SESSION, compile("deep.c", "-O1"))


def test_beside_one_program(prefix, records, compile, tmp_path):
    """GDB auto-loads PROGRAM-gdb.py."""
    program = tmp_path / "deep"
    program.write_bytes(compile("deep.c", "-O1").read_bytes())
    program.chmod(0o755)
    (tmp_path / "deep-gdb.py").symlink_to(prefix / "share/mtrace/mtrace.py")
    records("-nx", "-iex", "set auto-load safe-path /", *SESSION, program)
