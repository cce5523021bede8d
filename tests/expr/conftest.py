# SPDX-License-Identifier: GPL-3.0-or-later
"""expr_dump, which does a debugger's commands on a core file, and GDB, which does them too."""
import os
import pathlib
import re
import subprocess

import pytest

from core_library import core_library

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIXTURES = ROOT / "tests" / "fixtures"

# Each command behind a line "@@@ COMMAND", then what it shows.
GDB = """
import gdb
for line in open({commands!r}):
    line = line.rstrip("\\n")
    print("@@@ " + line)
    try:
        text = gdb.execute(line, to_string=True)
        print(text, end="" if text.endswith("\\n") else "\\n")
    except gdb.error as error:
        print(str(error))
"""
SETTINGS = ["set confirm off", "set debuginfod enabled off", "set width 0", "set pagination off",
            "set max-value-size unlimited"]


def parse(text):
    """[(command, what it showed)], without numbers of the history."""
    pairs = []
    for part in re.split(r"^@@@ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        shown = re.sub(r"^\$\d+ = (Value can't|Undefined output)?", r"\1", shown)
        frame = re.match(r"#\d+ .*?(?:in )?(\S+ \(.*\)) at ", shown)
        pairs.append((command, frame[1] if frame else shown.strip("\n")))
    return pairs


@pytest.fixture(name="dump", scope="session")
def dump_of_core(build, compile):
    """dump(core, commands) -> [(command, what it showed)]"""
    sanitizer = re.search(r"san-([\w,-]+)", str(build))
    flags = [f"-fsanitize={sanitizer[1]}"] if sanitizer else []
    program = compile("expr_dump.c", *flags, "-D_GNU_SOURCE", f"-I{ROOT}/core",
                      *core_library(build))

    def run(core, commands):
        done = subprocess.run([program, str(core)], input="\n".join(commands) + "\n", text=True,
                              capture_output=True, check=False, errors="replace", timeout=120)
        assert done.returncode == 0, done.stderr[-4000:]
        return parse(done.stdout)

    return run


@pytest.fixture(name="gdb")
def gdb_to_the_line(need, tmp_path):
    """gdb(program, source, commands) -> (core, [(command, what it showed)]), at the line BREAK."""
    path = need("gdb")

    def run(program, source, commands, place=None):
        if place is None:
            lines = (FIXTURES / source).read_text().splitlines()
            line = next(i for i, text in enumerate(lines, 1) if "BREAK */" in text)
            place = f"{source}:{line}"
        wanted = tmp_path / "commands"
        wanted.write_text("\n".join(commands) + "\n")
        script = tmp_path / "script.py"
        script.write_text(GDB.format(commands=str(wanted)))
        core = tmp_path / "core"
        first = [*SETTINGS, f"break {place}", "run >/dev/null", f"gcore {core}",
                 f"source {script}", "kill"]
        words = [word for command in first for word in ("-ex", command)]
        done = subprocess.run([path, "-nx", "-q", "-batch", *words, str(program)], text=True,
                              capture_output=True, check=False, errors="replace", timeout=300,
                              env={**os.environ, "LC_ALL": "C"})
        if not core.exists():
            pytest.skip(f"gdb cannot run a program here: {done.stderr.strip()[-300:]}")
        return core, parse(re.sub(r"\[Inferior \d+ .*\n", "", done.stdout))

    return run
