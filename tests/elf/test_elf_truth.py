# SPDX-License-Identifier: GPL-3.0-or-later
"""What binutils, elfutils and LLVM say about the same files."""
import bisect
import os
import re

import pytest

from tests.elf.conftest import COLD, FDE, PLT, RESOLVER, SYMBOL

PROGRAMS = {
    "c": ("crash.c", "-O0"),
    "c-O2": ("crash.c", "-O2"),
    "c-clang": ("crash.c", "-O2", {"compiler": "clang"}),
    "c-static": ("crash.c", "-O2", "-static"),
    "c-no-pie": ("crash.c", "-O1", "-no-pie"),
    "c++-O0": ("inlines.cpp", "-O0"),
    "c++-O2": ("inlines.cpp", "-O2"),
    "c++-dwarf4": ("inlines.cpp", "-O2", "-gdwarf-4"),
    "c++-no-pie": ("inlines.cpp", "-O2", "-no-pie"),
    "c++-ibt": ("inlines.cpp", "-O2", "-fcf-protection=full", "-Wl,-z,ibtplt"),
    "c++-now": ("inlines.cpp", "-O2", "-Wl,-z,now"),
    "c++-lazy": ("inlines.cpp", "-O2", "-Wl,-z,lazy"),
    "c++-sections": ("inlines.cpp", "-O2", "-ffunction-sections", "-Wl,--gc-sections"),
    "c++-lto": ("inlines.cpp", "-O2", "-flto"),
    "c++-types": ("inlines.cpp", "-O2", "-fdebug-types-section", "-gz"),
    "c++-split": ("inlines.cpp", "-O2", "-gsplit-dwarf"),
    "c++-split4": ("inlines.cpp", "-O2", "-gdwarf-4", "-gsplit-dwarf"),
    "c++-lld": ("inlines.cpp", "-O2", "-fuse-ld=lld"),
    "c++-gold": ("inlines.cpp", "-O2", "-fuse-ld=gold"),
    "c++-clang": ("inlines.cpp", "-O2", {"compiler": "clang++"}),
    "c++-clang4": ("inlines.cpp", "-O1", "-gdwarf-4", {"compiler": "clang++"}),
    "rust": ("inlines.rs",),
    "rust-O": ("inlines.rs", "-O"),
    "rust-v0": ("inlines.rs", "-O", "-Csymbol-mangling-version=v0"),
}

SYSTEM = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2",
          "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
          "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "/usr/bin/gdb", "/usr/bin/perl"]


@pytest.fixture(params=PROGRAMS, name="program")
def one_program(request, compile, need):
    words = PROGRAMS[request.param]
    for linker in ("lld", "gold"):
        if f"-fuse-ld={linker}" in words:
            need(f"ld.{linker}", {"lld": "lld", "gold": "binutils"}[linker])
    options = words[-1] if isinstance(words[-1], dict) else {}
    return compile(*(word for word in words if isinstance(word, str)), **options)


@pytest.fixture(params=SYSTEM, name="system_file")
def one_system_file(request):
    if not os.path.exists(request.param):
        pytest.skip(f"no {os.path.basename(request.param)} here")
    return request.param


def readelf_functions(tool, path):
    """{start: [(size, name)]} of the functions that have code."""
    found = {}
    for line in tool("readelf", "-sW", path).splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] in ("FUNC", "IFUNC") and words[6] not in ("UND", "ABS"):
            size = int(words[2], 0)
            found.setdefault(int(words[1], 16), []).append((size, words[7].split("@")[0]))
    return found


def holder(symbols, address):
    """The symbol that holds an address."""
    behind = bisect.bisect(symbols, address, key=lambda symbol: symbol.start)
    symbol = symbols[behind - 1] if behind else None
    return symbol if symbol and address < symbol.end else None


def check_index(symbols):
    for before, after in zip(symbols, symbols[1:]):
        assert before.end <= after.start, "sorted and disjoint"
    for symbol in symbols:
        assert symbol.start < symbol.end
        assert symbol.name
        assert bool(symbol.raw) == (symbol.kind != FDE)


def check_functions(tool, symbols, path):
    by_start = {symbol.start: symbol for symbol in symbols}
    following = dict(zip(by_start, [*list(by_start)[1:], 1 << 64]))
    truth = readelf_functions(tool, path)
    missing = []
    for start, names in truth.items():
        symbol = by_start.get(start)
        if symbol is None:
            missing.append(start)
            continue
        assert symbol.raw in [name for _, name in names], hex(start)
        size = max(size for size, _ in names)
        assert symbol.end >= min(start + size, following[start]), symbol
    # A function inside another has no entry of its own.
    assert all(holder(symbols, start) for start in missing)
    assert len(missing) <= len(truth) // 500, [hex(start) for start in missing]


def check_plt(tool, symbols, path):
    text = tool("objdump", "-d", "-j.plt", "-j.plt.sec", "-j.plt.got", path)
    stubs = dict(re.findall(r"^([0-9a-f]{16}) <(.*?)@plt>:$", text, re.M))
    ours = {symbol.start: symbol.raw for symbol in symbols if symbol.kind == PLT}
    for start, name in stubs.items():
        ours_name = ours.get(int(start, 16))
        assert ours_name, (start, name)
        if name.startswith("*ABS*"):
            continue  # we know more: the name of the resolver
        assert ours_name == re.sub("@.*", "", name) + "@plt"
    return len(stubs)


def test_index_of_programs(program, dump, tool):
    symbols = dump(program).symbols()
    check_index(symbols)
    check_functions(tool, symbols, program)
    check_plt(tool, symbols, program)


def test_index_of_system_files(system_file, dump, tool):
    symbols = dump(system_file).symbols()
    check_index(symbols)
    check_functions(tool, symbols, system_file)
    assert check_plt(tool, symbols, system_file) > 0 or "ld-linux" in system_file


def fde_ranges(tool, path):
    text = tool("readelf", "--debug-dump=frames", path)
    return [(int(start, 16), int(end, 16))
            for start, end in re.findall(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)", text)]


def test_stripped_programs_go_by_eh_frame(program, dump, tool, copy):
    stripped = copy(program)
    tool("strip", "--strip-all", stripped)
    symbols = dump(stripped).symbols()
    check_index(symbols)
    starts = {symbol.start for symbol in symbols}
    ranges = fde_ranges(tool, stripped)
    assert ranges
    for start, end in ranges:
        if start == end:
            continue
        assert start in starts, hex(start)
        symbol = holder(symbols, start)
        if symbol.kind == FDE:
            assert symbol.end == end
            assert symbol.name == f"func@{start:#x} in {stripped.name}"


def test_cold_parts_are_flagged(dump, tool, compile, copy):
    program = compile("inlines.cpp", "-O2")
    with_names = dump(program).symbols()
    cold = [symbol for symbol in with_names if symbol.flags & COLD]
    assert cold and all(".cold" in symbol.raw for symbol in cold)
    assert [symbol for symbol in with_names if ".cold" in symbol.raw] == cold
    stripped = copy(program)
    tool("strip", "--strip-all", stripped)
    without = {symbol.start: symbol for symbol in dump(stripped).symbols()}
    # Without a name only those can be told whose function had pushed something by then.
    assert any(without[symbol.start].flags & COLD for symbol in cold)
    for symbol in with_names:
        if symbol.kind == SYMBOL and not symbol.flags & COLD and symbol.start in without:
            assert not without[symbol.start].flags & COLD, symbol


PARTS = """
	.text
	.globl _start, f
_start:	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	call f
	hlt
	.cfi_endproc
f:	.cfi_startproc
	ret
	.cfi_endproc
pads:	.cfi_startproc
	nop
	.cfi_def_cfa_offset 48
	.cfi_offset %rbx, -32
	call f
	hlt
	.cfi_endproc
"""


def test_a_part_of_landing_pads_alone_is_flagged(dump, tool, compile, tmp_path):
    """It begins with a nop, at which its CFA is like a function's."""
    source = tmp_path / "parts.S"
    source.write_text(PARTS)
    program = compile(source, "-nostdlib", "-static")
    starts = {symbol.name: symbol.start for symbol in dump(program).symbols()}
    stripped = tmp_path / "stripped"
    tool("strip", "--strip-all", "-o", stripped, program)
    cold = [symbol.start for symbol in dump(stripped).symbols() if symbol.flags & COLD]
    assert cold == [starts["pads"]]


LOADER = "/lib64/ld-linux-x86-64.so.2"


def test_resolver_is_flagged(dump):
    symbols = dump(LOADER).symbols()
    resolvers = [symbol for symbol in symbols if symbol.flags & RESOLVER]
    assert not [symbol for symbol in resolvers if symbol.flags & COLD]
    names = [symbol.raw for symbol in resolvers if symbol.raw]
    assert all(name.startswith("_dl_runtime_") for name in names)
    # Without its symbols the loader has them in the same places.
    without = dump(LOADER, "-d", "/nonexistent").symbols()
    starts = {symbol.start for symbol in without if symbol.flags & RESOLVER}
    assert len(starts) >= 3
    assert starts == {symbol.start for symbol in resolvers}


def test_signal_return_is_flagged(dump, compile, tool, copy):
    program = compile("crash.c", "-O2", "-static")
    [symbol] = [symbol for symbol in dump(program).symbols() if symbol.raw == "__restore_rt"]
    assert symbol.flags & 1
    stripped = copy(program)
    tool("strip", "--strip-all", stripped)
    flagged = [each for each in dump(stripped).symbols() if each.flags & 1]
    assert any(each.start <= symbol.start < each.end for each in flagged)
    assert sum(each.end - each.start for each in flagged) < 32


def code_addresses(symbols, limit=4000):
    """Addresses all over the functions, starts and last bytes among them."""
    found = set()
    for symbol in symbols:
        if symbol.kind == SYMBOL:
            found.update(range(symbol.start, symbol.end, 3))
            found.add(symbol.end - 1)
    found = sorted(found)
    return found[:: len(found) // limit + 1]


def addr2line_chains(tool, path, addresses):
    """[[(name, file, line)]], innermost first."""
    text = tool("addr2line", "-afiC", "-e", path, input="\n".join(map(hex, addresses)))
    chains = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            chains.append([])
            continue
        place = next(lines).split(" (discriminator")[0]
        file, number = place.rsplit(":", 1)
        chains[-1].append((line, file, int(number) if number.isdigit() else 0))
    return chains


def llvm_chains(tool, path, addresses):
    text = tool("llvm-symbolizer", "--inlines", "--obj=" + str(path), "--output-style=LLVM",
                input="\n".join(map(hex, addresses)) + "\n")
    chains = []
    for answer in text.strip().split("\n\n"):
        lines = answer.splitlines()
        chain = []
        for name, place in zip(lines[::2], lines[1::2]):
            file, line, _ = place.rsplit(":", 2)
            chain.append((name, file, int(line)))
        chains.append(chain)
    return chains


def places(chain):
    """What a chain says about the source: files by their last component, and lines."""
    return [(os.path.basename(frame[1]), frame[2]) for frame in chain if frame[2]]


def ours_as_chain(frames):
    """at's answer, where a frame's place belongs to the one inside it."""
    return [(frame.name, frame.file, frame.line) for frame in frames]


def is_told(mine, chain):
    """Where code is of no line (line 0) we go on with the one before, as GDB does; they do not."""
    return mine == places(chain) or (not chain[0][2] and mine[1:] == places(chain))


def test_lines_and_inlines_are_addr2line_s(program, dump, tool, need):
    need("llvm-symbolizer", "llvm")
    ours = dump(program)
    addresses = code_addresses(ours.symbols())
    mismatches = []
    for address, mine, gnu, llvm in zip(addresses, ours.at(addresses),
                                        addr2line_chains(tool, program, addresses),
                                        llvm_chains(tool, program, addresses)):
        mine = places(ours_as_chain(mine))
        if not is_told(mine, gnu) and not is_told(mine, llvm):
            mismatches.append((hex(address), mine, places(gnu), places(llvm)))
    assert len(mismatches) <= len(addresses) // 1000, "\n".join(map(str, mismatches[:5]))


def test_partial_units_of_dwz(dump, compile, tool, copy, need, tmp_path):
    """dwz moves what units share into partial units, and what files share into a third file."""
    need("dwz")
    whole = compile("inlines.cpp", "-O2", "-gdwarf-4")
    one, two = copy(whole, "one"), copy(whole, "two")
    tool("dwz", "-m", tmp_path / "shared", one, two)
    assert (tmp_path / "shared").exists()
    addresses = code_addresses(dump(whole).symbols(), limit=1500)
    before, after = dump(whole).at(addresses), dump(one).at(addresses)
    assert [[frame[1:] for frame in chain] for chain in after] == \
           [[frame[1:] for frame in chain] for chain in before]
    assert [[last_word(frame.name) for frame in chain] for chain in after] == \
           [[last_word(frame.name) for frame in chain] for chain in before]


def test_names_of_inlined_functions_are_llvm_s(program, dump, tool, need):
    need("llvm-symbolizer", "llvm")
    ours = dump(program)
    addresses = code_addresses(ours.symbols(), limit=1500)
    mismatches = []
    for address, mine, llvm in zip(addresses, ours.at(addresses),
                                   llvm_chains(tool, program, addresses)):
        mine = [frame.name for frame in mine[1:]]
        llvm = [name for name, _, _ in llvm[:-1]]
        mine, llvm = [last_word(name) for name in mine], [last_word(name) for name in llvm]
        # What LLVM cannot demangle says nothing.
        if len(mine) != len(llvm) or any(
                a != b for a, b in zip(mine, llvm) if not b.startswith("_Z")):
            mismatches.append((hex(address), mine, llvm))
    assert len(mismatches) <= len(addresses) // 200, "\n".join(map(str, mismatches[:5]))


def last_word(name):
    """f of `int ns::f<T>(…) const`: the demanglers write the rest in their own ways."""
    name = re.sub(r"\[clone.*|\.llvm\..*|::h[0-9a-f]{16}$", "", name)
    for sign, word in (("()", "CALL"), ("<", "LESS"), ("->", "ARROW")):
        name = name.replace("operator" + sign, "operator" + word)
    name = name.replace("$LT$", "<").replace("$GT$", ">")
    name = name.replace("_$u7b$", "{").replace("$u7b$", "{").replace("$u7d$", "}")
    while True:
        shorter = re.sub(r"<[^<>]*>|\([^()]*\)|\[[^][]*\]|\{[^{}]*\}", "", name)
        if shorter == name:
            break
        name = shorter
    return name.replace(" const", "").strip().split("::")[-1].split(" ")[-1]


def test_spans_cover_and_chains_hold_throughout(program, dump):
    ours = dump(program)
    addresses = code_addresses(ours.symbols(), limit=800)
    for address, span in zip(addresses, ours.spans(addresses)):
        assert span[0] <= address < span[1]
    edges = sorted({edge for span in ours.spans(addresses) for edge in (span[0], span[1] - 1)
                    if 0 < edge < 1 << 62})
    spans = dict(zip(edges, ours.spans(edges)))
    chains = dict(zip(edges, ours.at(edges)))
    for first, last in zip(edges, edges[1:]):
        assert spans[first][1] <= last or spans[first] == spans[last]
        if spans[first] == spans[last]:
            assert chains[first][1:] == chains[last][1:]
    for edge in edges:
        assert spans[edge][2] == len(chains[edge]) - 1


def test_bytes_are_objdump_s(program, dump, tool):
    ours = dump(program)
    symbol = next(symbol for symbol in ours.symbols() if symbol.raw == "main")
    text = tool("objdump", "-d", "--insn-width=16", f"--start-address={symbol.start}",
                f"--stop-address={symbol.start + 16}", program)
    rows = re.findall(r"^ *[0-9a-f]+:\t((?:[0-9a-f]{2} )+)", text, re.M)
    truth = bytes.fromhex("".join(rows))
    assert len(truth) >= 8
    assert ours.read(symbol.start, len(truth)) == truth
