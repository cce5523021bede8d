# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that dies three calls deep: its timeline ends with main, a, b and c open, the line of
the fault, and the signal."""
import re
import subprocess

import pytest

import fxt
from conftest import FIXTURES, line_of


def check_death(run, signal, number, names, source):
    """The program died of the signal, in the last of the functions, where the source says."""
    assert run.status == 128 + number
    assert run.open_names()[:len(names)] == names
    calls = run.main.open_at_end()
    assert all(piece.args["file"].endswith(source) for piece in calls if piece.name in names)
    death, = run.instants(signal)
    assert death.args["number"] == number
    end, = run.instants("exit")
    assert end.args["signal"] == signal
    return death


def check_fault(run, names, source):
    """The same of SIGSEGV, with the line and the address 0."""
    death = check_death(run, "SIGSEGV", 11, names, source)
    assert run.open_names() == names
    assert death.parent.name == names[-1]
    assert (death.args["address"], death.args["function"]) == (0, names[-1])
    assert death.args["file"].endswith(source)
    assert death.args["line"] == line_of(source, "the fault")


C_NAMES = ["main", "a", "b", "c"]


@pytest.mark.parametrize("level, kind", [("-O2", "-pie"), ("-O0", "-no-pie"), ("-O0", "-static"),
                                         ("-O2", "-static-pie")])
def test_c(traced, compile, level, kind):
    run = traced(compile("deep.c", level, "-fPIE", kind), "fault")
    check_fault(run, C_NAMES, "deep.c")
    calls = [piece.args["call"] for piece in run.main.open_at_end()[-3:]]
    texts = ["return a(", "return b(", "return c("]
    assert calls == [f"{FIXTURES}/deep.c:{line_of('deep.c', text)}" for text in texts]


def test_the_fault_is_where_it_happened(run_mtdb, compile, tmp_path):
    """Behind the last call, by what was computed since then: not when mtdb came to look."""
    program = compile("crash_late.c", "-O1")
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.fxt", "--", program)
    assert done.returncode == 139, done.stderr
    thread, = fxt.read(tmp_path / "x.fxt").threads.values()
    call, = thread.find("compute")
    fault, end = (one for one in thread.instants if one.name in ("SIGSEGV", "exit"))
    assert fault.args["time_estimated"] and call.begin < fault.time < end.time
    # What came before took the thread about as long.
    assert fault.time - call.begin > int(done.stdout) / 4


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_cpp(traced, compile, level):
    run = traced(compile("deep.cpp", level, "-static"))
    names = ["main", "shop::a(int)", "shop::b(shop::Shelf<int>&, std::__cxx11::basic_string<char, "
             "std::char_traits<char>, std::allocator<char> > const&)",
             "shop::Shelf<int>::c(std::__cxx11::basic_string<char, std::char_traits<char>, "
             "std::allocator<char> > const&)"]
    check_fault(run, names, "deep.cpp")


@pytest.mark.parametrize("level", ["0", "2"])
def test_rust(traced, compile, level):
    flags = ["-C", f"opt-level={level}", "-C", "target-feature=+crt-static"]
    run = traced(compile("deep.rs", *flags))
    assert run.status == 139
    names = [piece.name for piece in run.main.open_at_end()]
    assert names[names.index("deep::main"):][:4] == ["deep::main", "deep::a", "deep::b",
                                                   "deep::Shelf::c"]
    first, last = run.instants("SIGSEGV")  # Rust's own handler lets it happen again
    assert first.args["pc"] == last.args["pc"]
    assert level == "0" or first.args["function"] == "deep::Shelf::c"


@pytest.fixture(name="stripped")
def stripped_program(compile, need, tmp_path):
    """A program without symbols, and the file that has them."""
    objcopy = need("objcopy", "binutils")
    program, debug = tmp_path / "deep", tmp_path / "deep.debug"
    source = compile("deep.c", "-O1", "-static")
    subprocess.run([objcopy, "--only-keep-debug", source, debug], check=True)
    subprocess.run([objcopy, "--strip-all", f"--add-gnu-debuglink={debug}", source, program],
                   check=True)
    return program, debug


def test_separate_debug_file(traced, stripped):
    check_fault(traced(stripped[0], "fault"), C_NAMES, "deep.c")


def test_stripped(traced, stripped):
    """Without its debug file a program has functions still, and the place of the fault."""
    program, debug = stripped
    debug.unlink()
    run = traced(program, "fault")
    assert run.status == 139
    death, = run.instants("SIGSEGV")
    assert death.args["function"].startswith("func@0x")
    assert len(run.main.open_at_end()) >= 5


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_abort(traced, compile, level):
    run = traced(compile("deep.c", level, "-static"), "abort")
    check_death(run, "SIGABRT", 6, C_NAMES, "deep.c")
    assert run.open_names()[4] == "abort"


@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_stack_overflow(traced, compile, level, run_mtdb):
    run = traced(compile("deep.c", level, "-static"), "overflow")
    death = check_death(run, "SIGSEGV", 11, C_NAMES, "deep.c")
    assert death.args["function"] == "dig"
    names = run.open_names()
    assert set(names[4:]) == {"dig"} and len(names) > 400
    deeper, = run.main.find("[deeper calls]")
    assert deeper.args["deepest"] > 1000
    text = run_mtdb("history", "-n", "3", run.recording).stdout
    assert "SIGSEGV" in text and "dig" in text and len(text.splitlines()) < 60


def test_crash_text_shows_the_last_calls(traced, compile):
    run = traced(compile("deep.c", "-O1", "-static"), "fault", options=["--history=4"])
    lines = run.stderr.splitlines()
    assert any("was killed by SIGSEGV" in line for line in lines)
    place = f"deep.c:{line_of('deep.c', 'the fault')}"
    assert any("SIGSEGV, address 0x0 in c" in line and line.endswith(place) for line in lines)
    opens = [re.match(r"\w+", line.split()[3])[0] for line in lines if " open " in line]
    assert opens[-4:] == C_NAMES
    assert fxt.read(run.output).instants()
