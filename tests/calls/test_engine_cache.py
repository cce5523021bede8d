# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans are kept from run to run, and whatever lies in the cache, the program runs as it should."""
import os
import pathlib

import pytest

WORDS = ["python3", "-c", "print(sum(map(int, '123456')))"]


@pytest.fixture(name="trace")
def trace_python(need, run_mtdb, tmp_path):
    """trace(HOME=…) -> the plans in the cache, by name, with their times of change."""
    need("python3")

    def run(**environment):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("HOME", "XDG_CACHE_HOME")}
        done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.fxt", *WORDS,
                        env={**kept, **environment})
        assert (done.stdout, done.returncode) == ("21\n", 0), done.stderr
        return {path.name: path.stat() for path in tmp_path.rglob("plan-*")}

    return run


def test_plans_are_made_once(trace, tmp_path):
    first = trace(XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert first and (tmp_path / "cache" / "mtrace").is_dir()
    second = trace(XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert {name: stat.st_ino for name, stat in first.items()} == \
        {name: stat.st_ino for name, stat in second.items()}


def test_plans_hold_nothing_else(trace, tmp_path):
    """Whatever lay in memory before, the same plan is the same file."""
    kept = []
    for number in ("1", "2"):
        trace(XDG_CACHE_HOME=str(tmp_path / number), MALLOC_PERTURB_=number)
        kept.append({path.name: path.read_bytes()
                     for path in (tmp_path / number).rglob("plan-*")})
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
    before = trace(XDG_CACHE_HOME=str(tmp_path))
    for plan in tmp_path.glob("mtrace/plan-*"):
        garble(pathlib.Path(plan))
    after = trace(XDG_CACHE_HOME=str(tmp_path))
    assert {name: stat.st_size for name, stat in before.items()} == \
        {name: stat.st_size for name, stat in after.items()}
    assert all(before[name].st_ino != after[name].st_ino for name in before)


def test_the_cache_is_bounded(trace, tmp_path):
    folder = tmp_path / "mtrace"
    folder.mkdir()
    for number in range(10):
        old = folder / f"plan-{number:040x}"
        with open(old, "wb") as file:
            file.truncate(30 << 20)
        os.utime(old, (1000 + number, 1000 + number))
    plans = trace(XDG_CACHE_HOME=str(tmp_path))
    assert sum(stat.st_size for stat in plans.values()) <= 128 << 20
    assert f"plan-{9:040x}" in plans and f"plan-{0:040x}" not in plans
