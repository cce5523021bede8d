# SPDX-License-Identifier: GPL-3.0-or-later
"""Terminals that tests look into."""
import termios

STDIN = 0


def keep_output():
    """For pexpect's preexec_fn: at Ctrl-C a terminal throws away what is on its way to the reader,
    right after it sent the signal, and so perhaps what was printed in answer to that."""
    attributes = termios.tcgetattr(STDIN)
    attributes[3] |= termios.NOFLSH
    termios.tcsetattr(STDIN, termios.TCSANOW, attributes)
