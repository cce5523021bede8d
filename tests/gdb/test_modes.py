# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot be recorded is refused in clear words, and GDB goes on as without us; and the ways in
which GDB is used: MI, hooks of the user's own."""
import re
import subprocess

import pytest


def test_non_stop(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "set non-stop on", "mtrace start", "set non-stop off",
                  "mtrace start", "set non-stop on", "run fault")
    assert session.errors.count("cannot record in non-stop mode") == 2
    assert "received signal SIGSEGV" in session.output


def test_a_core_file(gdb, compile):
    program = compile("deep.c", "-O0")
    gdb(program, "run fault", "generate-core-file x.core")
    session = gdb(program, "core-file x.core", "mtrace start", "mtrace history", "bt")
    first, second = session.errors.splitlines()
    assert "a core file does not run" in first and "contains no history of calls, only those" in second
    assert "#3" in session.output


def test_a_remote_target(gdb, compile, need):
    server = need("gdbserver")
    program = compile("deep.c", "-O0")
    session = gdb(program, f"target remote | {server} --once - {program} fault", "mtrace start",
                  "continue", "mtrace history", "kill")
    assert 'reached by the target "remote"' in session.errors
    assert "received signal SIGSEGV" in session.output


def test_an_extended_remote_target(gdb, compile, need):
    """A program that the server runs is told to run unrecorded."""
    server = need("gdbserver")
    program = compile("deep.c", "-O0")
    session = gdb(program, "mtrace start", f"target extended-remote | {server} --multi --once -",
                  f"set remote exec-file {program}", "run fault", "mtrace start", "mtrace history",
                  "kill")
    # When it runs, at `mtrace start`, and for want of a history.
    assert session.errors.count('reached by the target "extended-remote"') == 3
    assert "received signal SIGSEGV" in session.output


THIRTY_TWO_BITS = """
	.globl _start, spin
_start:	call spin
	mov $1, %eax
	mov $3, %ebx
	int $0x80
spin:	nop
	ret
"""


@pytest.mark.usefixtures("runs_32_bit")
def test_a_program_of_32_bits(gdb, compile, tmp_path):
    """One reason, once: before `run`, and at a stop."""
    source = tmp_path / "small.S"
    source.write_text(THIRTY_TWO_BITS)
    program = compile(source, "-m32", "-nostdlib", "-static")
    session = gdb(program, "mtrace start", "break spin", "run", "stepi", "continue")
    assert session.errors.count("is one of 32 bits, and only those for x86-64") == 1
    assert "exited with code 03" in session.output and "mtrace start" not in session.errors
    session = gdb(program, "break spin", "run", "mtrace start", "continue")
    assert re.fullmatch(r"cannot record process \d+: its program is one of 32 bits, and only those "
                        r"for x86-64 can be recorded\n", session.errors)


@pytest.mark.usefixtures("gdb_writes_registers")
def test_start_while_gdb_records(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "break a", "break c", "run fault", "record full",
                  "mtrace start", "mtrace info", "stepi", "reverse-stepi", "record stop",
                  "mtrace start", "continue", "mtrace history")
    assert session.errors.count('"record stop" ends that') == 1
    assert "No more reverse-execution history." in session.output
    assert session.output.count("Recording the calls of process") == 1
    assert re.search(r" open +c\b", session.output)


def test_gdb_records_what_we_record(gdb, compile):
    """It does so without our patches, and when it is done we go on."""
    words = ["break a", "break c", "run fault", "record full", "next", "info record",
             "reverse-next", "reverse-next", "bt", "x/4i b", "record stop", "delete", "continue"]
    program = compile("deep.c", "-O0")
    plain = gdb(program, *words)
    session = gdb(program, "mtrace start", *words, "mtrace history")
    assert session.errors.count("GDB records the program itself now") == 1
    between = [re.search(r"\nBreakpoint 1, a.*?Process record is stopped", one.output, re.S)[0]
               for one in (plain, session)]
    between = [re.sub(r"argv=0x\w+", "argv", text) for text in between]
    assert between[0] == between[1]
    assert re.search(r" open +b\b.*\n.* open +c\b.*\n.*SIGSEGV", session.output)


def test_a_static_program(gdb, compile):
    session = gdb(compile("deep.c", "-O0", "-static"), "mtrace start", "run fault", "bt", "mtrace history")
    assert not session.errors
    assert "received signal SIGSEGV" in session.output and "#3" in session.output


def test_hooks_of_the_users_own(gdb, compile):
    """One that was there before us stays, and one that comes later is joined to ours."""
    program = compile("deep.c", "-O0")
    script = gdb.directory / "script"
    script.write_text("define hook-stop\necho BEFORE\\n\nend\n")
    later = gdb.directory / "later"
    later.write_text("define hook-stop\necho LATER\\n\nend\ndefine hook-next\necho NEXT\\n\nend\n")
    session = gdb(program, "break a", "run fault", "x/3i b", "echo ==\\n", f"source {later}",
                  "next", "x/3i b", options=["-ex", f"source {script}", "-ex", "echo =\\n"])
    assert "BEFORE" in session.lines[:8]
    session = gdb(program, "mtrace start", "break a", "break c", "run fault", f"source {later}",
                  "continue", "x/3i b", "next", "next")
    assert "LATER" in session.lines and "NEXT" in session.lines
    assert "<b>:" in session.output and "jmp" not in session.output


def test_mi(plugin, need, compile, tmp_path):
    program = compile("deep.c", "-O0")
    commands = [f"source {plugin}", '-interpreter-exec console "mtrace start"', "-break-insert b",
                "-exec-arguments fault", "-exec-run", "-exec-next", "-exec-continue",
                '-interpreter-exec console "mtrace history 5"', "-gdb-exit"]
    # Each waits for what the one before it leads to.
    script = "set mi-async off\n" + "\n".join(commands) + "\n"
    done = subprocess.run([need("gdb"), "-nx", "-i=mi", program], input=script, text=True,
                          capture_output=True, cwd=tmp_path, timeout=60, check=False)
    assert '*stopped,reason="signal-received",signal-name="SIGSEGV"' in done.stdout, done.stdout
    assert "[mtrace: the calls up to SIGSEGV are in trace-1.fxt" in done.stdout
    assert " c " in done.stdout.split("mtrace history")[-1]
