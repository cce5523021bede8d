# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a recording that goes on: mtrace info, and variables for scripts."""
import re


def test_rings_and_snapshots(gdb, compile):
    session = gdb(compile("debugged_threads.c", "-O1", "-pthread"),
                  "handle SIGUSR1 nostop noprint pass", "mtrace start -size 64k",
                  "tbreak leaping", "run", "mtrace snapshot a.txt", "mtrace snapshot",
                  "echo =\\n", "mtrace info", "kill")
    lines = session.between("=")
    threads = [re.fullmatch(r"  (\d+) +LWP \d+ +\S+ +(\d+)% of 64k, the last (\d+\.\d+) ms", line)
               for line in lines if " LWP " in line]
    assert [one[1] for one in threads] == [str(n + 1) for n in range(len(threads))]
    assert any(int(one[2]) for one in threads)
    assert all(float(one[3]) > 0 for one in threads if int(one[2]))
    first = lines.index("Snapshots: 2")
    assert lines[first + 1:first + 3] == ["  1    a.txt", "  2    trace-2.fxt"]


def test_variables(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "print $_mtrace_hits", "print $_mtrace_snapshots",
                  "mtrace start", "mtrace trigger a", "mtrace trigger b", "break c", "run fault",
                  "mtrace snapshot", "print $_mtrace_hits", "print $_mtrace_snapshots")
    values = [line for line in session.lines if line.startswith("$")]
    assert values == ["$1 = 0", "$2 = 0", "$3 = 2", "$4 = 3"]


def test_view_of_what_was_written_last(gdb, compile):
    (gdb.directory / "elsewhere").mkdir()
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "break c", "run fault",
                  "mtrace snapshot last.fxt", "cd elsewhere", "shell rm ../last.fxt",
                  "mtrace view --no-browser")
    assert f"{gdb.directory}/last.fxt: No such file" in session.errors
