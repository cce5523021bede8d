# SPDX-License-Identifier: GPL-3.0-or-later
"""Strings of the languages' libraries as arguments and results: what the program prints of them
itself, from its own memory alone."""
import re

import pytest

LONG = '"0123456789abcdefghijklmnopqrstuv"...'
MADE = '"' + "x" * 32 + '"...'

CPP = f"""by_value(name="butter", count=1) = 6
by_value(name={LONG}, count=2) = 42
by_value(name="0123456789abcdefghijklmnopqrstuv", count=3) = 32
by_value(name="a\\000b", count=4) = 3
by_value(name="", count=5) = 0
by_reference(name="butter", other={LONG}) = 6
by_pointer(name="butter", of->name="milk") = 6
by_pointer(name=0x, of->name="milk") = 4
make(number=0) = "0"
make(number=40) = {MADE}
shorter(text="abcdef") = "abc"
half(number=3) = 1.5
third(number=1) = 0.333333343
parts(at.x=1.5, at.y=-2, to->x=0.25) = 1.75
lots(a="a", b="b", c="c", d="d", e="e", f="f", g="g", h="h", i=0x, j=0x, last=11) = 8""".splitlines()
CPP_OPTIONS = [f"--{what}={name}" for name in ("by_value", "by_reference", "make", "shorter", "half",
                                               "third") for what in ("args", "returns")]
CPP_OPTIONS += ["--args=by_pointer(name, of->name)", "--returns=by_pointer", "--args=wide",
                "--args=lots", "--returns=lots",
                "--args=parts(at.x, at.y, to->x)", "--returns=parts"]

RUST = f"""greet(name="butter", n=2) = 6
greet(name="", n=3) = 0
own(name="0123456789abcdefghijklmnopqrstuv"..., n=4) = 36
own(name="", n=5) = 0
make(n=3) = "xxx3"
refer(name="xxx3", other="other") = 9
make(n=40) = {MADE}
longer(a="a", b="bcd") = "bcd"
half(x=3, y=0.5) = 2
pair(p.x=1, p.y=-2) = -1""".splitlines()

GO = """greet(name="0123456789abcdefghijklmnopqrstuv"..., n=1) = 36
greet(name="", n=-2) = 0
swap(a="left", b="right")
longer(a="aa", b="b") = "aa"
half(x=2.5, ok=true) = 1.25
slice(b.len=3, n=-1) = 2""".splitlines()


def calls_in(path, names):
    """As text shows them; without what differs from run to run."""
    found = re.findall(rf" (?:\w+(?:::|\.))?((?:{names})(?:\[abi:cxx11\])?\(\w.*?=.*?\)(?: = \S+)?)(?:  |\n| \()",
                       path.read_text())
    return [re.sub(r"0x[0-9a-f]+", "0x", call).replace("[abi:cxx11]", "") for call in found]


@pytest.fixture(name="record")
def make_record(run_mtdb, tmp_path):
    def record(program, *options, threads=0):
        done = run_mtdb("run", "--engine=calls", "--modules", program.name, *options,
                        "--record", tmp_path / "x.perf", "-o", tmp_path / "x.txt", program,
                        str(threads))
        assert done.returncode == 0, done.stderr
        return done

    return record


@pytest.mark.parametrize("stamps", ["sampled", "full"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_cpp(compile, record, run_mtdb, tmp_path, level, stamps):
    program = compile("values_strings.cpp", level, "-pthread")
    done = record(program, *CPP_OPTIONS, f"--timestamps={stamps}")
    names = "by_value|by_reference|by_pointer|make|shorter|half|third|parts|lots"
    assert calls_in(tmp_path / "x.txt", names) == CPP, done.stderr
    assert '--args "wide": text is not recorded: it is a structure' in done.stderr
    again = run_mtdb("decode", "-o", tmp_path / "y.txt", tmp_path / "x.perf")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "y.txt").read_text() == (tmp_path / "x.txt").read_text()


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_bounds(compile, record, tmp_path, level):
    """A length says how much is read: not a byte of the next page."""
    done = record(compile("values_strings.cpp", level, "-pthread"), "--args=views")
    calls = calls_in(tmp_path / "x.txt", "views")
    expected = []
    for length in range(12):
        text = '"' + "\\000" * (length - 1) + "!" * (length > 0) + '"'
        more = '"' + "\\000" * min(40 - length, 32) + '"' + "..." * (40 - length > 32)
        expected.append(f"views(name={text}, count=0, more={more}, stack={text})")
    assert calls[:12] == expected
    # What can be read stands in front of what cannot.
    assert calls[12:] == ['views(name="", count=1, more=0x, stack=0x)',
                          "views(name=0x, count=2, more=0x, stack=0x)"]
    assert '"views" could not be evaluated 2 times' in done.stderr


@pytest.mark.parametrize("source, level", [("values_strings.cpp", "-O0"),
                                           ("values_strings.cpp", "-O2"),
                                           ("values_strings.rs", "-Copt-level=0")])
def test_threads(compile, record, tmp_path, source, level):
    rust = source.endswith(".rs")
    program = compile(source, level, *([] if rust else ["-pthread"]))
    greet = "values_strings::greet" if rust else "greet"
    done = record(program, f"--args={greet}", f"--returns={greet}", "--size=1M", threads=4)
    told = [re.sub(r'(name=")((?:[^"]){32})[^"]+"', r'\1\2"...', line)
            for line in done.stdout.splitlines()]
    seen = [call for call in calls_in(tmp_path / "x.txt", "greet") if not rust or
            'name="butter"' not in call and 'name=""' not in call]
    if rust:  # the characters at the end may be cut in two
        told, seen = ([line.split(", n=")[1] for line in lines] for lines in (told, seen))
    assert sorted(seen) == sorted(told) and len(told) >= 400, done.stderr


@pytest.mark.parametrize("level", ["-Copt-level=0", "-Copt-level=1"])
def test_rust(compile, record, tmp_path, level):
    program = compile("values_strings.rs", level)
    functions = [f"values_strings::{name}" for name in ("greet", "own", "refer", "make", "longer",
                                                        "half")]
    options = [f"--{what}={name}" for name in functions for what in ("args", "returns")]
    done = record(program, *options, "--args=values_strings::pair(p.x, p.y, q.a)",
                  "--returns=values_strings::pair")
    calls = calls_in(tmp_path / "x.txt", "greet|own|refer|make|longer|half|pair")
    assert calls == RUST, done.stderr
    assert "q.a is not recorded: how q is passed is not known" in done.stderr


@pytest.mark.parametrize("flags", [[], ["-gcflags=-N -l"]], ids=["-O2", "-O0"])
def test_go(go, record, run_mtdb, tmp_path, flags):
    program = go("go-strings" + "-O0" * bool(flags), *flags, source="values_strings.go")
    options = [f"--{what}=main.{name}" for name in ("greet", "longer", "half")
               for what in ("args", "returns")]
    done = record(program, *options, "--args=main.swap",
                  "--args=main.slice(b.len, n)", "--returns=main.slice", "--size=1M")
    calls = calls_in(tmp_path / "x.txt", "greet|swap|longer|half|slice")
    assert [call for call in calls if call in GO] == GO, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == 200 and set(told) <= set(calls), set(told) - set(calls)
    # Several results have their names.
    record(program, "--returns=main.swap", "--returns=main.several",
           "-t=main.several return if $_ret0 == -8 && $_ret1 == 2.5 && !$_ret3")
    text = (tmp_path / "x.txt").read_text()
    assert '.swap() = {~r0 = "right", ~r1 = "left"}' in text
    assert re.search(r"\.several\(\) = \{twice = -8, half = 2\.5, e\.tab = 0x0, e\.data = 0x0, ok = false, "
                     r'rest\.array = "abc.*", rest\.len = 3, rest\.cap = \d+\}', text)
    assert "$_ret0 == -8 && $_ret1 == 2.5 && !$_ret3, thread" in text
    for what, why in [("$_ret", "several results: $_ret0 is the first one"), ("$_ret5", "not return so many results")]:
        done = run_mtdb("run", "--engine=calls", "-t", f"main.several return if {what} == 0", program)
        assert done.returncode == 2 and why in done.stderr


@pytest.mark.parametrize("stack", [[], ["own"]], ids=["same-stack", "own-stack"])
def test_signals_in_between(compile, run_mtdb, tmp_path, stack):
    """A handler's calls part what is recorded of a call from it: it is the call's all the same."""
    done = run_mtdb("run", "--engine=calls", "-o", tmp_path / "x.txt", "--size=256M", "--args=named", "--returns=named",
                    compile("values_signals.c", "-O1"), *stack)
    calls, signals = map(int, done.stdout.split())
    assert signals >= 20
    found = re.findall(r" named\((.*) {2}", (tmp_path / "x.txt").read_text())
    assert len(found) == calls, done.stderr
    assert {call.rstrip() for call in found} == {
        f'number={number}, text="a text of some length", other="another one") = '
        + ('"a text of some length"' if number & 1 else '"another one"') for number in range(4)}
