# SPDX-License-Identifier: GPL-3.0-or-later
"""At each stop of a session that steps, what GDB reads of all texts is what the files have, and what others wrote
into them, while the patches are still there, as far as nobody could come upon them."""
import subprocess
import time

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
    told = differences(gdb, compile("debugged_watch.c", "-O0"), "next", f"set var $was = {byte}",
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


def test_killed_at_a_stop(plugin, need, compile, tmp_path):
    """A program that GDB attached to goes on with the patches that are there."""
    source = tmp_path / "visits.c"
    source.write_text("""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) long leaf(long n) { sink = n; return n * 3; }
__attribute__((noinline)) long visit(long n)
{
	long sum = leaf(n);
	sum += leaf(n + 1);
	return sum;
}
int main(int argc, char **argv)
{
	for (long n = 0; access(argv[argc - 1], F_OK); n += 1000)
		for (long i = n; i < n + 1000; i++)
			if (visit(i) != 6 * i + 3)
				abort();
	puts("done");
	return 0;
}
""")
    with subprocess.Popen([compile(source, "-O0"), tmp_path / "end"], text=True,
                          stdout=subprocess.PIPE) as program:
        commands = ["mtrace start -size 64k", "break visit", "continue", "next", "continue", "finish", "delete",
                    "echo ready\\n", "shell sleep 60"]
        words = [word for command in commands for word in ("-ex", command)]
        with subprocess.Popen([need("gdb"), "-nx", "-batch", "-ex", "set confirm off", "-ex",
                               f"source {plugin}", "-p", str(program.pid), *words], cwd=tmp_path,
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as debugger:
            for line in debugger.stdout:
                if "ready" in line:
                    break
            debugger.kill()
        time.sleep(0.1)
        (tmp_path / "end").touch()
        out, _ = program.communicate(timeout=60)
    assert (program.returncode, out) == (0, "done\n")
