# SPDX-License-Identifier: GPL-3.0-or-later
"""The launch.json of the man page, as Visual Studio Code's extensions take it: GDB is driven over a pipe by
the commands that they send for it.  Those of cppdbg are in the order of MIEngine's
DebuggedProcess.GetInitializeCommands(), those of Native Debug in that of its MI2.load()."""
import json
import re
from pathlib import Path

import pytest

from gdb_mi import printed, record

MAN = Path(__file__).parents[2] / "docs/man/mtrace-gdb.7.md"
SETTINGS = re.compile(r"^    (\{\n(?:        .*\n)*    \})$", re.M)


def escaped(text):
    return re.sub(r'([\\"])', r"\\\1", text)


def without_tokens(lines):
    """Also a proof that MI's stream is whole: each line is a record or a piece of a stream."""
    lines = [re.sub(r"^\d+(?=[\^*+=])", "", line) for line in lines]
    for line in lines:
        if line[0] in "^*+=":
            record(line)
        else:
            assert re.fullmatch(r'[~&@]"(?:[^"\\]|\\.)*"', line), line
    return lines


class Editor:
    """Numbers its commands, and knows what was answered."""

    def __init__(self, machine, words):
        self.machine, self.number, self.lines = machine(words), 1000, []

    def send(self, command):
        """What is answered at once."""
        self.number += 1
        lines = without_tokens(self.machine.send(f"{self.number}-{command}"))
        self.lines += lines
        return lines

    def done(self, command):
        """The fields of its answer, which is no failure."""
        lines = self.send(command)
        answers = [record(line) for line in lines if line[0] == "^"]
        assert len(answers) == 1 and answers[0][0] in ("^done", "^running"), lines
        return answers[0][1], lines

    def console(self, command):
        return printed(self.done(f'interpreter-exec console "{escaped(command)}"')[1])

    def goes(self, command):
        """Up to the next stop, which comes without a prompt in asynchronous mode; its fields."""
        lines = self.done(command)[1]
        while not any(line.startswith("*stopped") for line in lines):
            lines += self.send("list-features")
        stop, = [record(line)[1] for line in lines if line.startswith("*stopped")]
        return stop


@pytest.fixture(name="editor")
def editor_fixture(machine, compile, plugin, tmp_path):
    """editor(type) -> (the Editor, its settings) of deep.c."""
    program = compile("deep.c", "-O0")

    def make(kind):
        text = SETTINGS.search(MAN.read_text())[1]
        for name, value in (("${workspaceFolder}/program", program), ("${workspaceFolder}", tmp_path),
                            ("PREFIX/share/mtrace/mtrace.py", plugin)):
            assert name in text
            text = text.replace(name, str(value))
        settings, = [one for one in json.loads(text)["configurations"] if one["type"] == kind]
        words = {"cppdbg": ["-nx", "--interpreter=mi"], "gdb": ["-nx", "-q", "--interpreter=mi2"]}
        return Editor(machine.raw, words[kind]), settings

    return make


def look_around(editor, first):
    """What both ask for at a stop, and then what the user types."""
    assert first["reason"] == "breakpoint-hit" and first["frame"]["func"] == "b"
    assert editor.done("thread-info")[0]["current-thread-id"] == "1"
    frames = editor.done("stack-list-frames --thread 1 0 20")[0]
    assert "main" in str(frames)
    assert editor.done("stack-list-variables --thread 1 --frame 0 --simple-values")[0]["variables"]
    assert editor.done("var-create --thread 1 --frame 0 - * \"how\"")[0]["value"].startswith("102")
    assert "Recording process" in editor.console("mtrace info")
    assert re.search(r" open +b(\(how=\d+\))? +deep.c:\d+", editor.console("mtrace history 3"))
    assert editor.goes("exec-next")["reason"] == "signal-received"
    assert re.search(r" open +c\b.*\n.*\*\*\* SIGSEGV", editor.console("mtrace history"))


@pytest.mark.parametrize("stops_for_libraries", [False, True], ids=["", "solib-events"])
def test_cppdbg(editor, tmp_path, stops_for_libraries):
    editor, settings = editor("cppdbg")
    editor.send("gdb-set target-async on")
    for one in settings["setupCommands"]:
        if one["text"].startswith("-"):
            editor.done(one["text"][1:])
        else:
            editor.console(one["text"])
    editor.console("set pagination off")
    if stops_for_libraries:
        editor.done("gdb-set stop-on-solib-events 1")
    editor.done(f"environment-cd {settings['cwd']}")
    editor.done(f"file-exec-and-symbols {settings['program']}")
    assert "x86-64" in editor.console("show architecture")
    editor.done("exec-arguments fault")
    main = editor.done("break-insert main")[0]["bkpt"]["number"]
    editor.done("break-insert -f b")
    stop = editor.goes("exec-run")
    if stops_for_libraries:
        assert stop["reason"] == "solib-event"
        editor.done("gdb-set stop-on-solib-events 0")
        stop = editor.goes("exec-continue")
    assert stop["frame"]["func"] == "main"
    editor.done(f"break-delete {main}")
    look_around(editor, editor.goes("exec-continue"))
    assert (tmp_path / "trace-1.fxt").exists()
    assert [one["number"] for one in editor.done("mtrace-info")[0]["snapshots"]] == ["1"]
    assert "^exit" in editor.send("gdb-exit")


def test_native_debug(editor, tmp_path):
    """It does not wait for an answer before it sends the next command."""
    editor, settings = editor("gdb")
    commands = ["gdb-set target-async on", "list-features",
                f"environment-directory \"{escaped(settings['cwd'])}\"",
                f"file-exec-and-symbols \"{escaped(settings['target'])}\"", "enable-pretty-printing",
                "exec-arguments fault",
                *(f'interpreter-exec console "{escaped(one)}"' for one in settings["autorun"]),
                'break-insert -f "b"']
    editor.machine.process.stdin.write("".join(
        f"{number}-{command}\n" for number, command in enumerate(commands, 1)))
    editor.machine.process.stdin.flush()
    for command in commands:
        lines = editor.machine.prompt()
        without_tokens(lines)
        assert any(re.match(r"\d+\^done", line) for line in lines), (command, lines)
    look_around(editor, editor.goes("exec-run"))
    assert (tmp_path / "trace-1.fxt").exists()
    assert "^exit" in editor.send("gdb-exit")
