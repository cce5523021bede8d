# SPDX-License-Identifier: GPL-3.0-or-later
"""Of debug information is read what is asked for, and it tells the same as all of it does."""
import hashlib
import os
import random
import re
import tempfile

import pytest

UNITS = 8
FILL = 200  # functions that make a unit several pages large

UNIT = """
static inline __attribute__((always_inline)) int inner_{unit}(int a)
{{
    return a * a + {unit};
}}
__attribute__((used)) int first_{unit}(int a)
{{
    a += inner_{unit}(a);
    return a;
}}
"""

FILLER = """
__attribute__((used)) int fill_{unit}_{number}(int a)
{{
    for (int i = 0; i < a; i++)
        a ^= inner_{unit}(a + i);
    return a;
}}
"""

APART = {
    "5": ["-gdwarf-5"],
    "4": ["-gdwarf-4"],
    "3": ["-gdwarf-3"],
    "2": ["-gdwarf-2"],
    "5-of-64-bits": ["-gdwarf-5", "-gdwarf64"],
    "4-of-64-bits": ["-gdwarf-4", "-gdwarf64"],
    "macros": ["-g3"],
    "clang": ["-gdwarf-5", {"compiler": "clang"}],
    "clang-4": ["-gdwarf-4", {"compiler": "clang"}],
}
# Units refer to each other, or have to be inflated.
TOGETHER = {
    "lto": ["-flto"],
    "compressed": ["-gz"],
}


def write_units(folder):
    """Under the digest of what they say, since other processes may write the same now."""
    texts = []
    for unit in range(UNITS):
        text = UNIT.format(unit=unit)
        text += "".join(FILLER.format(unit=unit, number=number) for number in range(FILL))
        texts.append(text + ("int main(void) { return 0; }\n" if unit == 0 else ""))
    folder = folder / hashlib.sha256("".join(texts).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for unit, text in enumerate(texts):
        path = folder / f"unit_{unit}.c"
        if not path.exists():
            with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
                file.write(text)
            os.replace(file.name, path)
    return [folder / f"unit_{unit}.c" for unit in range(UNITS)]


@pytest.fixture(name="program", params=[*APART, *TOGETHER])
def one_program(request, compile, build):
    """Of UNITS units, and each is several pages."""
    words = (APART | TOGETHER)[request.param]
    first, *others = write_units(build / "generated")
    flags = [word for word in words if isinstance(word, str)]
    options = words[-1] if isinstance(words[-1], dict) else {}
    return compile(first, "-O1", *flags, *others, **options)


def addresses_in(ours, chance, limit):
    symbols = [symbol for symbol in ours.symbols() if re.match("(first|fill)_", symbol.name)]
    chance.shuffle(symbols)
    return [address for symbol in symbols[:limit]
            for address in range(symbol.start, symbol.end, 3)]


def test_same_as_at_once(program, dump):
    """In whatever order units are asked."""
    for seed in range(3):
        chance = random.Random(seed)
        addresses = addresses_in(dump(program), chance, 300)
        questions = [(verb, hex(address)) for address in addresses for verb in ("at", "span")]
        questions += [("line", f"unit_{unit}.c", line) for unit in range(UNITS)
                      for line in (4, 8, 100)]
        chance.shuffle(questions)
        whole = dump(program, "-m", "yes").run(questions)
        assert dump(program).run(questions) == whole
        assert any(len(answer) > 1 for answer in whole), "there are inlined calls"


def test_lines_and_inlined_calls(program, dump):
    ours = dump(program)
    starts = {symbol.name: symbol for symbol in ours.symbols()}
    for unit in (7, 3):
        symbol = starts[f"first_{unit}"]
        frames = [frame for address in range(symbol.start, symbol.end)
                  for frame in ours.at([address])[0]]
        assert {frame.name for frame in frames} == {f"first_{unit}", f"inner_{unit}"}
        assert {frame.line for frame in frames} >= {4, 8}
        assert all(frame.file.endswith(f"/unit_{unit}.c") for frame in frames)


@pytest.mark.parametrize("program", APART, indirect=True)
def test_reads_what_is_asked_for(program, dump, tool):
    ours = dump(program)
    first = {symbol.name: hex(symbol.start) for symbol in ours.symbols()}
    size = {name: int(size, 16) for name, size in re.findall(
        r"(\.debug_\w+) +\w+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", tool("readelf", "-SW", program))}
    pages = [ours.pages([("span", 0), *(("at", first[f"first_{unit}"])
                                        for unit in range(count))])
             for count in (0, 1, 2, UNITS)]
    for which, name in enumerate((".debug_info", ".debug_line")):
        none, one, two, all_of_them = (page[which] for page in pages)
        a_unit = size[name] / UNITS / 4096
        assert a_unit > 2
        assert one - none >= 1
        assert 1 <= two - one <= a_unit + 2
        assert all_of_them == pytest.approx(size[name] / 4096, abs=5)
        assert none <= all_of_them / 2
