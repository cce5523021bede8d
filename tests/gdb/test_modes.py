# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot be recorded is refused in clear words, and GDB goes on as without us; and the ways in
which GDB is used: MI, hooks of the user's own."""
import shutil
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
    assert "a core file does not run" in first and "nothing was recorded yet" in second
    assert "#3" in session.output


def test_a_remote_target(gdb, compile, need):
    server = need("gdbserver")
    program = compile("deep.c", "-O0")
    session = gdb(program, f"target remote | {server} --once - {program} fault", "mtrace start",
                  "continue", "mtrace history", "kill")
    assert 'reached by the target "remote"' in session.errors
    assert "received signal SIGSEGV" in session.output


def test_a_static_program(gdb, compile):
    session = gdb(compile("deep.c", "-O0", "-static"), "mtrace start", "run fault", "bt")
    assert "it has no dynamic loader" in session.errors
    assert "received signal SIGSEGV" in session.output and "#3" in session.output


def test_a_second_inferior(gdb, compile):
    """It runs unrecorded, as is said once; the first one's recording goes on."""
    program = compile("deep.c", "-O0")
    session = gdb(program, "mtrace start", "break b", "run fault", f"add-inferior -exec {program}",
                  "inferior 2", "run fault", "continue", "kill", "inferior 1", "mtrace info",
                  "delete", "continue", "mtrace history")
    assert session.errors.count("runs unrecorded: one process can be recorded at a time") == 1
    assert "Recording process" in session.output
    opened = [line.split()[3] for line in session.lines if " open " in line]
    assert opened[-4:] == ["main", "a", "b", "c"]


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


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb")
def test_mi(plugin, compile, tmp_path):
    program = compile("deep.c", "-O0")
    commands = [f"source {plugin}", '-interpreter-exec console "mtrace start"', "-break-insert b",
                "-exec-arguments fault", "-exec-run", "-exec-next", "-exec-continue",
                '-interpreter-exec console "mtrace history 5"', "-gdb-exit"]
    # Each waits for what the one before it leads to.
    script = "set mi-async off\n" + "\n".join(commands) + "\n"
    done = subprocess.run(["gdb", "-nx", "-i=mi", program], input=script, text=True,
                          capture_output=True, cwd=tmp_path, timeout=60, check=False)
    assert '*stopped,reason="signal-received",signal-name="SIGSEGV"' in done.stdout, done.stdout
    assert "[mtrace: the calls up to SIGSEGV are in trace-1.fxt" in done.stdout
    assert " c " in done.stdout.split("mtrace history")[-1]
