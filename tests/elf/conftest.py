# SPDX-License-Identifier: GPL-3.0-or-later
"""elf_dump, which answers questions about an object file, and the programs that it is asked about."""
import collections
import pathlib
import re
import shutil
import subprocess

import pytest

from core_library import core_library

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

Symbol = collections.namedtuple("Symbol", "start end kind flags raw name")
Frame = collections.namedtuple("Frame", "name file line")

SYMBOL, PLT, FDE = 0, 1, 2
SIGNAL_RETURN, COLD, RESOLVER = 1, 2, 4


class Dump:
    """One objfile, asked in one go."""

    def __init__(self, program, path, *options):
        self.command = [str(program), *map(str, options), str(path)]

    def run(self, questions):
        text = "".join("\t".join(map(str, question)) + "\n" for question in questions)
        done = subprocess.run(self.command, input=text, text=True, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"status {done.returncode}")
        answers = done.stdout.split("\n\n")
        return [[line.split("\t") for line in answer.strip("\n").split("\n") if line]
                for answer in answers[: len(questions)]]

    def symbols(self):
        [rows] = self.run([("symbols",)])
        return [Symbol(int(row[0], 16), int(row[1], 16), int(row[2]), int(row[3]), row[4], row[5])
                for row in rows]

    def at(self, addresses):
        answers = self.run([("at", hex(address)) for address in addresses])
        return [[Frame(row[0], row[1], int(row[2])) for row in rows] for rows in answers]

    def spans(self, addresses):
        answers = self.run([("span", hex(address)) for address in addresses])
        return [(int(rows[0][0], 16), int(rows[0][1], 16), int(rows[0][2])) for rows in answers]

    def find(self, name):
        [rows] = self.run([("name", name)])
        return [int(row[0], 16) for row in rows]

    def function_symbol(self, name):
        [rows] = self.run([("function", name)])
        return int(rows[0][0], 16)

    def line(self, file, line):
        [rows] = self.run([("line", file, line)])
        return [(int(row[0], 16), int(row[1])) for row in rows]

    def info(self):
        [rows] = self.run([("info",)])
        return rows[0]

    def pages(self, questions):
        """How many were read of .debug_info and .debug_line once these were asked."""
        info, line = self.run([*questions, ("pages",)])[-1][0]
        return int(info), int(line)

    def read(self, address, size):
        [rows] = self.run([("read", hex(address), size)])
        return bytes.fromhex(rows[0][0]) if rows else b""


@pytest.fixture(scope="session")
def dump(build, compile):
    """dump(path, "-d", directory, …) -> Dump"""
    sanitizer = re.search(r"san-(\w+)", str(build))
    flags = [f"-fsanitize={sanitizer[1]}"] if sanitizer else []
    program = compile("elf_dump.c", *flags, "-D_GNU_SOURCE", f"-I{ROOT}/core",
                      *core_library(build))
    return lambda path, *options: Dump(program, path, *options)


@pytest.fixture
def tool(need):
    """tool("readelf", …) -> what it prints."""

    def run(name, *words, **options):
        return subprocess.run([need(name), *map(str, words)], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options).stdout

    return run


@pytest.fixture
def copy(tmp_path):
    """copy(path) -> a copy that a test may change."""

    def make(path, name=None):
        target = tmp_path / (name or path.name)
        shutil.copy(path, target)
        return target

    return make
