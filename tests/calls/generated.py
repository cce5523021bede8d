# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs made at random that log what they call, and the begins and ends that follow from it."""
import collections
import struct

MIX = ["x += {};", "x ^= x >> ({} & 31);", "x *= {} | 1;", "x -= sink & {};", "sink = x + {};",
       "for (long i = 0; i < (x & 7); i++) sink += i * {};"]

# They log nothing, so they are as small as a compiler can make them; some are loops from the start.
TINY = ["return x + {};", "return {};", "return (long)bytes[x & 7];", "sink += x; return sink;",
        "while (x > {}) x -= {} | 1; return x;", "do x = x / 3 - {}; while (x > 9); return x;",
        "while (bytes[x & 7]) x++; return x;", "if (x & {}) return 4; return x;",
        "if (x & 1) sink = x; return {};",
        "if (x < 2) return 1; while (x & 1) x >>= 1; return x;",
        "switch (x & 7) {{ case 0: return 9; case 1: return x * {}; case 2: return sink; "
        "case 3: sink = x; return 1; case 4: return x ^ {}; case 5: return -x; "
        "case 6: return x << 3; default: return 0; }}"]

NOINLINE = "__attribute__((noinline)) "


class Writer:
    """One program.  RANDOM decides everything."""

    def __init__(self, random, is_cpp):
        self.random, self.is_cpp = random, is_cpp
        self.functions = random.randint(3, 9)
        self.tiny = random.randint(2, 6)
        self.many = random.randint(0, 1)
        self.lines = []

    def number(self):
        return self.random.choice([1, 2, 3, 7, 12, 100])

    def fill(self, text):
        while "{}" in text:
            text = text.replace("{}", str(self.number()), 1)
        return text.replace("{{", "{").replace("}}", "}")

    def call(self, argument, never=-1):
        which = self.random.randrange(self.functions)
        if self.random.random() < 0.3 or which == never:
            return f"TABLE({argument})({argument})"
        return f"f{which}({argument})"

    def tiny_call(self):
        which = self.random.randrange(self.tiny)
        return f"TINY({100 + which}); x += tiny[{which}](x & 1023); sink = x;"

    def catching(self, number):
        """A call that may be left by a jump or an exception."""
        call = self.call("kept")
        if self.is_cpp:
            return ("{ long kept = x; catchers++; "
                    f"try {{ Guard guard(__builtin_dwarf_cfa(), {number}); kept = {call}; }} "
                    f"catch (long thrown) {{ LANDED({number}); kept += thrown; }} "
                    "catchers--; x = kept; }")
        return ("{ jmp_buf mine, *volatile outer = jump_to; volatile long kept = x; "
                "jump_to = &mine; "
                f"if (setjmp(mine) == 0) kept = {call}; else {{ LANDED({number}); kept++; }} "
                "jump_to = outer; x = kept; }")

    def leaving(self):
        if self.is_cpp:
            return f"if (catchers && (x & 3) == {self.random.randrange(4)}) throw x;"
        return f"if (jump_to && (x & 3) == {self.random.randrange(4)}) longjmp(*jump_to, 1);"

    def nested(self, number, depth):
        body = self.statements(number, depth + 1)
        kind = self.random.randrange(5)
        if kind == 0:
            return f"if (x & {self.number()}) {{ {body} }}"
        if kind == 1:
            return f"for (int k = 0; k < {self.random.randint(1, 3)}; k++) {{ {body} }}"
        if kind == 2:
            cases = " ".join(f"case {i}: {self.statement(number, 2)} break;" for i in range(7))
            return f"switch (x & 7) {{ {cases} default: {body} }}"
        if kind == 3:
            return f"if (x & {self.number()}) {{ {body} }} else {{ {self.fill('x += {};')} }}"
        return f"if (x & {self.number()}) {{ LEAVE({number}); return x + {self.number()}; }}"

    def statement(self, number, depth):
        kind = self.random.randrange(12)
        if kind < 3:
            return self.fill(self.random.choice(MIX))
        if kind < 5:
            return f"x ^= {self.call('x - 1')};"
        if kind < 7:
            return self.tiny_call()
        if kind == 7:
            return self.catching(number)
        if kind == 8:
            return self.leaving()
        if kind == 9:
            return "{ long some[5] = {x, x ^ 3, 9, x >> 2, 4}; " \
                   "qsort(some, 5, sizeof(some[0]), compare); x += some[1]; }"
        if kind == 10 and self.many:
            return "x += m0(1, x, 3, 4, 5, 6, x, 8);"
        return self.nested(number, depth) if depth < 2 else self.fill(self.random.choice(MIX))

    def statements(self, number, depth=0):
        return "\n".join(self.statement(number, depth)
                         for _ in range(self.random.randint(1, 4 - depth)))

    def end(self, number):
        kind = self.random.randrange(3)
        if kind:
            # One to itself would become a loop.
            return f"TAIL({number}); return {self.call('x + 1', number)};"
        return f"LEAVE({number}); return x;"

    def function(self, number, signature):
        body, end = self.statements(number), self.end(number)
        if self.many and "[" not in body and "setjmp" not in body and self.random.random() < 0.3:
            body = f"volatile char room[(x & 63) + 1]; room[0] = 1;\n{body}\nx += room[0];"
            end = f"LEAVE({number}); return x;"
        return (f"{NOINLINE}{signature}\n{{\nENTER({number});\n"
                f"if (!may_go_on()) {{ LEAVE({number}); return x; }}\n{body}\n{end}\n}}\n")

    def source(self):
        storage = [self.random.choice(["", "static "]) for _ in range(self.functions)]
        names = ", ".join(f"f{i}" for i in range(self.functions))
        parts = ['#include "generated.h"', "static volatile char bytes[8] = {1, 2, 3, 1, 0, 7, 1, 1};"]
        parts += [f"{where}long f{i}(long x);" for i, where in enumerate(storage)]
        parts.append(f"static long (*const volatile table[])(long) = {{{names}}};")
        parts.append(GUARD if self.is_cpp else "static jmp_buf *volatile jump_to;")
        parts.append(COMPARE)
        parts += [f"{NOINLINE}{self.random.choice(['', 'static '])}long t{i}(long x)\n"
                  f"{{ {self.fill(self.random.choice(TINY))} }}" for i in range(self.tiny)]
        names = ", ".join(f"t{i}" for i in range(self.tiny))
        parts.append(f"static long (*const volatile tiny[])(long) = {{{names}}};")
        if self.many:
            parts.append(self.function(200, "static long m0(long a, long x, long b, long c, "
                                            "long d, long e, long f, long g)"))
        parts += [self.function(i, f"{where}long f{i}(long x)") for i, where in enumerate(storage)]
        parts.append(MAIN)
        return "\n".join(parts)


GUARD = """static int catchers;
__attribute__((noinline)) static void d0(void *owner, int id)
{ LOG_AT('J', id, (uint64_t)owner); ENTER(301); sink++; LEAVE(301); }
struct Guard {
	void *owner; int id;
	Guard(void *o, int i) : owner(o), id(i) {}
	~Guard() { d0(owner, id); }
};"""
COMPARE = f"""{NOINLINE}static int compare(const void *a, const void *b)
{{ ENTER(300); long d = *(const long *)a - *(const long *)b; LEAVE(300); return (d > 0) - (d < 0); }}"""
MAIN = """int main(int argc, char **argv)
{
	long x = 0;
	for (int i = 0; i < 5; i++) {
		fuel = 40 * (i + 1);
		x += f0(i) + f1(x) + f2(x & 63);
	}
	printf("%ld\\n", x);
	return argc > 1 && write_log(argv[1]);
}"""

SPECIAL = {200: "m0", 300: "compare", 301: "d0"}
Frame = collections.namedtuple("Frame", "name cfa")


def name_of(number):
    return SPECIAL.get(number) or (f"f{number}" if number < 100 else f"t{number - 100}")


class Model:
    """From a program's log to the begins (names) and ends (None) that a timeline must have."""

    def __init__(self):
        self.frames, self.out, self.waiting = [], [], set()

    def push(self, name, cfa):
        self.frames.append(Frame(name, cfa))
        self.out.append(name)

    def pop(self):
        """The innermost ends, and with it those that had only waited for it to return."""
        self.waiting.discard(len(self.frames))
        self.frames.pop()
        self.out.append(None)
        return self

    def pop_waiting(self):
        while len(self.frames) in self.waiting:
            self.pop()

    def enter(self, name, cfa):
        # Whether the call before was a jump, only the compiler knows: then it stands in its place.
        if len(self.frames) in self.waiting and self.frames[-1].cfa == cfa:
            self.pop()
        self.push(name, cfa)

    def take(self, what, number, cfa):
        if what == "E":
            self.enter(name_of(number), cfa)
        elif what == "C":
            self.push(name_of(number), 0)
            self.pop()
        elif what == "T":
            self.waiting.add(len(self.frames))
        elif what == "L":
            assert self.frames[-1] == (name_of(number), cfa), "the log itself is wrong"
            self.pop().pop_waiting()
        else:
            while self.frames[-1] != (name_of(number), cfa):
                self.pop()


def expected(log):
    model = Model()
    for cfa, number, what in struct.iter_unpack("<Qic3x", log):
        model.take(what.decode(), number, cfa)
    return model.out


def without(sequence, names):
    """SEQUENCE less those functions, as if nobody had seen them."""
    found, kept = [], []
    for name in sequence:
        if name is not None:
            kept.append(name not in names)
            if kept[-1]:
                found.append(name)
        elif kept.pop():
            found.append(None)
    return found
