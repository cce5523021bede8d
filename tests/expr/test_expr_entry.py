# SPDX-License-Identifier: GPL-3.0-or-later
"""At a function's first instruction parameters are where the ABI has them, as GDB shows them behind
the prologue; and conditions there are true of them."""
import pytest

FUNCTIONS = {
    "whole": ["c", "s", "i", "u", "l", "text", "seventh", "eighth", "l + eighth", "text[1]"],
    "real": ["f", "d", "l", "i", "e", "f + d"],
    "parts": ["two", "mixed", "floats", "large", "owner", "two.b", "floats.z", "large.v[1]",
              "owner.id", "reference + 1", "last", "beyond"],
    "Counter::add": ["more", "base", "*this", "this->base + more"],
}
# Of these gcc's debug information says something else than what it does.
UNTOLD = {("-O2 -fno-inline", "floats"), ("-O2 -fno-inline", "floats.z")}
TRUE = {
    "whole": "c == 'a' && s == -2 && seventh && eighth == 8",
    "real": "f == 1.5 && d == 2.5 && l == 3.5 && i == 4 && e == 5.5",
    "parts": "two.a == 1 && mixed.i == 3 && floats.y == 2.5 && large.v[2] == 9 && beyond == 12",
    "Counter::add": "base == 40 && more == 2",
}


@pytest.mark.parametrize("function, flags", [
    *((function, "-O0") for function in FUNCTIONS),
    ("parts", "-O2 -fno-inline"),
    *(pytest.param(function, "-O2 -fno-inline", marks=pytest.mark.soak)
      for function in FUNCTIONS if function != "parts"),
])
def test_parameters(compile, dump, gdb, function, flags):
    program = compile("expr_entry.cpp", "-g", *flags.split())
    expressions = [f"print {text}" for text in FUNCTIONS[function]
                   if (flags, text) not in UNTOLD]
    # At -O0 GDB knows them behind the prologue; what is optimized is told from the entry on.
    _, theirs = gdb(program, "expr_entry.cpp", expressions, function)
    core, _ = gdb(program, "expr_entry.cpp", ["print 1"], f"*'{function}'")
    ours = dump(core, [f"entry {text}" for text in expressions] + [f"entry true {TRUE[function]}"])
    assert [shown for _, shown in ours[:-1]] == [shown for _, shown in theirs]
    assert ours[-1][1] == "true"
