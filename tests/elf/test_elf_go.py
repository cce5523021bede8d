# SPDX-License-Identifier: GPL-3.0-or-later
"""A stripped Go program's own table, against the symbols and the DWARF of the same program."""
import re

import pytest

from tests import conftest
from tests.elf.conftest import SYMBOL

MODES = {"plain": [], "pie": ["-buildmode=pie"], "cgo": ["-ldflags=-linkmode=external"],
         "cgo-pie": ["-buildmode=pie", "-ldflags=-linkmode=external"]}
SOURCE = conftest.FIXTURES / "go_names.go"


@pytest.fixture(params=MODES)
def programs(request, go, tool, copy):
    """The same program with all that the linker puts into it, and without."""
    whole = go(f"names-{request.param}", *MODES[request.param], source="go_names.go")
    stripped = copy(whole)
    tool("strip", stripped)
    return whole, stripped


def functions(dump, path):
    return {symbol.start: symbol for symbol in dump(path).symbols() if symbol.kind == SYMBOL}


def is_same(name, full):
    """The table has "main.f[...]" where the symbol has "main.f[go.shape.int_0]", and symbols of
    assembly have the name of its calling convention."""
    full = full.removesuffix(".abi0")
    return name == re.sub(r"\[.*\]", "[...]", full)


def test_functions(programs, dump):
    whole, stripped = (functions(dump, program) for program in programs)
    named = {start: symbol for start, symbol in whole.items()
             if re.match(r"(main|runtime|fmt|strconv)\.", symbol.name) and
             symbol.name not in ("runtime.text", "runtime.etext")}
    assert len(named) > 800
    for start, symbol in named.items():
        assert is_same(stripped[start].name, symbol.name)
        assert stripped[start].end == symbol.end, symbol


def test_names(programs, dump):
    found = dump(programs[1])
    for name in ("main.(*T).Method", "main.T.Value", "main.main.func1", "main.apply[...]",
                 "main.(*pair[...]).get", "main.main"):
        assert len(found.find(name)) == 1, name
    assert not found.find("main.(*T).Nothing")


def test_lines(programs, dump):
    """Of every byte of the program's own functions, and of some of the runtime's."""
    whole, stripped = (dump(program) for program in programs)
    chosen = [symbol for symbol in whole.symbols()
              if symbol.name.startswith("main.") or symbol.name in ("runtime.gopark", "fmt.Println")]
    places = [address for symbol in chosen for address in range(symbol.start, symbol.end)]
    assert len(places) > 1000
    told = [frames[0] for frames in whole.at(places)]
    for place, by_dwarf, frames in zip(places, told, stripped.at(places)):
        if by_dwarf.file != "?":
            assert frames[0].file == by_dwarf.file.removeprefix("././"), hex(place)
            assert frames[0].line == by_dwarf.line, hex(place)


def test_places_of_a_line(programs, dump):
    whole, stripped = (dump(program) for program in programs)
    for text in ("// the call", "// the closure", "methods++"):
        line = conftest.line_of(SOURCE, text)
        places = stripped.line("go_names.go", line)
        assert {found for _, found in places} == {line}
        assert {address for address, _ in places} <= {
            address for symbol in whole.symbols() for address in range(symbol.start, symbol.end)
            if symbol.name.startswith("main.")}
    # A line without code means the next one.
    [(_, found)] = stripped.line("go_names.go", conftest.line_of(SOURCE, "methods++") - 1)
    assert found in (conftest.line_of(SOURCE, "methods++") - 1,
                     conftest.line_of(SOURCE, "methods++"))
    assert not stripped.line("another.go", 1)


def frame_rows(tool, program):
    """(address, bytes between the stack pointer and the caller's) of each row for the debugger."""
    text = tool("readelf", "--debug-dump=frames-interp", program)
    return [(int(address, 16), int(offset))
            for address, offset in re.findall(r"^([0-9a-f]{16}) rsp\+(\d+) ", text, re.M)]


def test_use_of_the_stack(programs, tool, dump):
    """By which stacks are walked, at each instruction that changes it."""
    whole, stripped = (dump(program) for program in programs)
    of_go = {address for symbol in whole.symbols() for address in range(symbol.start, symbol.end)
             if re.match(r"(main|runtime|fmt|strconv)\.", symbol.name)}
    rows = [row for row in frame_rows(tool, programs[0]) if row[0] in of_go]
    told = stripped.run([("use", hex(address)) for address, _ in rows])
    for (address, offset), answer in zip(rows, told):
        assert answer and int(answer[0][0], 16) == offset - 8, hex(address)
    assert len({offset for _, offset in rows}) > 20 and len(rows) > 2000


def test_info_line(go, run_mtdb):
    """At the prompt, with names quoted as GDB wants them."""
    program = go("names-bare", "-ldflags=-s -w", source="go_names.go")
    line = conftest.line_of(SOURCE, "methods++")  # it has no prologue
    done = run_mtdb("-batch", "-ex", "info line 'main.(*T).Method'", "-ex",
                    "info line main.(*T).Method", program)
    told = re.findall(rf'Line {line} of ".*/go_names.go" starts at address 0x\w+ '
                      r'<main\.\(\*T\)\.Method\+?\d*>', done.stdout)
    assert len(told) == 2, done.stdout + done.stderr


@pytest.mark.parametrize("name, callers", [("main.(*T).Method", ["main.main"]),
                                           ("main.T.Value", ["main.T.Value-fm", "main.main"])])
def test_backtrace_at_an_entry(go, run_mtdb, name, callers):
    """Where the frame pointer is the caller's yet, and for one more instruction."""
    program = go("names-bare", "-ldflags=-s -w", source="go_names.go")
    told = run_mtdb("-batch", "-ex", f"info line '{name}'", program).stdout
    entry = re.search(r"starts at address (0x\w+)", told)[1]
    done = run_mtdb("-batch", "-ex", f"break *{entry}", "-ex", "run", "-ex", "bt", "-ex", "stepi", "-ex",
                    "bt", program)
    names = re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) \(", done.stdout, re.M)
    at_entry = len(callers) + 1
    assert names[:at_entry] == [name, *callers], done.stdout
    assert names[-len(callers):] == callers, done.stdout
