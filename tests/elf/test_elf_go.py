# SPDX-License-Identifier: GPL-3.0-or-later
"""A stripped Go program's own table, against the symbols and the DWARF of the same program."""
import re
import subprocess

import pytest

from core_library import core_library
from tests import conftest
from tests.elf.conftest import ROOT, SYMBOL

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


@pytest.fixture(name="distances", scope="session")
def distances_of_program(build, compile):
    """distances(path) -> {address: how far above the stack pointer the frame's CFA is, or a word},
    {address: function}"""
    sanitizer = re.search(r"san-(\w+)", str(build))
    flags = [f"-fsanitize={sanitizer[1]}"] if sanitizer else []
    program = compile("cfa_dump.c", *flags, "-D_GNU_SOURCE", f"-I{ROOT}/core",
                      *core_library(build))

    def run(path):
        done = subprocess.run([program, path], text=True, capture_output=True, check=True)
        found, names = {}, {}
        for line in done.stdout.splitlines():
            name, start, length, distance = line.split("\t")
            for address in range(int(start, 16), int(start, 16) + int(length, 16)):
                found[address] = distance
                names[address] = name.removesuffix(".abi0")
        return found, names

    return run


def test_frames(programs, distances):
    """The table has the stack's depth where .debug_frame has it: at every byte of every function of
    Go's, but in those that change to another stack or are the outermost ones."""
    (whole, names), (stripped, _) = (distances(program) for program in programs)
    places = [address for address, name in names.items()
              if re.match(r"(main|runtime|fmt|strconv)\.", name) and address in stripped]
    assert len(places) > 100000
    assert {"8", "16", "32", "64"} < {stripped[place] for place in places}
    others = {place for place in places if stripped[place] != whole[place]}
    assert {stripped[place] for place in others} <= {"none", "outermost"}
    assert {"runtime.goexit", "runtime.mcall", "runtime.systemstack"} <= {
        names[place] for place in others}
    assert len(others) < len(places) / 100
    for place in others:  # but where such a function begins its depth is known
        if stripped[place] == "none":
            assert names.get(place - 1) == names[place]


def test_info_line(go, run_mtdb):
    """At the prompt, with names quoted as GDB wants them."""
    program = go("names-bare", "-ldflags=-s -w", source="go_names.go")
    line = conftest.line_of(SOURCE, "methods++")  # it has no prologue
    done = run_mtdb("-batch", "-ex", "info line 'main.(*T).Method'", "-ex",
                    "info line main.(*T).Method", program)
    told = re.findall(rf'Line {line} of ".*/go_names.go" starts at address 0x\w+ '
                      r'<main\.\(\*T\)\.Method\+?\d*>', done.stdout)
    assert len(told) == 2, done.stdout + done.stderr
