# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of the calls that a crash leaves open, in both debuggers: GDB's `bt` is the truth."""
import re
import subprocess

import fxt


def numbers(text, pattern):
    return [tuple(map(int, found)) for found in re.findall(pattern, text)]


def test_as_in_the_backtrace(gdb, mtdb, compile, tmp_path):
    """In the history, outermost first, and in the file that was written at the crash.  At
    main's breakpoint nothing crashed, and none are shown."""
    program = compile("calls_open.cpp", "-O0", "-pthread")
    commands = ["break main", "mtrace start", "run fault 5",
                "mtrace history 5", "continue", "mtrace history 400", "bt"]
    theirs = gdb(program, *commands)
    place = tmp_path / "mtdb"
    place.mkdir()
    words = [word for command in commands for word in ("-ex", command)]
    ours = subprocess.run([mtdb, "-batch", *words, program], cwd=place, text=True, timeout=120,
                          capture_output=True, check=False, stdin=subprocess.DEVNULL)
    truth = numbers(theirs.output, r"#\d+ .*walk\b.*depth=(\d+)\)")[::-1]
    assert len(truth) == 6, theirs.output
    for output, file in ((theirs.output, tmp_path / "trace-1.fxt"), (ours.stdout, place / "trace-1.fxt")):
        assert numbers(output, r" open +(?:\+\d+ )?walk.*depth=(\d+)\)") == truth, output
        given = [piece.args["arguments"] for thread in fxt.read(file).threads.values()
                 for piece in thread.slices()
                 if piece.name.startswith("walk") and "arguments" in piece.args]
        assert numbers("\n".join(given), r"depth=(\d+)") == truth
