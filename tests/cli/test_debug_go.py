# SPDX-License-Identifier: GPL-3.0-or-later
"""Lengths, maps and interfaces of Go at the prompt, compared with what the program prints of them itself."""
import re
import subprocess

import pytest

from conftest import line_of
from tests.calls.hits import values_in


@pytest.fixture(scope="module", name="program")
def built(go):
    return go("debug_go", "-gcflags=all=-N -l", source="debug_go.go")


def answers(mtdb, program, expressions, start=()):
    """The answer to each, where main() waits for look()."""
    begin = [f"break debug_go.go:{line_of('debug_go.go', 'BREAK')}", "run", *(start or ["up"])]
    asked = [word for expression in expressions for word in (f"echo @@{expression}\\n", f"print {expression}")]
    words = [word for line in [*begin, *asked, "echo @@\\n"] for word in ("-ex", line)]
    done = subprocess.run([mtdb, "-batch", *words, program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=100, check=False, stdin=subprocess.DEVNULL)
    parts = [re.sub(r"^\$\d+ = ", "", part.partition("\n")[2].strip())
             for part in done.stdout.split("\n@@")[1:-1]]
    assert len(parts) == len(expressions), done.stdout
    return dict(zip(expressions, parts))


def said(program):
    """[(expression, its value)], [(interface, the type of what it holds, that)]"""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines[:-1]]
    return [row for row in rows if len(row) == 2], [row for row in rows if len(row) == 3]


def without_path(name):
    """As %T has it: "*fs.PathError" of "*io/fs.PathError"."""
    return re.sub(r"[\w./]*/", "", name)


def as_go(text):
    """A value as %+v has it."""
    text = re.sub(r'^"(.*)"$', r"\1", text)
    text = re.sub(r"^\*\{(\w+ = .*)\}$", r"&{\1}", text)
    return text.replace(" = ", ":").replace(", ", " ").replace('"', "")


def test_as_the_program_has_it(mtdb, program):
    values, _ = said(program)
    assert len(values) > 30
    shown = answers(mtdb, program, [expression for expression, _ in values])
    assert {expression: text.strip('"') for expression, text in shown.items()} == dict(map(tuple, values))


def test_interfaces(mtdb, program):
    _, held = said(program)
    shown = answers(mtdb, program, [name for name, *_ in held])
    for name, dynamic, value in held:
        if name == "boom":
            assert shown[name] == 'error(*errors.errorString) *{s = "boom"}'
            continue
        if shown[name].startswith("{tab ="):  # Go's linker left the type out of the DWARF
            continue
        static = "main.Shape" if name in ("point", "wide", "coded") else "interface {}"
        found = re.fullmatch(r"(.*?)\((.*?)\) (.*)", shown[name])
        assert found and (found[1], found[2], as_go(found[3])) == (static, dynamic, value), shown[name]


def test_within_one_another(mtdb, program):
    shown = answers(mtdb, program, ["wrapped", "missing", "nilError", "list", "table", "/r boom"])
    assert shown["wrapped"] == ('error(*fmt.wrapError) *{msg = "outer: boom", '
                                'err = error(*errors.errorString) *{s = "boom"}}')
    assert re.fullmatch(r'error\(\*(io/)?fs\.PathError\) \*\{Op = "open", Path = "/nonexistent", '
                        r'Err = error\(syscall\.Errno\) 2\}', shown["missing"])
    assert shown["nilError"] == "error nil"
    assert shown["list"] == "interface {}([]int) []int = {0, -7, 0}"
    assert re.match(r"interface \{\}\(map\[string\]int\) map\[string\]int = \{\[", shown["table"])
    assert re.match(r"\{tab = 0x[0-9a-f]+ .*, data = 0x[0-9a-f]+\}$", shown["/r boom"])


def test_within_itself(mtdb, program):
    shown = answers(mtdb, program, ["ring", "ring[\"c\"]"])
    assert len(shown["ring"]) < 20000 and "interface {}(map[string]interface {}) ..." in shown["ring"]
    assert shown['ring["c"]'].startswith("interface {}(*main.Node) *{left = interface {}(map[string]interface {}) map")


def test_arguments(mtdb, program):
    begin = [f"break debug_go.go:{line_of('debug_go.go', 'BREAK')}", "run"]
    done = subprocess.run([mtdb, "-batch", *(word for line in begin for word in ("-ex", line)), program],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
    assert re.search(r"e=error\(\*fmt\.wrapError\) 0x[0-9a-f]+[,)]", done.stdout), done.stdout


ERRORS = {
    "cap(s)": "cap() is not defined for string.",
    "cap(m)": "cap() is not defined for map[string]int.",
    "len(code)": "len() is not defined for main.Code.",
    "len(v": 'A syntax error in expression, near `\'.',
    "v[3]": "index out of range [3] with length 3",
    "v[-1]": "index out of range [-1] with length 3",
    "s[5]": "index out of range [5] with length 5",
    'm["k"]': "The map has no such key.",
    'nilMap["a"]': "The map has no such key.",
    "n[1.5]": "The subscript is no key of a map[int]string.",
    "m[1]": "The subscript is no key of a map[string]int.",
    "point.(main.Wide)": "interface conversion: main.Shape is *main.Point, not main.Wide",
    "nilError.(data)": "interface conversion: error is nil, not data",
    "s.(data)": "string is not an interface.",
    "wide.(": "A type assertion is x.(T), where T is a type or `data'.",
}


def test_errors(mtdb, program):
    assert answers(mtdb, program, ERRORS) == ERRORS


HOLDS = {
    "len(v) == 3 && cap(v) == 10": True, "len(v) > 3": False, "len(m) == 3": True, "len(n) == 1": False,
    'm["key"] == 42': True, 'm["key"] == 41': False, "n[3].len == 5": True, "v[1] == -7": True, "v[1] == 7": False,
}


def test_conditions(mtdb, program, tmp_path):
    """The same, compiled or not, of the arguments at the entry."""
    triggers = [word for condition in HOLDS for word in ("--trigger", f"main.look if {condition}")]
    done = subprocess.run([mtdb, "run", "-e", "calls", "-o", tmp_path / "out.json", *triggers, "--", program],
                          capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr
    assert [number for number, _ in values_in(tmp_path / "out.json")] == [
        number for number, holds in enumerate(HOLDS.values(), 1) if holds]
