# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs in Python, and which of its functions are open when one dies: as Python's own
faulthandler says, and as we do."""
import collections
import os
import re
import shutil
import subprocess

import pytest

PYTHON = "/usr/bin/python3.11"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libpython3.11.so"
INCLUDE = "-I/usr/include/python3.11"


def prepare(compile, place):
    """In PLACE dies.py, which is fixtures/python_dies.py, beside the module that it imports.  Its
    path."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")
    if not os.path.exists(LIBRARY):
        pytest.skip(f"{LIBRARY} is missing (package libpython3.11-dev)")
    module = compile("python_dies.c", "-O1", "-fPIC", "-shared", INCLUDE, output="python_dies.so")
    shutil.copy(module, place)
    return shutil.copy(compile.__globals__["FIXTURES"] / "python_dies.py", place / "dies.py")


def counts_in(said):
    """{(function, file, line): how often it was called}, as fixtures/python_calls.py says."""
    return {tuple(line.rsplit(" ", 3)[:3]): int(line.rsplit(" ", 1)[1])
            for line in said.splitlines()}


def slices_in(text):
    """{(function, file, line): how many slices there are}."""
    return collections.Counter(
        re.findall(r"(?:\+\d+ | )([^ ]+)\(([^()]*):(\d+)\) \(Python\)", text))


def character(escape):
    """What faulthandler has escaped; a byte that was none is shown as such."""
    number = int(escape[0][2:], 16)
    return "\ufffd" if 0xdc80 <= number < 0xdd00 else chr(number)


def traceback_in(text):
    """[(function, file, line)] of the thread that died, innermost first; None: there are more."""
    current = text.partition("Current thread ")[2].partition("\n\n")[0]
    current = re.sub(r"\\(?:x..|u....|U.{8})", character, current)
    frames = [(name, file, int(line)) for file, line, name in
              re.findall(r'File "(.*)", line (\d+) in (.*)', current)]
    return [*frames, None] if "\n  ..." in current else frames


def truth_of(script, how):
    done = subprocess.run([PYTHON, "-X", "faulthandler", script, how], text=True,
                          capture_output=True, check=False, timeout=60)
    assert done.returncode < 0, done.stderr
    return traceback_in(done.stderr)


def open_in(text):
    """The same, out of a history."""
    return [(name.rpartition(".")[2], file, int(line)) for name, file, line in
            re.findall(r"(?:open|…) +(?:\+\d+ )?([^ ]+)\(at (.*):(\d+)\) \(Python\)", text)][::-1]
