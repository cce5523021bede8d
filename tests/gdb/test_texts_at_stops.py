# SPDX-License-Identifier: GPL-3.0-or-later
"""At each stop of a session that steps, what GDB reads of all texts is what the files have, and what others wrote
into them, while the patches are still there, as far as nobody could come upon them."""
import pytest

LOOK = """
import gdb

def texts():
    process = gdb.selected_inferior()
    with open(f"/proc/{process.pid}/maps") as maps:
        lines = [line.split() for line in maps]
    for span, access, offset, _, _, *path in lines:
        if "x" not in access or not path or not path[0].startswith("/"):
            continue
        start, end = (int(word, 16) for word in span.split("-"))
        with open(path[0], "rb") as file:
            file.seek(int(offset, 16))
            there = file.read(end - start)
        with open(f"/proc/{process.pid}/mem", "rb") as memory:
            memory.seek(start)
            raw = memory.read(len(there))
        yield there, raw, bytes(process.read_memory(start, len(there)))

def count(one, other):
    return sum(a != b for a, b in zip(one, other)) if one != other else 0

def session(*lines):
    for line in lines:
        gdb.execute(line, to_string=True)
        read = memory = size = 0
        for there, raw, shown in texts():
            read += count(shown, there)
            memory += count(raw, there)
            size += len(there)
        assert size > 1 << 20
        print("DIFFERS", read, memory, line)
"""
STEPS = ["step", "next", "next", "next", "break leaf", "continue", "finish", "delete", "next",
         "stepi", "nexti", "next"]


def differences(gdb, program, *steps, before=("break main",), after=("mtrace snapshot",)):
    """By step: of how many bytes GDB says that they are not the file's, and how many are not."""
    look = gdb.directory / "look.py"
    look.write_text(LOOK + f"session('run', *{list(steps)!r})\n")
    session = gdb(program, "mtrace start", *before, f"source {look}", *after)
    told = [line.split(None, 3) for line in session.lines if line.startswith("DIFFERS")]
    assert [line for _, _, _, line in told] == ["run", *steps], session.all
    return [(line, int(read), int(memory)) for _, read, memory, line in told]


def test_texts_are_the_files(gdb, compile):
    told = differences(gdb, compile("debugged_watch.c", "-O0"), *STEPS)
    assert not [line for line, read, _ in told if read]
    patched = {line for line, _, memory in told if memory}
    assert {"run", "next", "continue", "finish"} <= patched
    assert not {"step", "stepi"} & patched
    assert b"leaf" in (gdb.directory / "trace-1.fxt").read_bytes()


def test_what_is_written_is_there(gdb, compile):
    """Into a text whose patches are only out of sight, and by a call, whose function is not patched."""
    byte = "*(unsigned char *) leaf"
    program = compile("debugged_watch.c", "-O0")
    if "extended state" in gdb(program, "break main", "run", "print leaf(1)", loaded=False).errors:
        pytest.skip("this GDB can make no inferior calls on this CPU")
    told = differences(gdb, program, "next", f"set var $was = {byte}",
                       f"set var {byte} = 0x90", f"set var {byte} = $was", "next", "print leaf(1)", "next")
    one, after = [(read, memory) for line, read, memory in told if line.startswith(f"set var {byte}")]
    assert one == (1, 1)
    assert after == (0, 0)
    assert [(read, memory) for line, read, memory in told if line.startswith("print")] == [(0, 0)]
    assert [(read, memory > 0) for line, read, memory in told if line == "next"] == [(0, True)] * 3


def test_what_the_program_writes_is_read(gdb, compile):
    source = gdb.directory / "writes.c"
    source.write_text("""
#include <stdint.h>
#include <sys/mman.h>
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE void nops(void) { __asm__ volatile(".skip 64, 0x90"); }
NOINLINE void stop(void) { __asm__ volatile(""); }
int main(void)
{
	char *byte = (char *)nops + 32, *page = (char *)((uintptr_t)byte & ~4095ul);
	nops();
	mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	*byte = (char)0xf8;
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	nops();
	stop();
	return 0;
}
""")
    told = differences(gdb, compile(source, "-O1"), "continue", before=("break main", "break stop"))
    assert [(line, read, memory > 1) for line, read, memory in told] == [("run", 0, True), ("continue", 1, True)]


TRIGGERS = ["mtrace trigger leaf if x > 100", "mtrace trigger -slower 1h work", "mtrace trigger put return if $_ > 1",
            "mtrace values put to value"]


def test_with_triggers(gdb, compile):
    """Their stubs stay, too, and patches whose jumps lead there."""
    told = differences(gdb, compile("debugged_watch.c", "-O0"), *STEPS, before=("break main", *TRIGGERS))
    assert not [(line, read) for line, read, _ in told if read]
    patched = {line for line, _, memory in told if memory}
    assert {"run", "next", "continue", "finish"} <= patched
    assert b"value" in (gdb.directory / "trace-1.fxt").read_bytes()


JUMP = """
import gdb
for lines in (["next"], ["mtrace trigger leaf if x > 1000", "next"], ["next"], ["delete $bpnum", "next"]):
    for line in lines:
        gdb.execute(line, to_string=True)
    with open(f"/proc/{gdb.selected_inferior().pid}/mem", "rb") as memory:
        memory.seek(int(gdb.parse_and_eval("(long)&leaf")))
        print("LEADS", memory.read(16).hex())
"""


def test_triggers_come_and_go(gdb, compile):
    """While the patches are only out of sight: what leads to a trigger's code changes all the same."""
    look = gdb.directory / "jump.py"
    look.write_text(JUMP)
    session = gdb(compile("debugged_watch.c", "-O0"), "mtrace start", "break main", "break work", "run",
                  "continue", f"source {look}")
    without, by, again, after = [line.split()[1] for line in session.lines if line.startswith("LEADS")]
    assert without == after != by == again


def test_triggers_that_are_hit(gdb, compile):
    told = differences(gdb, compile("debugged_watch.c", "-O0"), "next", "mtrace trigger leaf if x == 1 || x == 28",
                       "break put", "continue", "mtrace trigger -max 1 put if value == 7", "continue", "delete 2",
                       "continue", before=("break work",), after=("delete", "continue"))
    assert not [(line, read) for line, read, _ in told if read]
    assert [memory > 0 for line, _, memory in told if line == "continue"] == [True] * 3
    assert len(list(gdb.directory.glob("trace-*.fxt"))) == 3


@pytest.mark.parametrize("triggers", [[], ["mtrace trigger leaf if n < 0", "mtrace values visit n"],
                                      ["mtrace trigger -slower 1h visit"]])
def test_killed_at_a_stop(goes_on, triggers):
    """A program that GDB attached to goes on with the patches that are there."""
    goes_on("-O0", ["mtrace start -size 64k", *triggers, "break visit", "continue", "next", "continue", "finish",
                    "delete", "shell sleep 60"])
