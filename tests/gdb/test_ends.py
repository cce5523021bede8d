# SPDX-License-Identifier: GPL-3.0-or-later
"""How a recorded program is begun, left, taken up again and ended."""
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import wait_until
from histories import opened

DAEMON = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int n) { return n ? work(n - 1) + 1 : 0; }

int main(int argc, char **argv)
{
	int ends[2], sum = 0;

	if (pipe(ends))
		return 3;
	work(20);
	if (daemon(1, 1))
		return 2;
	for (int i = 0; i < 2000; i++)
		sum += work(20);
	FILE *out = fopen(argv[argc - 1], "w");
	fprintf(out, "%d\\n", sum);
	fclose(out);
	return 0;
}
"""

EXITING = """
#include <pthread.h>
#include <unistd.h>

static pthread_barrier_t all;

static void *leave(void *argument)
{
	pthread_barrier_wait(&all);
	_exit(0);
	return argument;
}

int main(void)
{
	pthread_t threads[256];

	pthread_barrier_init(&all, 0, 257);
	for (int i = 0; i < 256; i++)
		pthread_create(&threads[i], 0, leave, 0);
	pthread_barrier_wait(&all);
	pause();
	return 0;
}
"""


def text_is_clean(process, program, need):
    """The text of the process is the file's."""
    readelf = need("readelf", "binutils")
    table = subprocess.run([readelf, "-SW", program], text=True, capture_output=True,
                           check=True).stdout
    address, offset, size = (int(word, 16) for word in re.search(
        r" \.text +PROGBITS +(\S+) (\S+) (\S+)", table).groups())
    start = next(int(line.split("-")[0], 16)
                 for line in open(f"/proc/{process.pid}/maps", encoding="ascii")
                 if line.rstrip().endswith(str(program)))
    with open(f"/proc/{process.pid}/mem", "rb") as memory:
        memory.seek(start + address)
        there = memory.read(size)
    with open(program, "rb") as file:
        file.seek(offset)
        return there == file.read(size)


@pytest.fixture(name="running")
def start_program(compile):
    program = compile("debugged_threads.c", "-O1", "-pthread")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 5)
        process.program = program
        try:
            yield process
        finally:
            process.kill()


QUIET = "handle SIGUSR1 nostop noprint pass"


@pytest.mark.parametrize("leave", ["quit", "detach", "mtrace stop"])
@pytest.mark.usefixtures("gdb_writes_registers")
def test_a_process_that_was_attached_lives_on(gdb, running, need, leave):
    session = gdb(running.program, QUIET, f"attach {running.pid}", "mtrace start",
                  "tbreak leaping", "continue", leave)
    assert "Recording the calls of process" in session.output
    time.sleep(0.2)
    assert running.poll() is None
    assert text_is_clean(running, running.program, need)
    running.send_signal(signal.SIGUSR1)
    assert running.communicate(timeout=60)[0] == "5 of 5 sums are right\n"


PLACES = ("*tree", "*branch", "*leap", "*leaping", "leaf", "round_of")


@pytest.mark.parametrize("leave", ["quit", "detach", "mtrace stop", "kill"])
@pytest.mark.parametrize("command", ["continue", "next", "advance *1"])
@pytest.mark.usefixtures("gdb_writes_registers")
def test_a_command_that_failed_leaves_no_patches(gdb, running, need, command, leave):
    """GDB told that the program goes on, which it does not: some of its breakpoints are in the text then, and what they
    cover is put back when they go."""
    session = gdb(running.program, QUIET, f"attach {running.pid}", "mtrace start", "tbreak leaping", "continue",
                  *(f"break {place}" for place in PLACES), "break *1", command, leave,
                  *(["delete"] if "stop" in leave else []), checked=False)
    assert "Cannot access memory at address 0x1" in session.all
    assert "patched code" not in session.all
    if leave == "kill":
        assert running.wait(60) == -signal.SIGKILL
        return
    assert text_is_clean(running, running.program, need), session.all
    running.send_signal(signal.SIGUSR1)
    assert running.communicate(timeout=60)[0] == "5 of 5 sums are right\n"


def mapped(pid):
    """What is, and the size of the address space."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="ascii").splitlines()
    size = re.search("VmSize:.*", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    return [line.split()[-1] for line in lines], size.group()


@pytest.mark.parametrize("leave", ["quit", "detach", "mtrace stop"])
def test_nothing_stays_mapped(gdb, running, leave):
    before = mapped(running.pid)
    for _ in range(2):
        session = gdb(running.program, QUIET, f"attach {running.pid}", "mtrace start", leave)
        assert "Recording the calls of process" in session.output
        assert mapped(running.pid) == before
    running.send_signal(signal.SIGUSR1)
    assert running.communicate(timeout=60)[0] == "5 of 5 sums are right\n"


@pytest.mark.usefixtures("gdb_writes_registers")
def test_attached_again(gdb, running, need):
    """By the same GDB, and by the next one."""
    for _ in range(2):
        session = gdb(running.program, QUIET, f"attach {running.pid}", "mtrace start",
                      "tbreak leaping", "continue", "detach", f"attach {running.pid}",
                      "mtrace start", "tbreak leaping", "continue", "mtrace history 5 leaping",
                      "detach")
        assert session.output.count("Recording the calls of process") == 2, session.all
        assert session.output.count(" leaping ") >= 2
        # Where attach finds it, within the C library, there may be no source.
        errors = [line for line in session.errors.splitlines()
                  if not re.match(r"\d+\t.*: No such file or directory\.$", line)]
        assert not errors
    assert text_is_clean(running, running.program, need)
    running.send_signal(signal.SIGUSR1)
    assert running.communicate(timeout=60)[0] == "5 of 5 sums are right\n"


def test_stopped_and_started_again(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "break a", "break b", "run fault",
                  "mtrace stop", "continue", "mtrace start", "continue", "mtrace history")
    assert session.errors == ""
    assert opened(session.lines)[-4:] == ["main", "a", "b", "c"]


@pytest.mark.parametrize("command", ["start fault", "starti fault"])
def test_start(gdb, compile, command):
    session = gdb(compile("deep.c", "-O0"), "mtrace start", command, "continue", "mtrace history")
    assert opened(session.lines)[-4:] == ["main", "a", "b", "c"]
    assert session.errors == ""


def test_killed_and_run_again(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "set mtrace on-exit on", "mtrace start", "break c",
                  "run fault", "kill", "run fault", "kill", "mtrace info")
    assert "Snapshots: 2" in session.lines
    assert "Recording begins when the program runs." in session.lines


def test_a_core_file(gdb, compile):
    """It tells of the program what a plain one does, whatever else is in it."""
    program = compile("deep.c", "-O0")
    look = ["backtrace", "info registers rip rsp", "x/24xb b", "x/24xb malloc"]
    session = gdb(program, "mtrace start", "break b", "break c", "run fault", "generate-core-file recorded",
                  "echo LIVE\\n", *look, "echo CORE\\n", "kill", "core-file recorded", "echo LOOK\\n", *look)
    live = session.between("LIVE", "CORE")
    assert live[1].startswith("#1 ") and live == session.between("LOOK"), session.all
    assert (gdb.directory / "recorded").stat().st_size < 64 << 20
    unopened = re.findall("Can't open file (.*) \\(deleted\\)", session.errors)
    assert sorted(unopened) == ["/memfd:mtrace alive", "/memfd:mtrace rings"]


@pytest.mark.parametrize("follow", ["parent", "child"])
def test_a_program_that_becomes_a_daemon(gdb, compile, tmp_path, follow):
    source = tmp_path / "daemon.c"
    source.write_text(DAEMON)
    result = tmp_path / "result"
    session = gdb(compile(source, "-O0"), f"set follow-fork-mode {follow}", "mtrace start",
                  f"run {result}", "mtrace history 3 work")
    wait_until(lambda: result.exists() and result.read_text())
    assert result.read_text() == "40000\n"
    assert " work " in session.output, session.all


def test_threads_that_ended_just_before(gdb, compile, tmp_path):
    """GDB tells of no thread's end; what it called is there."""
    program = compile("calls_values.c", "-O1", "-pthread")
    gdb(program, "mtrace start -size 1M", "run 4", "mtrace snapshot all.txt")
    assert (tmp_path / "all.txt").read_text().count(" price_of ") == 4 * 200


def test_a_thread_ends_the_process_while_gdb_resumes_the_others(gdb, compile, tmp_path):
    """GDB needs registers of those, and has kept them since the stop, as in a plain session."""
    source = tmp_path / "exiting.c"
    source.write_text(EXITING)
    session = gdb(compile(source, "-O0", "-pthread"), "mtrace start",
                  *3 * ["tbreak main", "run", "tbreak _exit", "continue", "continue"])
    assert session.output.count("exited normally]") == 3, session.all


ENDS = {
    "GDB kills it": ([], "kill"),
    "another kills it": (["python import os, time; os.kill(gdb.selected_inferior().pid, 9); time.sleep(0.3)"], "kill"),
}


@pytest.mark.parametrize("way", ENDS)
def test_what_ended_threads_that_stood_still(gdb, compile, way):
    """Each of them the signal that ended the process."""
    before, last = ENDS[way]
    session = gdb(compile("gdb_session.c", "-O0", "-pthread"), "mtrace start", "handle SIGUSR1 nostop noprint",
                  "break fib if n == 5", "run", *before, last, "mtrace history 2")
    assert re.findall(r"\*\*\* exit (.*)", session.output) == 4 * ["by SIGKILL"], session.output


@pytest.mark.parametrize("command", ["step", "stepi", "next", "continue"])
def test_which_signal_ends_it_however_it_goes_on(gdb, compile, command):
    """Although nothing is patched where it is stepped."""
    session = gdb(compile("crash.c", "-O0"), "mtrace start", "run", command, "mtrace history 2")
    assert "Program terminated with signal SIGSEGV" in session.output
    assert re.findall(r"\*\*\* exit (.*)", session.output) == ["by SIGSEGV"], session.output
