# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of formats, tables and disks."""
import contextlib
import gzip
import os
import shutil
import subprocess
import tempfile

import pytest

import fxt
from output import chrome
from output.script import EXIT, SIGNAL, SIGSEGV, Script

pytestmark = pytest.mark.sanitize

CALL_LEVELS = 510  # of output/levels.h


def one_thread(begin=0, end=10**9, snapshot=0):
    """A script that has begun."""
    script = Script()
    script.thread(10, 11, "worker", "program")
    script.segment(begin, end, snapshot)
    return script


def nest(script, depth, time=0):
    """So many calls, each in the last."""
    for level in range(depth):
        script.begin(time + level, f"f{level}")


def unnest(script, depth, time, flags=0):
    """Return from them."""
    for level in range(depth):
        script.end(time + level, flags)


def test_more_names_than_places(writer, tmp_path):
    script = one_thread()
    for turn in range(2):
        for number in range(40_000):
            time = turn * 40_000 + number
            script.call(time, f"name{number}", time, call=("/src/a.c", number + 1))
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    slices = trace.slices()
    assert [piece.name for piece in slices] == [f"name{n}" for n in range(40_000)] * 2
    assert slices[-1].args["call"] == "/src/a.c:40000"
    assert trace.records["string"] > 2 * 40_000


def test_a_call_again_after_its_strings_were_driven_out(writer, tmp_path):
    script = one_thread()
    script.call(0, "often", 0, call=("/src/often.c", 7))
    for time in range(33_000):
        script.instant(time, SIGNAL, 10, source=(f"/src/{time}.c", 1), told="SIGUSR1")
    script.call(33_000, "often", 33_000, call=("/src/often.c", 7))
    script.segment_end()
    first, last = fxt.read(writer.write(script, tmp_path / "a.fxt")).slices()
    assert last.name == first.name == "often"
    assert last.args == first.args and first.args["call"] == "/src/often.c:7"


def test_few_names_are_told_once(writer, tmp_path):
    script = one_thread()
    for time in range(20_000):
        script.call(time, f"name{time % 5000}", time)
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    assert 5000 < trace.records["string"] < 5100


def test_the_same_slices_give_the_same_file(writer, tmp_path):
    script = one_thread()
    for time in range(40_000):
        script.call(time, f"name{time}", time)
    script.segment_end()
    first = writer.write(script, tmp_path / "a.fxt").read_bytes()
    assert writer.write(script, tmp_path / "a.fxt").read_bytes() == first


def more_names_than_places():
    """A script with more texts than a format's table holds."""
    script = one_thread()
    for number in range(70_000):
        script.call(number, f"name{number % 32_700}", number, call=("/a.c", number + 1),
                    module=f"/lib{number % 977}", source=(f"/b{number % 991}.c", 1))
    script.segment_end()
    return script


def test_a_record_does_not_drive_out_its_own_strings(writer, tmp_path):
    """A place that is taken again while the event that means it is being written."""
    trace = fxt.read(writer.write(more_names_than_places(), tmp_path / "a.fxt"))
    for number, piece in enumerate(trace.slices()):
        assert piece.name == f"name{number % 32_700}" and piece.category == "call"
        assert piece.args["call"] == f"/a.c:{number + 1}"
        assert piece.args["module"] == f"/lib{number % 977}"
        assert piece.args["file"] == f"/b{number % 991}.c"


def test_more_threads_than_places(writer, tmp_path):
    script = Script()
    for turn in range(2):
        for tid in range(1, 601):
            script.thread(10 + tid % 7, tid, f"thread{tid}", "program")
            script.segment(turn * 100, turn * 100 + 50)
            script.begin(turn * 100, f"work{tid}")
            script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    assert len(trace.threads) == 600
    for (_, tid), thread in trace.threads.items():
        assert thread.name == f"thread{tid}"
        first, second = thread.slices()
        assert (first.name, first.end, second.end) == (f"work{tid}", 50, None)
    assert trace.records["kernel_object"] == 607  # each name once


def test_few_threads_keep_their_places(writer, tmp_path):
    script = Script()
    for turn in range(100):
        for tid in (1, 2):
            script.thread(10, tid)
            script.segment(turn, turn)
            script.call(turn, "f", turn)
            script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    assert trace.records["thread"] == 2


@pytest.mark.parametrize("depth", [CALL_LEVELS, CALL_LEVELS + 1, 512, 513, 600])
def test_deep_calls_that_return(writer, tmp_path, depth):
    script = one_thread()
    nest(script, depth)
    unnest(script, depth, 1000)
    script.call(5000, "after", 5001)
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    by_name = {piece.name: piece for piece in trace.slices()}
    for level in range(min(depth, CALL_LEVELS)):
        piece = by_name[f"f{level}"]
        assert (piece.begin, piece.end, piece.depth) == (level, 1000 + depth - 1 - level, level)
    assert by_name["after"].depth == 0
    left_out = max(0, depth - CALL_LEVELS)
    assert ("[deeper calls]" in by_name) == (left_out > 0)
    if left_out:
        deeper = by_name["[deeper calls]"]
        assert deeper.args == {"calls_left_out": left_out, "deepest": depth}
        assert (deeper.begin, deeper.end) == (CALL_LEVELS, 1000 + left_out - 1)


def test_many_deep_calls_are_one_slice(writer, tmp_path):
    script = one_thread()
    nest(script, CALL_LEVELS)
    for time in range(1000, 2000, 10):
        script.call(time, "leaf", time + 5)
    script.instant(3000, SIGNAL, 12, told="SIGUSR2")
    script.call(4000, "leaf", 4005)
    unnest(script, CALL_LEVELS, 5000)
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    deeper = [(piece.begin, piece.end, piece.args["calls_left_out"])
              for piece in trace.slices() if piece.name == "[deeper calls]"]
    assert deeper == [(1000, 1995, 100), (4000, 4005, 1)]
    assert trace.instants()[0].depth == CALL_LEVELS


def test_endless_recursion_shows_its_signal(writer, tmp_path):
    script = one_thread(0, 100_000, snapshot=1)
    nest(script, 50_000)
    script.instant(60_000, SIGNAL, SIGSEGV, 0x7FFC_0000, address=0x401000,
                   source=("/src/a.c", 7), function="f", told="SIGSEGV")
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    [thread] = trace.threads.values()
    signal, snapshot = thread.instants
    assert signal.name == "SIGSEGV" and signal.depth == CALL_LEVELS + 1
    assert signal.args["address"] == 0x7FFC_0000 and signal.args["line"] == 7
    assert snapshot.name == "snapshot" and snapshot.args == {"number": 1}
    assert len(thread.open_at_end()) == CALL_LEVELS
    assert signal.parent.args["calls_left_out"] == 50_000 - CALL_LEVELS

    with open(writer.write(script, tmp_path / "a.json"), "rb") as file:
        whole, _ = chrome.parse(file.read())
    assert len(whole.slices()) == 50_000

    text = writer.history(script, 5)
    assert "SIGSEGV" in text and "calls in between are not shown" in text
    assert len(text.splitlines()) < 60


def test_siblings_without_length(writer, tmp_path):
    script = one_thread()
    script.begin(5, "outer")
    for number in range(100):
        script.call(5, f"leaf{number}", 5)
    script.end(5)
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    outer, *leaves = trace.slices()
    assert [piece.name for piece in leaves] == [f"leaf{number}" for number in range(100)]
    assert all(piece.parent is outer and piece.begin == piece.end == 5 for piece in leaves)


def test_long_names_are_cut(writer, tmp_path):
    script = one_thread()
    for name in ("n" * 40_000, "é" * 20_000, b"\xff" * 32_000):
        script.call(0, name, 0, call=("/" + "d" * 40_000 + ".c", 4_000_000_000),
                    source=("ü" * 30_000, 3))
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    names = [piece.name for piece in trace.slices()]
    assert names == ["n" * 32_000, "é" * 16_000, "\ufffd" * 10_666]
    piece = trace.slices()[0]
    assert piece.args["call"].endswith("d:4000000000") and len(piece.args["call"]) == 32_000
    assert piece.args["file"] == "ü" * 16_000
    with open(writer.write(script, tmp_path / "a.json"), "rb") as file:
        chrome.parse(file.read())
    assert max(map(len, writer.history(script).splitlines())) < 200


def test_names_of_threads_may_be_missing_or_empty(writer, tmp_path):
    script = Script()
    script.thread(10, 11)
    script.thread(10, 12, "", "")
    script.thread(10, 13, "n" * 1000, b"\xff" * 1000)
    script.segment(0, 1)
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    assert trace.threads[10, 13].name == "n" * 255
    assert trace.processes[10].name == "\ufffd" * 85


def test_no_threads(writer, tmp_path):
    for file_format in ("fxt", "json", "txt"):
        writer.write(Script(), tmp_path / f"a.{file_format}")
    assert fxt.read(tmp_path / "a.fxt").threads == {}
    trace, _ = chrome.parse((tmp_path / "a.json").read_bytes())
    assert trace.threads == {}
    assert (tmp_path / "a.txt").read_bytes() == b""


def test_exits(writer, tmp_path):
    script = one_thread()
    script.instant(1, EXIT, 0, 3 << 8, told="exit")
    script.instant(2, EXIT, 0, SIGSEGV, told="exit")
    script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    assert [one.args for one in trace.instants()] == [{"exit_status": 3}, {"signal": "SIGSEGV"}]


@pytest.mark.parametrize("ending", ["fxt", "json", "txt"])
def test_gzip(writer, tmp_path, ending):
    script = one_thread()
    for time in range(2000):
        script.call(time, "function", time)
    script.segment_end()
    plain = writer.write(script, tmp_path / f"a.{ending}").read_bytes()
    packed = writer.write(script, tmp_path / f"a.{ending}.gz").read_bytes()
    assert len(packed) < len(plain) / 5
    assert gzip.decompress(packed) == plain
    if ending == "fxt":
        assert len(fxt.read(tmp_path / "a.fxt.gz").slices()) == 2000


@pytest.mark.parametrize("count", [0, 2000, 100000])  # less than the buffers hold, and more
def test_zstd(writer, need, tmp_path, count):
    script = one_thread()
    for time in range(count):
        script.call(time, "function", time)
    script.segment_end()
    plain = writer.write(script, tmp_path / "a.fxt").read_bytes()
    packed = writer.write(script, tmp_path / "a.fxt.zst")
    assert count == 0 or packed.stat().st_size < len(plain) / 5
    unpacked = subprocess.run([need("zstd"), "-dc", packed], capture_output=True, check=True).stdout
    assert unpacked == plain


@pytest.mark.parametrize("name, file_format, wanted", [
    ("a", "-", "fxt"), ("a.txt", "-", "text"), ("a.json.gz", "-", "json"), ("a.fxt", "text", "text"),
    ("a.perf", "-", "fxt"), ("atxt", "-", "fxt"),
])
def test_choice_of_format(writer, tmp_path, name, file_format, wanted):
    script = one_thread()
    script.call(1, "f", 2)
    script.segment_end()
    data = writer.write(script, tmp_path / name, file_format).read_bytes()
    data = gzip.decompress(data) if name.endswith(".gz") else data
    heads = {"fxt": b"\x10\0\4FxT\x16\0", "text": b"Thread 11", "json": b"{"}
    assert data.startswith(heads[wanted])


def test_no_such_format(writer, tmp_path):
    done = writer.run(Script(), tmp_path / "a", "xml")
    assert done.returncode == 1
    assert b'unknown format "xml"' in done.stderr and b"fxt, pftrace, text, speedscope, json, html, folded" in done.stderr
    assert not list(tmp_path.iterdir())


def long_script():
    """More than a buffer holds."""
    script = one_thread()
    for time in range(20_000):
        script.call(time, f"function{time}", time)
    script.segment_end()
    return script


@pytest.mark.parametrize("file_format", ["fxt", "text", "json"])
def test_full_device(writer, file_format):
    done = writer.run(long_script(), "/dev/full", file_format)
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr


@pytest.mark.parametrize("file_format", ["fxt", "text", "json"])
def test_standard_output_that_is_full(make_trace, file_format):
    script = one_thread()
    script.call(1, "f", 2)
    script.segment_end()
    with open("/dev/full", "wb") as full:
        done = subprocess.run([make_trace, "-", file_format, "0", "0", "-"],
                              input=script.text().encode(), stdout=full, stderr=subprocess.PIPE,
                              check=False)
    assert done.returncode == 1
    assert b"standard output" in done.stderr and b"No space left" in done.stderr


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 64 KiB."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", ["a.fxt", "a.txt", "a.json", "a.json.gz", "a.fxt.zst"])
def test_full_disk_leaves_nothing(writer, tmp_path, name):
    with small_disk(tmp_path / "disk") as disk:
        (disk / name).write_text("what was there before")
        done = writer.run(long_script(), disk / name)
        assert done.returncode == 1
        assert b"No space left on device" in done.stderr and b"free some space" in done.stderr
        assert (disk / name).read_text() == "what was there before"
        assert len(list(disk.iterdir())) == 1


def test_directory_that_is_missing(writer, tmp_path):
    done = writer.run(Script(), tmp_path / "no" / "a.fxt")
    assert done.returncode == 1
    assert b"its directory must exist" in done.stderr


def test_directory_that_is_not_ours(make_trace, tmp_path):
    nobody = {} if os.geteuid() else {"user": 65534, "group": 65534, "extra_groups": []}
    with tempfile.TemporaryDirectory(prefix="mtrace-") as program:
        # Where nobody finds it, whoever owns the build directory.
        os.chmod(program, 0o755)
        shutil.copy(make_trace, program)
        tmp_path.chmod(0o555)
        done = subprocess.run([f"{program}/make_trace", tmp_path / "a.fxt", "-", "0", "0", "-"],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, **nobody)
    assert done.returncode == 1
    assert b"Permission denied" in done.stderr
    assert b"choose a directory that you may write to" in done.stderr


def test_output_that_breaks_off_leaves_nothing(writer, tmp_path):
    script = one_thread().text() + "nonsense\n"
    for name in ("a.fxt", "a.txt", "a.json", "a.fxt.gz", "a.fxt.zst"):
        done = writer.run(script, tmp_path / name)
        assert done.returncode == 1
    assert not list(tmp_path.iterdir())


def peak_kilobytes(make_trace, count, name, file_format):
    """Of a child that gets so many calls, generated as they go."""
    block = "".join(f"begin\t0\t0\t0\t1\t2\t%2Fa.c\t{n}\t0\t0\tf{n}\t-\t-\t0\nend\t0\t0\n"
                    for n in range(1000)).encode()
    with subprocess.Popen([make_trace, name, file_format, "0", "0", "-"],
                          stdin=subprocess.PIPE) as child:
        child.stdin.write(b"thread\t1\t1\t-\t-\nsegment_begin\t0\t0\t0\t0\nbegin\t0\t0\t0\n")
        for _ in range(count // 1000):
            child.stdin.write(block)
        child.stdin.write(b"end\t0\t1\nsegment_end\n")
        child.stdin.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_maxrss


@pytest.mark.parametrize("file_format", ["fxt", "text", "json"])
def test_memory_does_not_grow(make_trace, file_format):
    if "san-" in os.environ.get("MTRACE_BUILD", ""):
        pytest.skip("sanitizers keep what was freed")
    small = peak_kilobytes(make_trace, 20_000, "/dev/null", file_format)
    large = peak_kilobytes(make_trace, 400_000, "/dev/null", file_format)
    assert large < small + 2048


def test_open_ends_of_earlier_segments_are_closed(writer, tmp_path):
    script = Script()
    for begin in (0, 1000, 2000):
        script.thread(10, 11)
        script.segment(begin, begin + 100)
        script.begin(begin, "main")
        script.begin(begin + 1, "crash")
        script.segment_end()
        script.thread(10, 12)
        script.segment(begin, begin + 100)
        script.segment_end()
    trace = fxt.read(writer.write(script, tmp_path / "a.fxt"))
    slices = trace.threads[10, 11].slices()
    assert [(piece.depth, piece.end) for piece in slices] == [
        (0, 100), (1, 100), (0, 1100), (1, 1100), (0, None), (1, None)]
