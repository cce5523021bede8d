# SPDX-License-Identifier: GPL-3.0-or-later
"""All calls of functions in Python, at both debuggers' prompts: mtrace start -python-calls."""
import os
import re
import subprocess

import pytest
from pythons import PYTHON

from conftest import FIXTURES

INLINE = FIXTURES / "python_inline.py"
SCRIPT = """
import ctypes, os
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def outer(number):
    def inner(x):
        return x + number
    return inner(1) + inner(2)
def evaluator():
    get = ctypes.pythonapi.PyInterpreterState_Get
    get.restype = ctypes.c_void_p
    return ctypes.c_uint64.from_address(get() + 1424).value
def main():
    print(fib(10), outer(3))
    had = evaluator()
    os.getppid()
    print("evaluator", had != 0, evaluator() != 0)
main()
"""


@pytest.fixture(name="script")
def script_fixture(tmp_path):
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def slices_of(function, script, text):
    return len(re.findall(rf" {re.escape(function)}\({script}:\d+\) \(Python\)", text))


def test_each_is_a_slice(either, script, tmp_path):
    lines = either(PYTHON, f"-S {script}", "mtrace start -size 64M -python-calls", "break getppid", "run",
                   "mtrace snapshot x.txt", "mtrace grep inner", "mtrace stop", "delete", "continue")
    text = (tmp_path / "x.txt").read_text()
    assert "55 9" in lines and "evaluator True False" in lines, "\n".join(lines)
    assert slices_of("fib", script, text) == 177
    assert slices_of("outer.<locals>.inner", script, text) == 2
    assert sum(" outer.<locals>.inner(" in line for line in lines) == 2


def test_without_the_option(either, script, tmp_path):
    lines = either(PYTHON, f"-S {script}", "mtrace start -size 64M", "break getppid", "run",
                   "mtrace snapshot x.txt", "delete", "continue")
    assert "evaluator False False" in lines, "\n".join(lines)
    assert slices_of("fib", script, (tmp_path / "x.txt").read_text()) == 0


def test_gdbs_setting(gdb, script):
    session = gdb(PYTHON, f"set args -S {script}", "set mtrace python-calls on", "show mtrace python-calls",
                  "mtrace start", "break getppid", "run", "mtrace stats fib")
    assert "are recorded: on" in session.output and re.search(r" 177 .* fib ", session.output)


@pytest.mark.parametrize("stack", [0, 1 << 16])
def test_recursion_that_would_not_fit(either, stack):
    """It goes as deep as alone, and its errors come at the same depth."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")
    words = f"-S {INLINE} deep {stack} 60000"
    alone = subprocess.run([PYTHON, *words.split()], text=True, capture_output=True, check=True, timeout=60)
    lines = either(PYTHON, words, "mtrace start -python-calls", "run")
    assert [line for line in lines if line in alone.stdout.splitlines()] == alone.stdout.splitlines()
    assert sum("recurses so deep in Python" in line for line in lines) == 1


def test_a_trigger_in_its_place(either, script):
    lines = either(PYTHON, f"-S {script}", "mtrace start -python-calls",
                   "mtrace trigger -max 1 _PyEval_EvalFrameDefault if $rdi == 1", "run")
    assert "evaluator False False" in lines, "\n".join(lines)
    assert sum("nothing would look at how deep it recurses" in line for line in lines) == 1
