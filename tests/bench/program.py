# SPDX-License-Identifier: GPL-3.0-or-later
"""The program whose trace the benchmark decodes: C of many functions, which call downwards only, so
that any walk through them comes back."""
import random

LEVELS = 14
FUNCTIONS = 40  # a level


def name(level, index):
    return f"level{level}_{index}"


def condition(rng):
    return f"(x >> {rng.randrange(32)}) & {rng.choice([1, 1, 3, 7, 15])}"


def statement(rng, level):
    arithmetic = f"x = x * {rng.randrange(3, 999, 2)} + {rng.randrange(1, 999)};"
    callee = name(level + 1 + rng.randrange(min(3, LEVELS - level - 1)), rng.randrange(FUNCTIONS)) \
        if level < LEVELS - 1 else None
    kind = rng.randrange(10)
    if callee and kind < 2:
        return f"x ^= {callee}(x);"
    if callee and kind < 4:
        return f"if ({condition(rng)}) x += {callee}(x + 1); else {{ {arithmetic} data[x & 255]++; }}"
    if callee and kind == 4:
        return f"x -= table{level + 1}[x % {FUNCTIONS}](x);"
    if kind < 7:
        return (f"for (unsigned i = 0; i < (x & 7); i++) {{ data[(i + x) & 255] += x; "
                f"if (data[i & 255] & 4) {{ {arithmetic} }} }}")
    return f"if ({condition(rng)}) {{ {arithmetic} data[x & 255] ^= x; }}"


def function(rng, level, index):
    body = "\n\t".join(statement(rng, level) for _ in range(rng.randrange(3, 9)))
    return (f"__attribute__((noinline)) unsigned {name(level, index)}(unsigned x)\n"
            f"{{\n\t{body}\n\treturn x;\n}}\n")


def table(level):
    names = ", ".join(name(level, i) for i in range(FUNCTIONS))
    return f"unsigned (*const volatile table{level}[])(unsigned) = {{{names}}};\n"


def source(seed=1):
    rng = random.Random(seed)
    parts = ["static unsigned volatile data[256];\n"]
    for level in reversed(range(LEVELS)):
        parts += [function(rng, level, i) for i in range(FUNCTIONS)]
        parts.append(table(level))
    parts.append("void _start(void)\n{\n\tunsigned x = 1;\n\tfor (;;) {\n"
                 "\t\tx += table0[x % %d](x);\n"
                 "\t\tasm volatile(\"syscall\" : \"+a\"(x) :: \"rcx\", \"r11\", \"memory\");\n"
                 "\t}\n}\n" .replace("%d", str(FUNCTIONS)))
    return "".join(parts)
