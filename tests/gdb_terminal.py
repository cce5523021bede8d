# SPDX-License-Identifier: GPL-3.0-or-later
"""How tests speak with a GDB at a terminal: the fixture `terminal` gives one."""
PROMPT = r"\(gdb\) "


def say(child, command):
    """What the command printed."""
    child.sendline(command)
    child.expect_exact(command)
    child.expect(PROMPT)
    return child.before
