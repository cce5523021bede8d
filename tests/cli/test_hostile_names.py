# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that a traced program calls itself, or its parts, speaks to the terminal."""
import re
import subprocess

import pytest

from conftest import BUILD, FIXTURES

# The title of a window, in both ways to begin that; colours; what turns a line around; no UTF-8.
ATTACK = b"\x1b]2;o\x07\xc2\x9b7m\xe2\x80\xae\x9b\x7f\r"
OURS = re.compile(r"\x1b\[[0-9;]*m")  # colours
SPEAKS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def attack(name):
    """In place of a name, and as long."""
    attacked = b"E" + ATTACK
    return (attacked + name[len(attacked):])[:len(name)]


@pytest.fixture(name="program", scope="module")
def make_program(need, tmp_path_factory):
    """All of it is hostile: its names, its file's, its source's."""
    directory = tmp_path_factory.mktemp("hostile")
    source = directory / (b"s" + ATTACK).decode("utf-8", "surrogateescape")
    program = source.with_name(source.name + "p")
    source.write_bytes((FIXTURES / "hostile_names.c").read_bytes())
    subprocess.run([need("gcc"), "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-x", "c",
                    "-o", program, source], check=True)
    code = re.sub(rb"hostile_0+_\w+|hostile_th_0000", lambda found: attack(found[0]), program.read_bytes())
    program.write_bytes(code)
    return program


@pytest.fixture(name="recording", scope="module")
def make_recording(program, mtdb):
    path = program.with_name(program.name + ".perf")
    done = subprocess.run([mtdb, "run", "-e", "calls", "--events=marks",
                           "--args=*", "-r", path, "-o", program.with_name("x.fxt"), "--", program],
                          capture_output=True, check=False)
    check(done)
    assert path.exists(), done.stderr
    return path


def shown(output):
    text = output.decode("utf-8")  # or it is no text
    found = SPEAKS.search(OURS.sub("", text))
    assert not found, text[max(0, found.start() - 200):found.end() + 40]
    return text


def check(done):
    return shown(done.stdout) + shown(done.stderr)


def test_the_attack_is_there(program):
    code = program.read_bytes()
    assert attack(b"hostile_00000000000_callee") in code and attack(b"hostile_th_0000") in code
    assert attack(b"hostile_00000000000_callee").endswith(b"_callee")


@pytest.mark.parametrize("command", [
    ["history"], ["history", "-n", "10"], ["decode", "-f", "text", "-o", "-"],
], ids=" ".join)
def test_of_a_recording(mtdb, recording, command):
    done = subprocess.run([mtdb, *command, recording], capture_output=True, check=False)
    assert "E?]2;o" in check(done)


@pytest.mark.parametrize("words", [["plan"], ["plan", "--patches"], ["run", "-t", "no\x1b[mne", "--"],
                                   ["attach", "-p", "1\x1b"], ["history"], ["no\x1b]2;ne\x07"]], ids=repr)
def test_of_a_program(mtdb, program, words, tmp_path):
    done = subprocess.run([mtdb, *words, program], capture_output=True, check=False, cwd=tmp_path)
    assert len(check(done)) > 20


PROMPT = """info functions .
info variables .
info types .
mtrace start
run
bt
bt full
info threads
frame
up
info frame
info locals
info args
info source
info line
info symbol $pc
info sharedlibrary
info registers rip
info inferiors
list
disassemble
x/3i $pc
x/s hostile
print *$rdi
thread find .
thread apply all bt
thread name a\x1bb
info threads
mtrace info
mtrace history
break no\x1b]2;where
print no\x1b]2;thing
tbreak 1
info breakpoints
mtrace trigger 1
frame function 1
kill
"""


def test_at_the_prompt(mtdb, program, tmp_path):
    commands = [word for line in PROMPT.splitlines() for word in ("-ex", line)]
    done = subprocess.run([mtdb, "-batch", *commands, program], capture_output=True, check=False,
                          cwd=tmp_path, stdin=subprocess.DEVNULL)
    text = check(done)
    assert len(re.findall(r"^#\d .*E\?\]2;o", text, re.MULTILINE)) >= 4, text


def test_in_gdb(need, program, tmp_path):
    """Of what is ours: GDB prints names as they are."""
    commands = ["source " + str(BUILD / "mtrace.py"), "mtrace start", "run", "echo <<<", "mtrace info",
                "mtrace history", "mtrace plan", "mtrace trigger no\x1b[mne"]
    done = subprocess.run([need("gdb"), "-nx", "-batch", *[word for command in commands for word in ("-ex", command)],
                           program], capture_output=True, check=False, cwd=tmp_path, stdin=subprocess.DEVNULL)
    text = shown(done.stdout.partition(b"<<<")[2])
    assert "0_callee" in text and "Thread" in text


def test_on_a_terminal(mtdb, recording):
    pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")
    for words in (["history"], ["dump"], ["browse"]):
        child = pexpect.spawn(str(mtdb), [*words, str(recording)], timeout=60, env={"TERM": "xterm"})
        if words == ["browse"]:
            child.expect("0_callee")
            child.send("q")
        output = (child.before or b"") + child.read()
        # ncurses speaks, but not that
        assert not re.search(rb"\x1b\]|\x9b|\x07|\xe2\x80\xae", output), output
