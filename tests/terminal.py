# SPDX-License-Identifier: GPL-3.0-or-later
"""Terminals that tests look into."""
import signal
import termios
import time

import pytest

STDIN = 0


def keep_output():
    """For pexpect's preexec_fn: at Ctrl-C a terminal throws away what is on its way to the reader,
    right after it sent the signal, and so perhaps what was printed in answer to that."""
    attributes = termios.tcgetattr(STDIN)
    attributes[3] |= termios.NOFLSH
    termios.tcsetattr(STDIN, termios.TCSANOW, attributes)


def end_child(child):
    """pexpect's own close(force=True) gives a killed one a tenth of a second to end."""
    if child.isalive():
        child.kill(signal.SIGKILL)
        child.wait()
    child.close()


class Screen:
    """What a terminal of so many rows and columns shows, of a pexpect child that speaks text."""

    def __init__(self, child, rows, columns, frame=0):
        pyte = pytest.importorskip("pyte", reason="no pyte here (package python3-pyte)")
        self.child = child
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.Stream(self.screen)
        self.frame = frame
        self.raw = ""

    @property
    def text(self):
        return "\n".join(self.screen.display)

    @property
    def selected(self):
        """The line of the list that is selected, without what frames the list."""
        lines = [line[self.frame:].strip() for line in self.screen.display
                 if line[self.frame:self.frame + 1] == ">"]
        return lines[0].rstrip("x│| ") if len(lines) == 1 else ""

    @property
    def place(self):
        """The line that is selected, and where it stands: there may be others that look like it."""
        rows = [row for row, line in enumerate(self.screen.display) if line[self.frame:self.frame + 1] == ">"]
        return rows, self.selected

    def wait(self, shows):
        """Until the screen shows something: a text, or a condition."""
        pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")
        end = time.monotonic() + 60
        condition = shows if callable(shows) else lambda: shows in self.text
        while not condition():
            assert time.monotonic() < end, self.text
            try:
                self.take(self.child.read_nonblocking(65536, 0.2))
            except pexpect.TIMEOUT:
                pass

    def take(self, text):
        self.raw += text
        self.stream.feed(text)

    def press(self, keys, shows):
        self.child.send(keys)
        self.wait(shows)

    def say(self, line, shows):
        self.press(line + "\r", shows)

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.child.setwinsize(rows, columns)
