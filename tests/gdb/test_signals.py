# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers that return to where a patch would stand by then."""
import pytest


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_signals_while_the_text_is_pristine(gdb, compile, level):
    """Stepping, in the program's own text, is interrupted anywhere; the patches come back while the
    handler still runs."""
    program = compile("debugged_alarms.c", level)
    steps = ["break handler"]
    for i in range(60):
        steps += ["disable 2", "tbreak branch", "continue", f"stepi {i % 23 + 1}",
                  "shell sleep 0.003", "enable 2", "stepi", "bt 3"]
    steps += ["delete", "continue"]
    session = gdb(program, "handle SIGALRM nostop noprint pass", "mtrace start", "tbreak branch",
                  "run", *steps, timeout=300)
    assert "right" in session.lines, session.all[-2000:]
    assert "exited normally" in session.output
    assert session.output.count("Breakpoint 2, handler") > 30
