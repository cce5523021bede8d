# SPDX-License-Identifier: GPL-3.0-or-later
"""The same commands, given to GDB and to mtdb's prompt, give the same stops, lines, backtraces and
values.

GDB takes long to start, so that many scripts are given to one: words of `-ex`, which go on after an
error.  Each begins with no program and no breakpoint."""
import difflib
import re
import subprocess

# What differs from run to run, or is told by GDB alone.  That a source file is missing GDB tells
# once, but forgets it when that file's debug information happens to be read anew.
NOISE = re.compile(r"^(\[Thread debugging using|Using host libthread_db|warning: Error disabling|warning: Temporarily disabling|"
                   r"\d+\t(in )?\.|\[New process)")
# GDB writes in pieces that a thread ended, and the program's own output may come between them.
PIECES = [
    (re.compile(r"\[?Thread 0x[0-9a-f]+ \(LWP \d+\) exited\]\n?"), ""),
    (re.compile(r"\[Thread 0x[0-9a-f]+ \(LWP \d+\)(?! exited)"), ""),
    (re.compile(r"^ exited\]\n", re.M), ""),
    (re.compile(r"^\[(?![A-Z][a-z]+ |answered)", re.M), ""),
]
NORMAL = [
    (re.compile(r"0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"process \d+"), "process N"),
    (re.compile(r"LWP \d+"), "LWP N"),
    # Columns are as wide as those numbers.
    (re.compile(r"Target Id +Frame"), "Target Id Frame"),
    (re.compile(r"((?:LWP|process) N\)?(?: \"[^\"]*\")?) +"), r"\1 "),
    (re.compile(r"/\S*/(?=[\w.-]+:\d)"), ""),
    # Go's results have no value before there are any.
    (re.compile(r"~r(\d)=[^,)]*"), r"~r\1"),
]


# A program's numbers and what the debugger says of its threads meanwhile come in any order.
NUMBERS = re.compile(r"(sum \d+, signals )?[-\d: ]+$")
MEANWHILE = re.compile(r"\[New Thread |Thread \d+ .* received signal ")


def numbers_last(lines):
    """Each line of numbers behind what the debugger said just after it."""
    for i in range(len(lines) - 2, -1, -1):
        if NUMBERS.match(lines[i]):
            end = i + 1
            while end < len(lines) and MEANWHILE.match(lines[end]):
                end += 1
            lines.insert(end - 1, lines.pop(i))
    return lines


def normalized(text):
    lines = []
    for pattern, replacement in PIECES:
        text = pattern.sub(replacement, text)
    for line in text.splitlines():
        if NOISE.match(line):
            continue
        for pattern, replacement in NORMAL:
            line = pattern.sub(replacement, line)
        if line:
            lines.append(line)
    return numbers_last(lines)


def words_of(scripts):
    """Words of the command line for [(arguments, "line\\nline…")]."""
    words = []
    for arguments, script in scripts:
        lines = [f"echo --- {script.splitlines()[0]}...\\n", "delete", "kill", f"set args {arguments}"]
        for line in [*lines, *script.splitlines()]:
            words += ["-ex", line]
    return words


def output_of(debugger, words):
    done = subprocess.run([*debugger, "-batch", *words], capture_output=True, text=True, timeout=300,
                          check=False, stdin=subprocess.DEVNULL)
    return normalized(done.stdout), normalized(done.stderr)


def same(gdb, mtdb, words, ignored=(), gdb_words=()):
    """What both print is the same but for NORMAL and lines that begin with what is IGNORED; mtdb's
    lines.  GDB_WORDS are for GDB alone."""
    # No pretty-printers: a GDB may have none.
    gdb = [gdb, "-nx", "-iex", "set auto-load python-scripts off", *gdb_words]
    outputs = [output_of(gdb, words), output_of([mtdb, "-ex", "set print raw-values on"], words)]
    outputs = [[[line for line in lines if not line.startswith(tuple(ignored))] for lines in both]
               for both in outputs]
    for theirs, ours in zip(*outputs):
        differences = "\n".join(difflib.unified_diff(theirs, ours, "gdb", "mtdb", lineterm="", n=8))
        assert not differences, differences
    return outputs[1][0]
