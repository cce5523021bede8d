# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that somebody has damaged: a clear word or a poorer answer, never a crash."""
import random
import re
import subprocess

import pytest

QUESTIONS = [("symbols",), ("info",), ("name", "ns::f"), ("line", "inlines.cpp", 1),
             ("line", "crash.c", 1)]


def ask(dump, path, addresses):
    """Everything that can be asked; returns whether the file could be opened."""
    ours = dump(path)
    questions = QUESTIONS + [(verb, hex(address)) for address in addresses
                             for verb in ("at", "span")]
    text = "".join("\t".join(map(str, question)) + "\n" for question in questions)
    done = subprocess.run(ours.command, input=text, text=True, capture_output=True, timeout=60,
                          errors="replace", check=False)
    assert done.returncode in (0, 1), (done.returncode, done.stderr[-2000:])
    if done.returncode == 1:
        assert str(path) in done.stderr
    return done.returncode == 0


def section_ranges(tool, path):
    """Offsets and sizes of the sections that are read, by name."""
    found = {}
    for line in tool("readelf", "-SW", path).splitlines():
        match = re.match(r" *\[ *\d+\] (\S+) +\w+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", line)
        if match and int(match[3], 16):
            found[match[1]] = int(match[2], 16), int(match[3], 16)
    return found


@pytest.fixture(params=["crash.c -gdwarf-4", "inlines.cpp -gdwarf-5", "crash.c -no-pie"],
                name="program")
def one_program(request, compile):
    source, flag = request.param.split()
    return compile(source, "-O2", flag)


def addresses_in(dump, path):
    found = [symbol.start for symbol in dump(path).symbols()]
    return found + [address + 7 for address in found] + [0, 1, (1 << 64) - 1, 1 << 63]


SECTIONS = [".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists", ".debug_ranges",
            ".debug_str", ".eh_frame", ".symtab", ".strtab", ".rela.plt", ".plt", ".dynsym",
            ".note.gnu.build-id"]


@pytest.mark.parametrize("section", SECTIONS)
def test_bytes_of_a_section_changed(dump, program, tool, tmp_path, section):
    ranges = section_ranges(tool, program)
    if section not in ranges:
        pytest.skip(f"no {section} in this program")
    offset, size = ranges[section]
    whole, addresses = program.read_bytes(), addresses_in(dump, program)[::3]
    chance = random.Random(section)
    for round_number in range(8):
        garbled = bytearray(whole)
        for _ in range(1 << round_number):
            garbled[offset + chance.randrange(size)] = chance.choice([0, 1, 0x7f, 0x80, 0xff,
                                                                      chance.randrange(256)])
        path = tmp_path / f"garbled{round_number}"
        path.write_bytes(garbled)
        ask(dump, path, addresses)


def test_headers_changed(dump, program, tmp_path):
    whole, addresses = program.read_bytes(), addresses_in(dump, program)[::9]
    chance = random.Random(1)
    headers = int.from_bytes(whole[0x28:0x30], "little")
    places = [*range(0x10, 0x40), *range(0x40, 0x240, 5),
              *(headers + chance.randrange(64 * 30) for _ in range(60))]
    for place in places:
        garbled = bytearray(whole)
        garbled[min(place, len(whole) - 1)] ^= 1 << chance.randrange(8)
        path = tmp_path / "garbled"
        path.write_bytes(garbled)
        ask(dump, path, addresses)


def test_cut_short(dump, program, tmp_path):
    whole = program.read_bytes()
    path = tmp_path / "short"
    for part in range(40):
        path.write_bytes(whole[: len(whole) * part // 40])
        ask(dump, path, [0x1000, 0x401000])


@pytest.mark.parametrize("size", [0, 1000, 5000])
def test_cut_short_while_it_is_open(dump, program, copy, size):
    """A mapped file would end the process by SIGBUS."""
    path = copy(program)
    with subprocess.Popen(dump(path).command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        process.stdin.write("info\n")
        process.stdin.flush()
        assert process.stdout.readline()
        with open(path, "r+b") as file:
            file.truncate(size)
        process.stdin.write("symbols\nat\t1200\nread\t1200\t64\nline\tcrash.c\t1\n")
        process.stdin.close()
        process.stdout.read()
        assert process.wait() == 0
