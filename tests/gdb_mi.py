# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB's machine interface over a pipe, as editors speak it, and its records read back."""
import re
import subprocess
import threading


class Machine:
    """A GDB that speaks MI.  say() returns the lines up to the prompt, and, of a command that makes
    the program run, up to where it stopped."""

    def __init__(self, words, folder):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            words, cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.timer = threading.Timer(120, self.process.kill)
        self.timer.start()
        self.prompt()

    def prompt(self):
        lines = []
        for line in self.process.stdout:
            if line.rstrip() == "(gdb)":
                break
            lines.append(line.rstrip("\n"))
        return lines

    def send(self, command):
        """What GDB answers at once, while the program runs."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.prompt()

    def say(self, command):
        lines = self.send(command)
        while (any(line.startswith("^running") for line in lines)
               and not any(line.startswith("*stopped") for line in lines)):
            more = self.prompt()
            assert more, f"GDB ended: {lines}"
            lines += more
        return lines

    def wait(self, lines):
        """In asynchronous mode no prompt comes when the program stops."""
        while not any(line.startswith("*stopped") for line in lines):
            lines = self.send("-list-features")

    def console(self, command):
        return self.say(f'-interpreter-exec console "{command}"')

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(60)
        self.timer.cancel()
        self.process.stdout.close()
        return status


def printed(lines):
    """The console's text."""
    texts = [line[2:-1] for line in lines if line.startswith('~"')]
    return "".join(texts).replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t")


NAME = r"[A-Za-z_][\w-]*="


class Records:
    """What follows the class of a record, by the grammar in GDB's manual ("GDB/MI Output Syntax")."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def take(self, pattern):
        match = re.compile(pattern).match(self.text, self.at)
        assert match, f"no MI at {self.at} of {self.text}"
        self.at = match.end()
        return match[0]

    def next_is(self, letter):
        return self.text[self.at:self.at + 1] == letter

    def results(self, end):
        found = {}
        while self.at < len(self.text) and not self.next_is(end):
            name = self.take(NAME)[:-1]
            assert name not in found, f"{name} twice in {self.text}"
            found[name] = self.value()
            if not self.next_is(","):
                break
            self.take(",")
        return found

    def value(self):
        if self.next_is('"'):
            return re.sub(r"\\(.)", lambda one: {"n": "\n", "t": "\t"}.get(one[1], one[1]),
                          self.take(r'"(?:[^"\\]|\\.)*"')[1:-1])
        if self.next_is("{"):
            self.take("{")
            found = self.results("}")
            self.take("}")
            return found
        self.take(r"\[")
        found = []
        while not self.next_is("]"):
            if self.text[self.at] not in '"{[':
                self.take(NAME)
            found.append(self.value())
            if self.next_is(","):
                self.take(",")
        self.take("]")
        return found


def record(line):
    """(class, {name: value}) of "^done,a=[…]", "*stopped,…"; all of the line is read."""
    head, _, rest = line.partition(",")
    records = Records(rest)
    found = records.results("")
    assert records.at == len(rest), line
    return head, found
