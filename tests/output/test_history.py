# SPDX-License-Identifier: GPL-3.0-or-later
"""The history for people."""
import pathlib
import re

from output.script import (
    END_LOST,
    END_UNWOUND,
    EXIT,
    GAP,
    GAP_INSTANT,
    HANDLER,
    INFERRED,
    INLINED,
    SIGNAL,
    SIGSEGV,
    SYSCALL,
    TAIL_CALL,
    TIME_ESTIMATED,
    TRIGGER,
    UNTRACED,
    Script,
)

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "output-history.txt"
WINDOW = 8192  # entries that text.c keeps until their length is known


def crash():
    """All that a history can tell, in one program's last millisecond."""
    src = "/home/user/project/src"
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    script = Script()
    script.thread(1230, 1230, "crashme", "crashme")
    at = 10**9
    script.segment(at, at + 812_400, snapshot=1)
    script.begin(at, "_start", flags=INFERRED)
    script.begin(at, "main", flags=INFERRED, source=(f"{src}/main.c", 30))
    script.begin(at + 2290, "parse_line", call=(f"{src}/main.c", 42))
    script.call(at + 2400, "skip_space", at + 2420, kind=INLINED, call=(f"{src}/parse.c", 12))
    script.begin(at + 2420, "strlen@plt", flags=TIME_ESTIMATED, call=(f"{src}/parse.c", 14))
    script.call(at + 2430, "__strlen_avx2", at + 2500, flags=TAIL_CALL | TIME_ESTIMATED,
                module=libc)
    script.end(at + 2500)
    script.end(at + 3490)
    script.begin(at + 4000, "read", call=(f"{src}/main.c", 43), module=libc)
    script.call(at + 4020, None, at + 304_020, kind=SYSCALL, told="[syscall]")
    script.end(at + 304_100)
    script.call(at + 310_000, None, at + 310_950, kind=UNTRACED, told="[untraced]")
    script.call(at + 400_000, None, at + 500_000, kind=GAP, cause=1, lost=12345, told="[lost")
    script.instant(at + 500_000, GAP_INSTANT, 1, 12345, told="[lost")
    script.begin(at + 600_000, "std::__detail::_Map_base<std::__cxx11::basic_string<char, std::"
                 "char_traits<char>, std::allocator<char> >, int>::operator[](std::string const&)",
                 call=(f"{src}/main.c", 50))
    script.end(at + 600_300, END_UNWOUND)
    script.begin(at + 650_000, "lookup", call=(f"{src}/main.c", 51))
    script.end(at + 660_000, END_LOST)
    script.instant(at + 670_000, SIGNAL, 10, address=0x401200, told="SIGUSR1")
    script.call(at + 670_100, "on_signal", at + 671_000, flags=HANDLER)
    script.instant(at + 680_000, TRIGGER, 0, 2, address=0x401210, function="process",
                   source=(f"{src}/process.c", 5), told="trigger")
    script.begin(at + 700_000, "process", call=(f"{src}/main.c", 52))
    script.begin(at + 700_100, "a", call=(f"{src}/process.c", 8))
    script.begin(at + 700_200, "b", call=(f"{src}/process.c", 18))
    script.begin(at + 712_400, "c", call=(f"{src}/process.c", 28))
    script.instant(at + 812_400, SIGNAL, SIGSEGV, 0, address=0x401136, function="c",
                   source=(f"{src}/process.c", 35), told="SIGSEGV")
    script.segment_end()
    script.segment(at + 900_000, at + 900_010)
    script.instant(at + 900_010, EXIT, 0, SIGSEGV, told="exit")
    script.segment_end()
    script.thread(1230, 1234, "worker", "crashme")
    script.segment(at, at + 10)
    script.call(at, "work", at + 10)
    script.segment_end()
    return script


def test_golden(writer):
    # The names of gaps are told elsewhere.
    text = re.sub(r"\[lost[^]]*\]", "[lost]", writer.history(crash(), command="crashme --now"))
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_lines_fit(writer):
    for line in writer.history(crash()).splitlines():
        # The place of an instant has its directories, however long they are.
        assert len(line.split("/home")[0]) <= 110, line


def test_colours_change_nothing_else(writer):
    coloured = writer.history(crash(), 0, 1)
    assert "\033[1;31m" in coloured
    plain = re.sub(r"\033\[[0-9;]*m", "", coloured)
    trim = [line.rstrip() for line in plain.splitlines()]
    assert trim == writer.history(crash()).splitlines()
    assert "\033" not in writer.history(crash())


def functions(text):
    """(depth, function) of every line of a slice."""
    lines = (re.match(r" *~?[-+]?\d+\.\d{3} µs.{11}  ( *)(\S+)", line) for line in text.split("\n"))
    return [(len(match[1]) // 2, match[2]) for match in lines if match]


def test_last_calls_have_their_callers(writer):
    assert functions(writer.history(crash(), 3)) == [
        (0, "_start"), (1, "main"), (2, "process"), (3, "a"), (4, "b"), (5, "c"), (6, "***"),
        (0, "***"), (0, "work")]


def test_last_calls_after_their_caller_has_returned(writer):
    script = Script()
    script.thread(1, 1)
    script.segment(0, 1000)
    script.begin(0, "main")
    script.begin(1, "old")
    script.call(2, "older", 3)
    script.end(4)
    script.begin(5, "caller")
    for time in range(10, 110, 10):
        script.call(time, f"leaf{time}", time + 5)
    script.end(200)
    script.call(300, "last", 310)
    script.end(400)
    script.call(500, "other", 600)
    script.segment_end()
    text = writer.history(script, 4)
    assert functions(text) == [(0, "main"), (1, "caller"), (2, "leaf90"), (2, "leaf100"),
                               (1, "last"), (0, "other")]
    assert re.search(r" 195 ns +caller", text)
    assert re.search(r" 400 ns +main", text)
    text = writer.history(script, 2)
    assert functions(text) == [(0, "main"), (1, "last"), (0, "other")]
    assert functions(writer.history(script, 1)) == [(0, "other")]
    assert functions(writer.history(script, 100)) == functions(writer.history(script))


def test_last_calls_of_a_thread_that_comes_again(writer):
    script = Script()
    for turn in range(3):
        for tid in (1, 2):
            script.thread(1, tid)
            script.segment(turn * 100, turn * 100 + 90)
            script.begin(turn * 100, f"main{turn}")
            script.call(turn * 100 + 1, f"leaf{turn}", turn * 100 + 2)
            script.end(turn * 100 + 90)
            script.segment_end()
    text = writer.history(script, 3)
    wanted = [(0, "main1"), (1, "leaf1"), (0, "main2"), (1, "leaf2")]
    assert functions(text) == wanted * 2
    assert text.count("Thread ") == 2


def test_long_calls_are_ended_by_lines_of_their_own(writer):
    script = Script()
    script.thread(1, 1)
    script.segment(0, 10**6)
    script.begin(0, "main")
    script.begin(5, "loop")
    for time in range(10, 10 + WINDOW):
        script.call(time, "leaf", time)
    script.end(500_000)
    script.segment_end()
    text = writer.history(script)
    told = functions(text)
    assert told[:3] == [(0, "main"), (1, "loop"), (2, "leaf")]
    assert told[-1] == (1, "└") and len(told) == WINDOW + 3
    assert re.search(r"-1000.000 µs +… +main\n", text)
    assert re.search(r"-999.995 µs +… +loop +x\n", text)
    assert re.search(r"-500.000 µs +500 µs +└ loop\n", text)
    assert text.endswith("(1 of the calls marked … did not return)\n")


def test_deep_calls_keep_the_columns(writer):
    script = Script()
    script.thread(1, 1)
    script.segment(0, 100)
    for depth in range(100):
        script.begin(depth, f"function{depth}", call=("/src/a.c", depth + 1))
    script.segment_end()
    text = writer.history(script)
    assert all(len(line) <= 120 for line in text.splitlines())
    assert "+79 function99" in text
    assert functions(writer.history(script, 1))[-1] == (20, "+79")


def test_durations(writer):
    script = Script()
    script.thread(1, 1)
    script.segment(0, 10**12)
    wanted = {0: "0 ns", 999: "999 ns", 1000: "1.00 µs", 1234: "1.23 µs", 9999: "10.0 µs",
              12_345: "12.3 µs", 99_999: "100 µs", 999_499: "999 µs", 999_999: "1.00 ms",
              1_000_000: "1.00 ms", 123_456_789: "123 ms", 5_000_000_000: "5.00 s",
              100_000_000_000: "100 s"}
    for duration in wanted:
        script.call(0, f"f{duration}_", duration)
    script.segment_end()
    text = writer.history(script)
    for duration, told in wanted.items():
        assert re.search(rf" {told} +f{duration}_", text), told


def test_names_cannot_speak_to_the_terminal(writer):
    script = Script()
    script.thread(1, 1, "a\nb", "\033[31m")
    script.segment(0, 10)
    script.call(0, "f\033[2J\rg\x7f", 5, call=("/a\nb.c", 3))
    script.segment_end()
    text = writer.history(script, command="x\ny")
    assert "\033" not in text and "\r" not in text and "\x7f" not in text
    assert "f?[2J?g?" in text and "a?b.c:3" in text
    assert len(text.splitlines()) == 5
