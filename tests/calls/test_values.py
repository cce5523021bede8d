# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments and results that are recorded with calls: what the program prints of them itself, and
in all formats the same."""
import json
import os
import re
import subprocess

import pytest

import fxt
from conftest import linked_for

LONG = "0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
STRINGS = ['""', *[f'"{LONG[i:i + 32]}"' + ("..." if len(LONG[i:]) > 32 else "")
                   for i in range(16)],
           '"a\\"b\\\\c\\n\\001é"', '"end"', '"end!"...', "0x", "0x", "0x"]

ALL = ["--args=price_of(count)", "--returns=price_of", "--args=small", "--returns=small",
       "--args=paint", "--returns=paint", "--args=half(number)", "--args=depth", "--returns=depth",
       "--args=visit(thing, thing->id, thing->next->id)", "--returns=visit", "--args=whole", "--args=mirror",
       "--returns=mirror", "--args=mix(by * 2, (float)by + mixed.scale[0], (int)by)", "--args=mix",
       "--returns=mix", "--args=enlarge", "--returns=enlarge", "--args=look_up",
       "--returns=look_up"]
CALLS = """small(a=-128, b=255, c=-32768, d=65535, e=4294967295, f=-9223372036854775808, \
g=18446744073709551615, h=true) = 127
small(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=false) = 0
paint(colour=RED, letter=97 'a', weight=1.5, height=-2.25) = GREEN
paint(colour=BLUE, letter=10, weight=0.100000001, height=1e+100) = BLUE
half(number=3)
visit(thing=0x, thing->id=4, thing->next->id=7) = 1
visit(thing=0x) = 0
visit(thing=0x) = 1
whole(pair.first=1, pair.second=2, pair.third=3, last=41)
mirror(point.x=3, point.y=-4) = {x = -4, y = -3}
mix(mixed.scale[0]=0.5, mixed.scale[1]=1.5, mixed.at.x=7, mixed.at.y=-8, by=2.5, by * 2=5, \
(float)by + mixed.scale[0]=3, (int)by=2) = {scale[0] = 0.5, scale[1] = 3.75, at.x = 8, at.y = -8}
enlarge(large.from.x=1, large.from.y=2, large.kind=5, large.weight=2.25, \
large.sizes[0]=1099511627776, large.sizes[1]=0) = {from.x = 1, from.y = 2, kind = 5, \
weight = 2.75, sizes[0] = 1099511627776, sizes[1] = -1099511627776}
look_up(row=1) = 6
depth(n=3) = 6
depth(n=2) = 3
depth(n=1) = 1
depth(n=0) = 0""".splitlines()


@pytest.fixture(name="record")
def make_record(compile, run_mtdb, tmp_path):
    def record(level, *options, threads=0, engine="calls"):
        program = compile("calls_values.c", level, "-pthread", *linked_for(engine))
        return run_mtdb("run", "--engine", engine, "--modules", "calls_values", *options,
                        "--record", tmp_path / "x.perf", "-o", tmp_path / "x.txt", program,
                        str(threads))

    return record


def calls_in(text, name=r"\w+"):
    """As text shows them; without what differs from run to run."""
    found = re.findall(rf" ({name}\(.*?\)(?: = (?:\{{.*?\}}|\S+))?)(?:  |\n)", text)
    return [re.sub(r"0x[0-9a-f]+", "0x", call) for call in found if "inferred" not in call]


@pytest.mark.parametrize("stamps", ["sampled", "full"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_values(record, tmp_path, level, stamps):
    done = record(level, *ALL, f"--timestamps={stamps}")
    assert done.returncode == 0, done.stderr
    assert calls_in((tmp_path / "x.txt").read_text()) == CALLS, done.stderr
    assert '--args "look_up": table is not recorded: it is a structure' in done.stderr
    # Through null, and through 8.
    assert re.search(r'arguments for --args "visit.*" could not be evaluated 2 times: Cannot '
                     'access memory at address 0x', done.stderr)


def test_tail_calls(record, tmp_path):
    """What the last function returned is what all return that jumped on the way there."""
    done = record("-O2", "--returns=pass_on")
    assert "not recorded" not in done.stderr
    assert calls_in((tmp_path / "x.txt").read_text(), "pass_on") == ["pass_on() = 9"]
    done = record("-O0", "--returns=pass_on")
    assert "not recorded" not in done.stderr
    assert calls_in((tmp_path / "x.txt").read_text(), "pass_on") == ["pass_on() = 9"]


TAILS = [
    (["--returns=narrow", "--returns=wide"],
     "narrow = -1, wide = -1, narrow = 33, narrow = -1, wide = 4294967295, wide = 4, wide = 6"),
    (["--returns=through"], "through = -1, through = 33"),
    (["--returns=*"], "through = -1, narrow = -1, wide = -1, through = 33, narrow = 33, narrow = -1, "
     "wide = 4294967295, wide = 4, indirect = 6, wide = 6"),
]


@pytest.mark.parametrize("stamps", ["sampled", "full"])
@pytest.mark.parametrize("options, calls", TAILS)
def test_chains_of_tail_calls(compile, run_mtdb, tmp_path, options, calls, stamps):
    done = run_mtdb("run", "--engine=calls", "--modules=calls_tails", f"--timestamps={stamps}", *options,
                    "--returns=is_even", "--returns=make_for", "--returns=quarter", "-o", tmp_path / "x.txt",
                    compile("calls_tails.c", "-O2"))
    assert done.returncode == 0, done.stderr
    seen = [call.replace("()", "").replace(" (tail call)", "") for call in calls_in((tmp_path / "x.txt").read_text())]
    assert ", ".join(call for call in seen if re.match("through|narrow|wide|indirect", call)) == calls
    assert [call for call in seen if re.match("is_even|make_for|quarter", call)] == [
        "is_even = 0", "is_even = 0", "make_for = {first = 5, second = -5}", "quarter = 1.5"]


@pytest.mark.parametrize("level, size", [("-O0", "1M"), ("-O2", "16k")])
def test_threads(record, tmp_path, level, size):
    """Where the ring was too small, calls are missing, and of the first one some of its values, but
    no value is another call's."""
    done = record(level, "--args=price_of", "--returns=price_of", "--size", size, threads=4)
    counted = [line.split(" ", 1)[1].replace("(", '(name="butter", ')
               for line in done.stdout.splitlines()]
    seen = [call for call in calls_in((tmp_path / "x.txt").read_text(), "price_of")
            if "name=" in call]
    assert len(counted) == 800 and set(seen) <= set(counted) and len(seen) == len(set(seen)) > 40
    assert size == "16k" or sorted(seen) == sorted(counted), done.stderr


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_strings(record, tmp_path, level):
    """Their first bytes, wherever they begin and end; a null pointer is no failure."""
    done = record(level, "--args=say", "--returns=say")
    assert calls_in((tmp_path / "x.txt").read_text(), "say") == [
        f"say(text={text}, number={number}) = {text}"
        for number, text in enumerate(STRINGS, -1)]
    assert '"say" could not be evaluated 3 times' in done.stderr
    assert done.returncode == 0, done.stderr


def test_formats(record, run_mtdb, tmp_path):
    record("-O1", *ALL)
    for name in "y.json", "y.fxt", "y.txt":
        done = run_mtdb("decode", "-o", tmp_path / name, tmp_path / "x.perf")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "y.txt").read_text() == (tmp_path / "x.txt").read_text()
    history = run_mtdb("history", "-n", "1000", tmp_path / "x.perf", "small").stdout
    assert calls_in(history) == CALLS[:2]
    slices = [piece for thread in fxt.read(tmp_path / "y.fxt").threads.values()
              for piece in thread.slices() if piece.name == "small"]
    arguments = [re.search(r"\((.*)\)", call).group(1) for call in CALLS[:2]]
    assert [piece.args["arguments"] for piece in slices] == arguments
    assert [piece.args["result"] for piece in slices] == ["127", "0"]
    events = json.loads((tmp_path / "y.json").read_text())["traceEvents"]
    assert [event["args"]["arguments"] for event in events
            if event["ph"] == "B" and event["name"] == "small"] == arguments
    assert "127" in [event["args"].get("result") for event in events
                     if event["ph"] == "E" and "args" in event]


@pytest.mark.parametrize("options, status, message", [
    (["--args=nosuch(a)"], 2, '--args "nosuch(a)": Function "nosuch" not defined.'),
    (["--returns=nosuch"], 2, '--returns "nosuch": Function "nosuch" not defined.'),
    (["--args=price_of(nme)"], 2, '--args "price_of(nme)": No symbol "nme" in current context.'),
    (["--args=price_of(name,)"], 2, "A name is missing."),
    (["--args=price_of()"], 2, "A name is missing."),
    (["--args="], 2, 'invalid --args "": must be FUNCTION or FUNCTION(NAME, ...)'),
    (["--args=price_of(count +)"], 2, "A syntax error in expression"),
    (["--args=price_of(count->x)"], 2, 'invalid --args "price_of(count->x)": '),
    (["--args=nothing"], 2, "The function has no parameters."),
    (["--returns=nothing"], 2, "The function returns nothing."),
])
def test_what_means_nothing(record, options, status, message):
    done = record("-O1", *options)
    assert done.returncode == status and message in done.stderr, done.stderr
    assert not done.stdout


def test_another_engine(record):
    done = record("-O1", "--args=small", engine="step")
    assert done.returncode == 125 and 'as --args "small" needs (--engine calls' in done.stderr


def test_triggers_beside_them(record, tmp_path):
    """The call that is hit has its arguments, although it has just begun, and its result, although
    the snapshot was long before that."""
    done = record("-O1", "--args=small(a)", "-t", "small if b == 2", "--returns=small",
                  "-t", "small return if $_ret == 127")
    calls = re.findall(r" (small\S*(?: = \S+)?)", (tmp_path / "x.txt").read_text())
    assert [call for call in calls if "(" in call] == [
        "small(a=-128) = 127", "small(a=1) = 0"], done.stderr


FIB = {0: 0, 1: 1}
for number in range(2, 11):
    FIB[number] = FIB[number - 1] + FIB[number - 2]


@pytest.fixture(name="busy")
def start_busy(compile):
    program = subprocess.Popen([compile("calls_busy.c", "-O1", "-pthread")], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout.readline() == "ready\n"
    yield program
    program.kill()
    program.wait()


def test_attached(busy, mtdb, run_mtdb, tmp_path):
    """Also where a killed mtdb recorded values before; the program counts what went wrong."""
    options = ["--args=fib", "--returns=fib", "--size=256k", "-o", tmp_path / "x.txt",
               str(busy.pid)]
    for _ in range(3):
        ready, told = os.pipe()
        killed = subprocess.Popen([mtdb, "attach", "--engine=calls", f"--ready-fd={told}",
                                   *options], pass_fds=[told], stderr=subprocess.DEVNULL)
        os.close(told)
        assert os.read(ready, 64) == b"recording\n"
        os.close(ready)
        killed.kill()
        killed.wait()
    done = run_mtdb("attach", "--engine=calls", "--for=200ms", *options)
    assert done.returncode == 0, done.stderr
    calls = re.findall(r"fib\(n=(-?\d+)\) = (-?\d+)", (tmp_path / "x.txt").read_text())
    assert len(calls) > 100 and all(FIB[int(n)] == int(result) for n, result in calls)
    assert busy.communicate("\n")[0] == "0 wrong, 4 worked\n"


def test_globs(record, tmp_path):
    """Functions that match, with all of their parameters, or those that are named."""
    done = record("-O0", "--args=[dps]*", "--returns=[dp]*", "--returns=?mall")
    assert done.returncode == 0, done.stderr
    told = calls_in((tmp_path / "x.txt").read_text(), "(?:small|paint|depth)")
    assert told == [call for call in CALLS if re.match("small|paint|depth", call)]
    done = record("-O0", "--args=[dps]*(n)")
    assert done.returncode == 0 and "left out" not in done.stderr, done.stderr
    assert [call.replace("depth", "") for call in calls_in((tmp_path / "x.txt").read_text(),
                                                           "depth")] == \
        [f"(n={n})" for n in (3, 2, 1, 0)]
    done = record("-O0", "--args=[dps]*(no_such_name)")
    assert done.returncode == 2 and '"[dps]*(no_such_name)": none of the functions has that' in done.stderr
    done = record("-O0", "--args=zz*")
    assert done.returncode == 2 and 'Function "zz*" not defined.' in done.stderr


def test_many_functions(compile, run_mtdb, tmp_path):
    """Each has what it was called with, be they as many as they want."""
    count = 300
    source = tmp_path / "many.c"
    source.write_text("volatile int sink;\n" + "".join(
        f"__attribute__((noinline)) int f{i}(int n, const char *class) {{ sink += n; return n - {i}; }}\n"
        for i in range(count)) + "int main(void)\n{\n" +
        "".join(f'\tf{i}({i * 3}, "{i}");\n' for i in range(count)) + "\treturn 0;\n}\n")
    program = compile(source, "-O0")
    done = run_mtdb("run", "--engine=calls", "--modules=many", "--args=*", "--returns=f*",
                    "-o", tmp_path / "x.txt", program)
    assert done.returncode == 0, done.stderr
    assert calls_in((tmp_path / "x.txt").read_text(), r"f\d+") == [
        f'f{i}(n={i * 3}, class="{i}") = {i * 2}' for i in range(count)], done.stderr
    assert len(done.stderr.splitlines()) < 7, done.stderr
