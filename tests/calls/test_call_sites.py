# SPDX-License-Identifier: GPL-3.0-or-later
"""Call events tell where a function returns to, and so from which call it came.  The lines are those
that single-stepping saw and those of GDB's backtraces; those of jumps come from the code."""
import json
import random
import subprocess

import pytest

from conftest import line_of

LEVELS = ["-O0", "-O1", "-O2", "-Os"]
NAMES = {"once", "twice", "abreast", "pointed", "hop", "last", "unlikely", "rare", "work", "compare",
         "inlined"}


def calls_of(run_mtdb, program, out, *options):
    done = run_mtdb("run", "-o", out, "--size", "64M", *options, "--", program)
    assert done.returncode == 0, done.stderr
    events = json.loads(out.read_text())["traceEvents"]
    return [(event["name"], event["args"].get("call"), event["args"].get("tail_call", False))
            for event in events
            if event["ph"] == "B" and event.get("cat") in ("call", "inlined")]


def places(calls, names):
    """name -> the lines of calls_sites.c from which it was called."""
    found = {}
    for name, call, _ in calls:
        if name in names and call and "calls_sites.c:" in call:
            found.setdefault(name, set()).add(int(call.rsplit(":", 1)[1]))
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_the_lines_are_those_that_were_stepped(compile, run_mtdb, tmp_path, level):
    program = compile("calls_sites.c", level, "-static")
    ours, stepped = ([call for call in calls_of(run_mtdb, program, tmp_path / "calls.json",
                                                "-e", engine) if call[0] in NAMES]
                     for engine in ("calls", "step"))
    assert ours == stepped and len(ours) > 200
    assert places(ours, NAMES)["once"] == {line_of("calls_sites.c", "return once(x) + 1")}
    assert len(places(ours, NAMES)["twice"]) == 2


@pytest.mark.parametrize("option, missing", [("--no-functions=work", "work"),
                                             ("--functions=once", "work")])
def test_calls_from_what_is_not_recorded(compile, run_mtdb, tmp_path, option, missing):
    program = compile("calls_sites.c", "-O2")
    calls = calls_of(run_mtdb, program, tmp_path / "calls.json", "-e", "calls", option)
    assert places(calls, {"once"})["once"] == {line_of("calls_sites.c", "return once(x) + 1")}
    assert not {missing, "inlined"} & {name for name, _, _ in calls}


def test_a_call_in_the_cold_part_counts(compile, run_mtdb, tmp_path):
    """rare() is called from code that the compiler put aside."""
    program = compile("calls_sites.c", "-O2")
    calls = calls_of(run_mtdb, program, tmp_path / "calls.json", "-e", "calls")
    assert places(calls, {"rare"})["rare"] == {line_of("calls_sites.c", "return rare(x)")}


def test_without_debug_information_the_address_is_told(compile, run_mtdb, tmp_path):
    """That of the call instruction."""
    program = compile("calls_sites.c", "-O1", "-g0")
    calls = calls_of(run_mtdb, program, tmp_path / "calls.json", "-e", "calls")
    assert all(call and call.startswith("0x") for name, call, _ in calls
               if name in NAMES - {"compare"})
    code = subprocess.run(["objdump", "-d", program], check=True, capture_output=True,
                          text=True).stdout
    sites = {line.split(":")[0].strip()[-3:] for line in code.splitlines() if "call " in line}
    assert {call[-3:] for name, call, _ in calls if name in ("twice", "pointed")} <= sites


class Writer:
    """A program of functions that call one another from several lines, by pointers, by jumps, and
    from functions that are inlined."""

    def __init__(self, seed):
        self.random, self.count = random.Random(seed), 6

    def call(self, number):
        # Only those with a larger number, so that it ends; the last ones call nothing.
        to = self.random.randint(number + 1, self.count + 1)
        return self.random.choice([f"f{to}(x + {to})", f"table[{to}](x ^ {to})",
                                   f"i{to}(x)" if to < self.count else f"f{to}(x)"])

    def body(self, number):
        lines = []
        for _ in range(self.random.randint(2, 4)):
            lines.append(self.random.choice([
                f"x += {self.call(number)};", f"if (x & {self.random.randint(1, 3)})\n"
                f"\t\tx ^= {self.call(number)};\n\telse\n\t\tx -= {self.call(number)};"]))
        if self.random.random() < 0.4:
            lines.append(f"return f{self.random.randint(number + 1, self.count + 1)}(x);")
        else:
            lines.append(f"return x * {number};")
        return "\n\t".join(lines)

    def source(self):
        numbers = range(self.count + 2)
        parts = ["#include <stdio.h>"] + [f"long f{i}(long x);" for i in numbers]
        names = ", ".join(f"f{i}" for i in numbers)
        parts.append(f"static long (*volatile table[])(long) = {{{names}}};")
        for i in reversed(numbers):
            if i < self.count:
                parts.append(f"static inline __attribute__((always_inline)) long i{i}(long x)\n"
                             f"{{\n\t{self.body(i)}\n}}")
            body = self.body(i) if i < self.count else f"return x + {i};"
            parts.append(f"__attribute__((noinline, noclone)) long f{i}(long x)\n{{\n\t{body}\n}}")
        parts.append("int main(void)\n{\n\tprintf(\"%ld\\n\", f0(1) + f0(2));\n\treturn 0;\n}\n")
        return "\n".join(parts)


# What GDB tells where a function begins: the function, and the line that called it.
TRUTH = """
import gdb
for name in (f"f{i}" for i in range(8)):
    gdb.Breakpoint("*" + name)
gdb.execute("run")
while gdb.selected_inferior().pid:
    frame = gdb.newest_frame()
    caller = frame.older()
    print("@", frame.name(), caller.find_sal().line, flush=True)
    gdb.execute("continue")
"""


@pytest.fixture(name="generated")
def make_generated(need, tmp_path):
    def make(seed, level, *flags):
        source, program = tmp_path / "generated.c", tmp_path / "generated"
        source.write_text(Writer(seed).source())
        subprocess.run([need("gcc"), "-w", "-g", "-fno-ipa-icf", level, *flags, "-o", program, source],
                       check=True)
        return program
    return make


def of_generated(calls):
    return [(name, call and int(call.rsplit(":", 1)[1]), tail) for name, call, tail in calls
            if name[0] in "fi" and name[1:].isdigit()]


def check_stepped(run_mtdb, tmp_path, program):
    """Every call, in its order; of inlined ones those that call something."""
    ours, stepped = (of_generated(calls_of(run_mtdb, program, tmp_path / "calls.json", "-e", engine,
                                           *options))
                     for engine, options in (("calls", ["--modules", "generated"]), ("step", [])))
    called, wanted = ([call for call in calls if call[0][0] == "f"] for calls in (ours, stepped))
    assert [(name, tail) for name, _, tail in called] == [(name, tail) for name, _, tail in wanted]
    for one, wanted_one in zip(called, wanted):
        # A jump of several in different lines is told without its line.
        assert one == wanted_one or (one[2] and one[1] is None)
    inlined, wanted_inlined = ({call for call in calls if call[0][0] == "i"}
                               for calls in (ours, stepped))
    assert inlined <= wanted_inlined
    return len(wanted)


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os"])
@pytest.mark.parametrize("seed", range(3))
def test_generated_programs_by_single_stepping(generated, run_mtdb, tmp_path, seed, level):
    assert check_stepped(run_mtdb, tmp_path, generated(seed, level, "-static")) > 20


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("seed", range(2))
def test_generated_programs_by_backtraces(generated, run_mtdb, need, tmp_path, seed, level):
    program, script = generated(seed, level), tmp_path / "truth.py"
    script.write_text(TRUTH)
    done = subprocess.run([need("gdb"), "-q", "-nx", "-batch", "-x", script, program], check=False,
                          capture_output=True, text=True, timeout=120)
    wanted = [(line.split()[1], int(line.split()[2])) for line in done.stdout.splitlines()
              if line.startswith("@ ")]
    ours = of_generated(calls_of(run_mtdb, program, tmp_path / "calls.json", "-e", "calls",
                                 "--modules", "generated"))
    ours = [call for call in ours if call[0][0] == "f"]
    assert [name for name, _, _ in ours] == [name for name, _ in wanted] and len(ours) > 20
    for (name, line, tail), (_, wanted_line) in zip(ours, wanted):
        # GDB finds no line for a jump where there are several ways.
        assert tail or line == wanted_line, name
