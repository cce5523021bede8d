# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and lines that people type, compared with what GDB makes of them."""
import re

import pytest

from tests.conftest import FIXTURES, line_of


@pytest.fixture(name="program")
def one_program(compile):
    return compile("inlines.cpp", "-O1")


@pytest.mark.parametrize("name, mangled", [
    ("main", "main"),
    ("ns::f", "_ZN2ns1fEi"),
    ("ns::f(int)", "_ZN2ns1fEi"),
    ("_ZN2ns1fEi", "_ZN2ns1fEi"),
    ("ns::counter::total", "_ZNK2ns7counter5totalEv"),
    ("ns::counter::total() const", "_ZNK2ns7counter5totalEv"),
    ("ns::scaled<double>", "_ZN2ns6scaledIdEET_S1_"),
    ("f", "_ZN2ns1fEi"),
    ("counter::total", "_ZNK2ns7counter5totalEv"),
    ("scaled", "_ZN2ns6scaledIdEET_S1_"),
])
def test_names(dump, tool, program, name, mangled):
    symbols = {words[2]: int(words[0], 16)
               for words in map(str.split, tool("nm", program).splitlines()) if len(words) == 3}
    assert symbols[mangled] in dump(program).find(name)


@pytest.mark.parametrize("name", ["", "n", "ns", "ns::", "ns::f(", "(int)", "operator",
                                  "main2", "::", "x" * 5000])
def test_names_that_are_none(dump, program, name):
    found = dump(program).find(name or "\v")
    assert found == []


def test_rust_names_have_no_hash(dump, compile):
    ours = dump(compile("inlines.rs", "-O"))
    assert len(ours.find("inlines::count")) == 1
    assert not [symbol for symbol in ours.symbols() if re.search("::h[0-9a-f]{16}$", symbol.name)]


def test_aliases_come_once(dump):
    found = dump("/lib/x86_64-linux-gnu/libc.so.6").find("memcmp")
    assert len(found) == len(set(found)) <= 2


@pytest.mark.parametrize("stripped", [False, True])
def test_functions_as_the_symbol_table_has_them(dump, compile, tool, tmp_path, stripped):
    library, bare = compile("inlines.cpp", "-O1", "-shared", "-fPIC"), tmp_path / "bare.so"
    symbols = [line.split() for line in tool("nm", "-D", library).splitlines()]
    if stripped:
        tool("strip", "-o", bare, library)
    ours = dump(bare if stripped else library)
    functions = {words[2]: int(words[0], 16) for words in symbols if words[-2] in "TW"
                 and len(words) == 3}
    assert "main" in functions and "_ZN2ns1fEi" in functions
    for name, address in functions.items():
        assert ours.function_symbol(name) == address
    others = [words[-1] for words in symbols if words[-2] in "UVDB"]
    assert others
    for name in [*others, "ns::f", "mai", "main2"]:
        assert ours.function_symbol(name.split("@")[0]) == 0


@pytest.mark.parametrize("optimize", ["-O0", "-O1"])
@pytest.mark.parametrize("text", ["return a * 3 + 1", "values.push_back", "words[word]++",
                                  "counter.add(argv[i])", "return 1;"])
def test_lines_have_gdb_s_places(dump, compile, tool, need, optimize, text):
    need("gdb")
    program = compile("inlines.cpp", optimize)
    line = line_of("inlines.cpp", text)
    found = dump(program).line("inlines.cpp", line)
    assert found and {row[1] for row in found} == {line}
    words = tool("gdb", "-nx", "-batch", "-ex", f"break inlines.cpp:{line}", "-ex",
                 "info breakpoints", program)
    other = re.search(r", line (\d+)\.", words)
    if other and int(other[1]) != line:
        pytest.skip(f"GDB takes line {other[1]} instead, although the line table has {line}")
    gdb = {int(address, 16) for address in re.findall(r"0x([0-9a-f]{16})", words)}
    gdb = gdb or {int(re.search(r"at 0x([0-9a-f]+)", words)[1], 16)}
    assert len(found) >= len(gdb)
    ours = sorted(row[0] for row in found)
    symbols = dump(program).symbols()
    # GDB steps over a prologue, so compare functions and not addresses.
    functions = {next(s.start for s in symbols if s.start <= address < s.end) for address in gdb}
    assert functions <= {next(s.start for s in symbols if s.start <= address < s.end)
                         for address in ours}


def test_a_line_without_code_is_the_next_that_has_some(dump, program):
    wanted = line_of("inlines.cpp", "int counter::total() const")
    ours = dump(program)
    before = ours.line("inlines.cpp", wanted - 1)
    assert before and before == ours.line("inlines.cpp", wanted)
    assert ours.line("inlines.cpp", 100000) == []


def test_files_match_at_a_slash(dump, program):
    ours, line = dump(program), line_of("inlines.cpp", "return a * 3 + 1")
    assert ours.line("fixtures/inlines.cpp", line) == ours.line("inlines.cpp", line)
    assert ours.line(str(FIXTURES / "inlines.cpp"), line) == ours.line("inlines.cpp", line)
    assert ours.line("nlines.cpp", line) == []
    assert ours.line("absent.cpp", line) == []
