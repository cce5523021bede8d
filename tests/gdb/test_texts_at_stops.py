# SPDX-License-Identifier: GPL-3.0-or-later
"""At each stop of a session that steps, what GDB reads of all texts is what the files have."""
LOOK = """
import gdb

def differences():
    process = gdb.selected_inferior()
    count = size = 0
    with open(f"/proc/{process.pid}/maps") as maps:
        lines = [line.split() for line in maps]
    for span, access, offset, _, _, *path in lines:
        if "x" not in access or not path or not path[0].startswith("/"):
            continue
        start, end = (int(word, 16) for word in span.split("-"))
        with open(path[0], "rb") as file:
            file.seek(int(offset, 16))
            there = file.read(end - start)
        memory = bytes(process.read_memory(start, len(there)))
        count += sum(one != other for one, other in zip(memory, there)) if memory != there else 0
        size += len(there)
    assert size > 1 << 20
    return count

def session(*lines):
    for line in lines:
        gdb.execute(line, to_string=True)
        print("DIFFERS", differences(), line)
"""
STEPS = ["step", "next", "next", "next", "break leaf", "continue", "finish", "delete", "next",
         "stepi", "nexti", "next"]


def test_texts_are_the_files(gdb, compile):
    look = gdb.directory / "look.py"
    look.write_text(LOOK + f"session('run', *{STEPS!r})\n")
    session = gdb(compile("debugged_watch.c", "-O0"), "mtrace start", "break main", f"source {look}",
                  "mtrace snapshot")
    told = [line.split(None, 2) for line in session.lines if line.startswith("DIFFERS")]
    assert [line for _, _, line in told] == ["run", *STEPS]
    assert not [line for _, count, line in told if count != "0"]
    assert b"leaf" in (gdb.directory / "trace-1.fxt").read_bytes()
