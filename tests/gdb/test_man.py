# SPDX-License-Identifier: GPL-3.0-or-later
"""The man page tells of the same commands, options and settings as GDB's help; and as it is shown,
no mark of its source is left."""
import re
import subprocess

from conftest import ROOT, need_tool

import pytest


@pytest.fixture(name="page", scope="module")
def page_fixture():
    return (ROOT / "docs/man/mtrace-gdb.7.md").read_text()


def section(page, name):
    return re.search(rf"^# {name}\n(.*?)(?=^# )", page, re.M | re.S)[1]


def commands_of(page):
    """{name: text below its heading}"""
    parts = re.split(r"^## ", section(page, "COMMANDS"), flags=re.M)[1:]
    return {name: part for part in parts
            for name in re.findall(r"mtrace (\w+)", part.split("\n")[0])}


def test_commands(gdb, page):
    listed = re.findall(r"^mtrace (\S+) --", gdb(None, "help mtrace").output, re.M)
    assert sorted(listed) == sorted(commands_of(page))


def test_options(gdb, page):
    for name, text in commands_of(page).items():
        if "mtdb" in text and "mtrace decode" in text.split("\n")[0]:
            continue  # of mtdb's own page
        said = gdb(None, f"help mtrace {name}").output
        options = re.findall(r"^  (-[a-z]+)", said, re.M)
        assert sorted(options) == sorted(re.findall(r"^\*\*(-[a-z]+)", text, re.M)), name


def test_settings(gdb, page):
    listed = re.findall(r"^set mtrace (\S+) --", gdb(None, "help set mtrace").output, re.M)
    lines = re.findall(r"^\*\*[a-z-]+\*\*.*$", section(page, "SETTINGS"), re.M)
    assert sorted(listed) == sorted(name for line in lines
                                    for name in re.findall(r"\*\*([a-z-]+)\*\*", line))


@pytest.mark.parametrize("name", ["mtdb.1", "mtrace-gdb.7"])
def test_marks(tmp_path, name):
    need_tool("pandoc")
    made = tmp_path / "man" / name
    subprocess.run(["make", "-s", f"BUILD={tmp_path}", made], cwd=ROOT, check=True)
    shown = subprocess.run([need_tool("man", "man-db"), "-l", made], check=True, text=True,
                           capture_output=True).stdout
    lines = [line for line in shown.splitlines() if not line.strip().startswith("def ")]
    assert len(lines) > 100 and not [line for line in lines if "**" in line or "\\_" in line]


LINES = """
#include <string.h>
__attribute__((noinline)) int parse_line(const char *line, int length)
{
	return line[length - 1];
}
int main(void)
{
	char line[100];
	memset(line, 'x', sizeof(line));
	for (int i = 1; i <= 100; i++)
		parse_line(line, i);
	return 0;
}
"""


def test_the_script_in_the_examples(gdb, page, compile):
    """It prints five calls at each hit, the last of them open, and stops at the tenth."""
    text = section(page, "EXAMPLES")
    lines = re.findall(r"^    >(.*)$", text, re.M)
    assert lines[-1] == "end"
    script, source = gdb.directory / "script.py", gdb.directory / "lines.c"
    script.write_text("\n".join(lines[:-1]) + "\n")
    source.write_text(LINES)
    session = gdb(compile(source, "-O0"), "mtrace start", f"source {script}", "run", "print length")
    assert session.lines[-1] == "$1 = 90"
    told = re.findall(r'^line=.*, length=(\d+) (\w+) \S+lines.c 12$', session.output, re.M)
    assert [int(length) for length, _ in told] == [
        length for hit in range(81, 91) for length in range(hit - 4, hit + 1)]
    assert all((duration == "None") == (i % 5 == 4) for i, (_, duration) in enumerate(told))


def test_functions(gdb, page):
    listed = re.findall(r"^function (_mtrace_\w+) --", gdb(None, "help function").output, re.M)
    for name in listed:
        if name != "_mtrace_fire":  # the triggers' own
            assert f"${name}()".replace("_", "\\_") in page
