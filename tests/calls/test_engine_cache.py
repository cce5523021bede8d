# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans and images of trampolines are kept from run to run, and whatever lies in the cache, the
program runs as it should."""
import os
import subprocess

import pytest

WORDS = ["python3", "-c", "print(sum(map(int, '123456')))"]


def files_in(folder):
    return [path for kind in ("plan-*", "image-*", "gs-*") for path in folder.rglob(kind)]


@pytest.fixture(name="trace")
def trace_python(need, run_mtdb, tmp_path):
    """trace(HOME=…) -> the files in the cache, by name, with their status."""
    need("python3")

    def run(*options, **environment):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("HOME", "XDG_CACHE_HOME")}
        done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.fxt", *options, *WORDS,
                        env={**kept, **environment})
        assert (done.stdout, done.returncode) == ("21\n", 0), done.stderr
        return {path.name: path.stat() for path in files_in(tmp_path)}

    return run


def test_all_is_made_once(trace, tmp_path):
    first = trace(XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert {name.split("-")[0] for name in first} == {"plan", "image"}
    assert (tmp_path / "cache" / "mtrace").is_dir()
    second = trace(XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert {name: stat.st_ino for name, stat in first.items()} == \
        {name: stat.st_ino for name, stat in second.items()}


def test_files_hold_nothing_else(trace, tmp_path):
    """Whatever lay in memory before, and wherever the program did, the same is the same file."""
    kept = []
    for number in ("1", "2"):
        trace(XDG_CACHE_HOME=str(tmp_path / number), MALLOC_PERTURB_=number)
        kept.append({path.name: path.read_bytes()
                     for path in files_in(tmp_path / number)})
    assert kept[0] and kept[0] == kept[1]


def test_home(trace, tmp_path):
    assert trace(HOME=str(tmp_path))
    assert (tmp_path / ".cache" / "mtrace").is_dir()


def test_no_home(trace):
    assert not trace()
    assert not trace(HOME="/nonexistent")
    assert not trace(XDG_CACHE_HOME="not/absolute")


@pytest.mark.parametrize("garble", [
    lambda plan: plan.write_bytes(b""),
    lambda plan: plan.write_bytes(os.urandom(plan.stat().st_size)),
    lambda plan: plan.write_bytes(plan.read_bytes()[:-100] + bytes(100)),
    lambda plan: plan.chmod(0o666),
], ids=["empty", "random", "end", "open"])
def test_garbage_is_replaced(trace, tmp_path, garble):
    trace(XDG_CACHE_HOME=str(tmp_path))
    before = {path: (path.read_bytes(), path.stat().st_mode) for path in files_in(tmp_path)}
    for path in before:
        garble(path)
    trace(XDG_CACHE_HOME=str(tmp_path))
    assert before == {path: (path.read_bytes(), path.stat().st_mode)
                      for path in files_in(tmp_path)}


def test_files_that_are_not_recorded(trace, tmp_path):
    """Of them it is kept whether they use the GS register; whatever lies there, that is found."""
    before = trace("--modules", "none", XDG_CACHE_HOME=str(tmp_path))
    kept = [path for path in files_in(tmp_path) if path.name.startswith("gs-")]
    assert kept and not [name for name in before if name.startswith("image-")]
    assert {name: stat.st_ino for name, stat in before.items()} == \
        {name: stat.st_ino for name, stat in trace("--modules", "none",
                                                   XDG_CACHE_HOME=str(tmp_path)).items()}
    bytes_before = {path: path.read_bytes() for path in kept}
    for path in kept:
        path.write_bytes(bytes_before[path][:-8] + os.urandom(8))
    trace("--modules", "none", XDG_CACHE_HOME=str(tmp_path))
    assert bytes_before == {path: path.read_bytes() for path in kept}


def test_the_cache_is_bounded(trace, tmp_path):
    folder = tmp_path / "mtrace"
    folder.mkdir()
    for number in range(10):
        old = folder / f"plan-{number:040x}"
        with open(old, "wb") as file:
            file.truncate(120 << 20)
        os.utime(old, (1000 + number, 1000 + number))
    plans = trace(XDG_CACHE_HOME=str(tmp_path))
    assert sum(stat.st_size for stat in plans.values()) <= 512 << 20
    assert f"plan-{9:040x}" in plans and f"plan-{0:040x}" not in plans


def test_another_way_to_record_has_images_of_its_own(trace, tmp_path):
    """And neither takes the other's place."""
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    first = trace(**cache)
    both = trace("--timestamps", "full", **cache)
    assert len(both) > len(first)
    assert {name: stat.st_ino for name, stat in trace(**cache).items()} == \
        {name: stat.st_ino for name, stat in both.items()}


def test_a_stripped_program_is_another(compile, need, run_mtdb, tmp_path, monkeypatch):
    """It has the same build ID and the same code, but nothing tells where functions begin."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program, stripped = compile("calls_privileged.c", "-O1"), tmp_path / "stripped"
    subprocess.run([need("objcopy"), "--strip-all", "-R", ".eh_frame", "-R", ".eh_frame_hdr",
                    program, stripped], check=True)
    for path, is_known in (stripped, False), (program, True), (stripped, False):
        done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "x.txt", path)
        assert done.returncode == 7, done.stderr
        assert ("fib" in (tmp_path / "x.txt").read_text()) == is_known
        assert ("neither symbols nor" in done.stderr) != is_known
