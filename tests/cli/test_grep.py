# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb grep: the calls of a program that makes known ones, and what is no pattern and no recording."""
import json
import re

import pytest

SLEPT_NS = 20_000_000
COLOURS = ["RED", "GREEN", "BLUE"]
NAMES = ["tea", "butter"]


@pytest.fixture(name="recorded", scope="module")
def recorded_fixture(compile, run_mtdb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("grep")
    program = compile("grep.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    done = run_mtdb("run", "-e", "calls", "--timestamps=full", "--args=price_of", "--returns=price_of", "-r",
                    folder / "x.perf", "-o", folder / "x.fxt", "--", program)
    assert done.returncode == 0, done.stderr
    return folder / "x.perf"


@pytest.fixture(name="grep")
def grep_fixture(run_mtdb, recorded):
    def run(*words):
        done = run_mtdb("grep", "--json", *words[:-1], recorded, words[-1])
        if done.returncode:
            assert json.loads(done.stdout) == [] and done.stderr.startswith("mtdb: "), done.stderr
            return []
        found = json.loads(done.stdout)
        if any(word in str(words) for word in ("slowest", "first", "last", "around")):
            return found
        return sorted(found, key=lambda call: (call["tid"], call["time_ns"]))
    return run


def counts(found):
    return [int(re.match(r"count=(-?\d+)", call["arguments"])[1]) for call in found]


ALL = [*range(30), *range(0, -6, -1)]


@pytest.mark.parametrize("pattern, fits", [
    ("price_of", lambda count, name, colour: True),
    ("price*", lambda count, name, colour: True),
    ("price_of(count > 3)", lambda count, name, colour: count > 3),
    ("price_of (count*2 == 6 || count < -3)", lambda count, name, colour: count == 3 or count < -3),
    ("price_of(colour == RED && count >= 9)", lambda count, name, colour: colour == "RED" and count >= 9),
    ("price_of(BLUE!=colour)", lambda count, name, colour: colour != "BLUE"),
    ('price_of($_streq(name, "butter"))', lambda count, name, colour: name == "butter"),
    ('price_of($_regex(name, "bu.*r$"))', lambda count, name, colour: name == "butter"),
    ("price_of($_ret < 0)", lambda count, name, colour: count % 5 == 0 if count >= 0 else True),
    ("price_of($_ret == count)", lambda count, name, colour: count == -1 or count % 5 - 1 == count and count >= 0),
    ("price_of > 10ms", lambda count, name, colour: count == 17),
    ("price_of(count > 15) < 10ms", lambda count, name, colour: count > 15 and count != 17),
])
def test_values(grep, pattern, fits):
    def values(index, count):
        return (count, NAMES[count & 1], COLOURS[count % 3]) if index < 30 else (count, "other", "BLUE")
    def returned(count):
        return abs(count) % 5 * (-1 if count < 0 else 1) - 1
    wanted = [count for index, count in enumerate(ALL) if fits(*values(index, count))]
    if "$_ret == count" in pattern:
        wanted = [count for count in ALL if returned(count) == count]
    assert counts(grep(pattern)) == wanted


def test_paths_threads_and_times(grep, run_mtdb, recorded):
    found = grep("price_of")
    assert {tuple(call["path"][-2:]) for call in found} == {("handle", "price_of"), ("other", "price_of")}
    assert [call["path"][-3] for call in found[:30]] == ["main"] * 30
    assert all(call["call_file"].endswith("/grep.c") for call in found)
    slow, = [call for call in found if "count=17," in call["arguments"]]
    assert slow["duration_ns"] >= SLEPT_NS and slow["result"] == "1" and slow["begin_seen"] and slow["end_seen"]
    tid = found[-1]["tid"]
    assert counts(grep("-t", tid, "price_of")) == ALL[30:]
    text = run_mtdb("grep", recorded, "price_of(count == 17)").stdout
    assert re.fullmatch(r" +-[\d.]+ [mµ]?s +[\d.]+ m?s  \S+ \(\d+\)  (?:\S+ > )*main > handle > "
                        r'price_of\(count=17, name="butter", colour=BLUE\) = 1  \(grep.c:\d+\)\n', text), text


def test_the_best_so_many(grep):
    found = grep("price_of")
    slowest = grep("--slowest=5", "price_of")
    durations = sorted((call["duration_ns"] for call in found), reverse=True)
    assert [call["duration_ns"] for call in slowest] == durations[:5] and counts(slowest)[0] == 17
    assert counts(grep("--first=3", "price_of(count > 4)")) == [5, 6, 7]
    assert counts(grep("--last=3", "price_of(count > 4)")) == [27, 28, 29]
    assert counts(grep("--last=2", "price_of")) == [-4, -5], "of all threads"
    assert len(grep("--first=100", "price_of")) == len(ALL)


def test_times(grep):
    slow, = grep("price_of(count == 17)")
    within = slow["before_end_ns"] - SLEPT_NS // 2
    tid = str(slow["tid"])
    near = counts(grep("-t", tid, f"--around=-{within}ns", "price_of"))
    assert 17 in near and near == list(range(near[0], near[0] + 10))
    assert counts(grep(f"--from={within}ns", f"--to={within}ns", "price_of")) == [17]
    assert counts(grep(f"--to={within}ns", "price_of")) == list(range(18))
    assert counts(grep("--from", f"{within}ns", "price_of(count > 0)")) == list(range(17, 30))


def test_what_is_not_known(run_mtdb, recorded):
    done = run_mtdb("grep", recorded, "price_of(cuont > 3)")
    assert (done.returncode, done.stdout) == (1, "") and '"cuont" was not recorded' in done.stderr
    done = run_mtdb("grep", recorded, "handle(count > 3)")
    assert done.returncode == 1 and "of none of 30 calls it is known" in done.stderr
    done = run_mtdb("grep", recorded, "price_of(count > 300)")
    assert done.returncode == 1 and "none of 36 calls fits" in done.stderr
    done = run_mtdb("grep", recorded, "nosuch")
    assert done.returncode == 1 and 'contains no call of "nosuch"' in done.stderr
    done = run_mtdb("grep", recorded, "*(count == 5)")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1 and "it is not known" in done.stderr


@pytest.mark.parametrize("words, said", [
    (["price_of(count >)"], "is no expression"), (["price_of(f(count))"], "no functions can be called"),
    (["price_of > 5"], "5"), ([""], "no function is named"), (["--first=1", "--last=1", "f"], "use one of"),
    (["--around=1ms", "--last=1", "f"], "--around"), (["--first=0", "f"], "number of calls"),
    (["--from=1ms", "--to=2ms", "f"], "later"), (["-t", "0", "f"], "thread id"), ([], "grep"),
    (["price_of(count = 3)"], "is no expression"),
])
def test_wrong_words(run_mtdb, recorded, words, said):
    done = run_mtdb("grep", *words[:-1], recorded, *words[-1:])
    assert done.returncode == 2 and said in done.stderr, done.stderr


@pytest.mark.sanitize
def test_what_is_no_whole_recording(run_mtdb, recorded, tmp_path):
    whole = recorded.read_bytes()
    cut = tmp_path / "cut.perf"
    for size in (0, 7, 100, len(whole) // 3, len(whole) * 2 // 3, len(whole) - 1):
        cut.write_bytes(whole[:size])
        done = run_mtdb("grep", cut, "price_of(count > 3)")
        assert done.returncode in (0, 1) and done.stderr.startswith("mtdb: "), size
    cut.write_bytes(b"\x7fELF" * 1000)
    done = run_mtdb("grep", cut, "f")
    assert (done.returncode, done.stdout) == (1, "") and "is not a recording" in done.stderr
