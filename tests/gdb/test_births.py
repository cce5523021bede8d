# SPDX-License-Identifier: GPL-3.0-or-later
"""Children, new programs, libraries that come later, processes that ran before."""
import os
import re
import subprocess
import time

import pytest

from conftest import wait_until
from histories import opened

FORK = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int in_child(int n) { return n ? in_child(n - 1) + 1 : 0; }
__attribute__((noinline)) int in_parent(int n) { return n ? in_parent(n - 1) + 1 : 0; }

int main(void)
{
	int sum = 0, status = 0;

	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		for (int k = 0; k < 300; k++)
			sum += pid ? in_parent(5) : in_child(5);
		if (!pid)
			_exit(sum == 5 * 300 * (i + 1) ? 7 : 1);
		sum -= 5 * 300 * (pid == 0);
		waitpid(pid, &status, 0);
		printf("%d\\n", WEXITSTATUS(status));
	}
	return 0;
}
"""


@pytest.mark.parametrize("start", [("mtrace start", "run"), ("break main", "run", "mtrace start", "continue")],
                         ids=["before-it-runs", "while-it-stands"])
@pytest.mark.parametrize("how", ["dynamic", "static", "musl", "musl-static"])
def test_a_forked_child_leaves_its_parents_ring_alone(gdb, compile, need, tmp_path, how, start):
    source = tmp_path / "forks.c"
    source.write_text(FORK)
    compiler = need("musl-gcc", "musl-tools") if how.startswith("musl") else None
    program = compile(source, "-O0", *["-static"] * how.endswith("static"), compiler=compiler)
    session = gdb(program, "set mtrace output x.txt", "set mtrace on-exit on", *start)
    assert session.lines.count("7") == 5
    text = (gdb.directory / "x.txt").read_text()
    assert len(re.findall(r" in_parent", text)) >= 5 * 300 * 6
    assert "in_child" not in text


KINDS = """
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *kind;
static volatile int goes_on = 1;
static char stack[65536] __attribute__((aligned(16)));

__attribute__((noipa)) int in_child(int n) { return n ? in_child(n - 1) + 1 : 0; }
__attribute__((noipa)) int in_parent(int n) { return n ? in_parent(n - 1) + 1 : 0; }
__attribute__((noipa)) int in_thread(int n) { return n ? in_thread(n - 1) + 1 : 0; }

static int be_child(void *unused)
{
	int sum = 0;

	(void)unused;
	for (int k = 0; k < 3000; k++)
		sum += in_child(5);
	syscall(SYS_exit, sum == 15000 ? 7 : 1);
	return 0;
}

static long bear(void)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	if (strcmp(kind, "fork") == 0)
		return fork();
	if (strcmp(kind, "raw-fork") == 0)
		return syscall(SYS_fork);
	if (strcmp(kind, "raw-clone") == 0)
		return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (strcmp(kind, "clone3") == 0)
		return syscall(SYS_clone3, &args, sizeof(args));
	if (strcmp(kind, "silent") == 0)
		return syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (strcmp(kind, "waited-for") == 0)
		return syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
	return clone(be_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
}

static void *bear_some(void *unused)
{
	for (int i = 0; i < 4; i++) {
		int status = 0, sum = 0;
		long pid = bear();

		if (!pid)
			be_child(NULL);
		for (int k = 0; k < 3000; k++)
			sum += in_parent(5);
		waitpid(pid, &status, __WALL);
		printf("%d %d\\n", sum, WIFEXITED(status) ? WEXITSTATUS(status) : -status);
	}
	goes_on = 0;
	return unused;
}

static void *call(void *unused)
{
	long wrong = 0;

	while (goes_on) {
		for (int k = 0; k < 100; k++)
			wrong += in_thread(9) != 9;
		usleep(1000);
	}
	printf("%ld wrong\\n", wrong);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	kind = argv[argc - 1];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i ? call : bear_some, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	fflush(stdout);
	return 0;
}
"""


@pytest.mark.parametrize("how", ["dynamic", "static"])
@pytest.mark.parametrize("kind", ["fork", "raw-fork", "raw-clone", "clone3", "silent", "waited-for", "same-memory"])
def test_children_that_a_thread_makes_beside_others(gdb, compile, tmp_path, kind, how):
    """Whatever the system call is; a child's calls are in nobody's ring, and its parent's are all there."""
    (tmp_path / "kinds.c").write_text(KINDS)
    program = compile(tmp_path / "kinds.c", "-O1", "-pthread", *["-static"] * (how == "static"))
    session = gdb(program, "set mtrace output x.txt", "set mtrace on-exit on", "mtrace start -size 16M", f"run {kind}")
    assert session.lines.count("15000 7") == 4, session.all
    assert session.lines.count("0 wrong") == 3, session.all
    text = (tmp_path / "x.txt").read_text()
    assert text.count(" in_parent ") == 4 * 3000 * 6 and " in_thread " in text
    assert text.count(" in_child ") == 0


FOLLOWED = ["fork", "raw-fork", "raw-clone", "clone3"]


@pytest.mark.parametrize("kind", FOLLOWED)
def test_children_of_a_thread_that_gdb_follows(gdb, compile, tmp_path, kind):
    """Each side has the calls that it made."""
    (tmp_path / "kinds.c").write_text(KINDS)
    session = gdb(compile(tmp_path / "kinds.c", "-O1", "-pthread"), "set follow-fork-mode child", "set mtrace output x.txt",
                  "set mtrace on-exit on", "mtrace start -size 16M", f"run {kind}")
    assert "exited with code 07" in session.output, session.all
    files = sorted(tmp_path.glob("x*.txt"), key=lambda path: path.stat().st_mtime)
    parent, child = files[0].read_text(), files[-1].read_text()
    assert child.count(" in_child ") == 3000 * 6 and " in_parent " not in child
    assert " in_thread " not in child and " in_child " not in parent


def test_triggers_in_a_child_that_is_let_go(either, compile):
    """Nobody is there to be asked, and no signal comes."""
    lines = either(compile("calls_let_go.c", "-O1"), "", "set mtrace output /dev/null", "mtrace start",
                   "mtrace trigger work if n == 3", "run", "mtrace info")
    assert "55 7" in lines, lines
    assert "Trigger 1: work if n == 3: 1 hit" in lines, lines


def test_a_checkpoint(gdb, compile):
    """Which GDB makes by a call of fork."""
    program = compile("deep.c", "-O0")
    stop = ["break c", "run fault"]
    if "extended state" in gdb(program, *stop, "print abs(1)", loaded=False).errors:
        pytest.skip("this GDB cannot call functions on a processor with AMX")
    session = gdb(program, "mtrace start", *stop, "checkpoint", "info checkpoints",
                  "delete checkpoint 1", "kill")
    assert "Breakpoint 1, c (" in session.output
    assert len(re.findall(r"^ +1 process \d+ at 0x", session.output, re.M)) == 1


def test_children_of_all_kinds(gdb, compile, tmp_path):
    program = compile("calls_births.c", "-O1")
    alone = subprocess.run([program], text=True, capture_output=True, check=False)
    session = gdb(program, "mtrace start", "run")
    told = [line for line in session.lines if re.fullmatch(r"\d+ \d+( \d+)?", line)]
    assert told == alone.stdout.splitlines()
    assert f"exited with code {alone.returncode:02o}]" in session.output


PENDING = """
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int ended;
static int bad;

static void *fork_often(void *unused)
{
	for (int i = 0; i < 4000; i++) {
		int status = 0;
		pid_t pid = fork();

		if (!pid)
			_exit(7);
		waitpid(pid, &status, 0);
		bad += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
	}
	ended = 1;
	return unused;
}

static void spin(void)
{
	for (volatile int i = 0; !ended; i++)
		;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, fork_often, NULL);
	spin();
	pthread_join(thread, NULL);
	printf("%d of 4000 children are bad\\n", bad);
	return 0;
}
"""
# GDB steps one thread; that the other one has forked it notes, and lets the child wait.
STEP = """
import os
import re
import gdb

def waits(pid):
    try:
        text = open(f"/proc/{pid}/status").read()
    except OSError:
        return False
    return all(f"\\n{key}:\\t{number}\\n" in text for key, number in
               (("PPid", gdb.selected_inferior().pid), ("TracerPid", os.getpid())))

for count in range(3000):
    gdb.execute("stepi", to_string=True)
    if any(waits(name) for name in os.listdir("/proc") if name.isdigit()):
        print("a child waits")
        break
"""


def test_a_child_that_gdb_has_not_told_of_is_let_go(gdb, compile, tmp_path):
    """By a detach: GDB takes its breakpoints out of the parent alone."""
    (tmp_path / "pending.c").write_text(PENDING)
    (tmp_path / "step.py").write_text(STEP)
    session = gdb(compile(tmp_path / "pending.c", "-O0", "-pthread"), "mtrace start", "break spin",
                  "run", "delete", f"source {tmp_path / 'step.py'}", "detach")
    assert "a child waits" in session.lines, session.all
    assert "0 of 4000 children are bad" in session.lines, session.all


CHILD_THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) int leave(int n) { return n + 1; }

static void *thread(void *argument)
{
	return leave(0) ? argument : NULL;
}

__attribute__((noipa)) static int in_child(void)
{
	pthread_t threads[64];

	for (int i = 0; i < 64; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
	return 7;
}

int main(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(in_child());
	waitpid(pid, &status, 0);
	printf("%d %d\\n", WEXITSTATUS(status), leave(4));
	return 0;
}
"""


def test_threads_of_a_child_while_its_parent_stands_still(gdb, compile, tmp_path):
    """GDB tells of them by events that do not say whose they are; either inferior may be selected."""
    (tmp_path / "threads.c").write_text(CHILD_THREADS)
    session = gdb(compile(tmp_path / "threads.c", "-O1", "-pthread"), "mtrace start", "break main", "run",
                  "set detach-on-fork off", "set follow-fork-mode child", "delete", "tbreak in_child",
                  "continue", "break leave if n == 100", "continue", "inferior 1", "delete", "continue")
    assert "[Inferior 2 (process" in session.output and "exited with code 07]" in session.output, session.all
    assert "7 5" in session.lines and "exited normally" in session.output, session.all
    assert "Cannot access memory" not in session.all


KEPT = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) int leave(int n) { return n + 1; }

int main(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(leave(6));
	waitpid(pid, &status, 0);
	printf("%d %d\\n", WEXITSTATUS(status), leave(4));
	return 0;
}
"""


def test_breakpoints_that_stay_in_a_parent(gdb, compile, tmp_path):
    """Where the child stops what lies beneath them is put right in its parent, not in itself."""
    (tmp_path / "kept.c").write_text(KEPT)
    session = gdb(compile(tmp_path / "kept.c", "-O1"), "mtrace start", "break main", "run",
                  "set breakpoint always-inserted on", "set detach-on-fork off",
                  "set follow-fork-mode child", "break leave", "continue", "continue", "inferior 1",
                  "continue", "continue")
    hits = re.findall(r"hit Breakpoint (\d+)(?:\.\d+)?, (\w+) \((.*)\)", session.output)
    assert hits == [("2", "leave", "n=n@entry=6"), ("2", "leave", "n=n@entry=4")], session.all
    assert "7 5" in session.lines and "exited normally" in session.output, session.all


def test_exec(gdb, compile, tmp_path):
    source = tmp_path / "execs.c"
    source.write_text("#include <unistd.h>\nint main(int argc, char **argv)\n"
                      '{ return execl(argv[1], argv[1], "fault", (char *)0); }\n')
    program, second = compile(source), compile("deep.c", "-O0")
    session = gdb(program, "mtrace start", f"run {second}", "bt", "mtrace history")
    assert "is executing new program" in session.output
    assert opened(session.lines)[-4:] == ["main", "a", "b", "c"]
    frames = re.findall(r"^#\d+ .*?(\w+) \(", session.output, re.M)
    assert frames[:4] == ["c", "b", "a", "main"]


ALONE = """
int sum;
__attribute__((noinline)) int add(int n) { return sum += n; }
void _start(void)
{
	for (int i = 0; i < 4; i++)
		add(i);
	__asm__ volatile("syscall" : : "a"(231), "D"(sum));
	__builtin_unreachable();
}
"""


def test_a_loader_that_nothing_needs(gdb, compile, tmp_path):
    """GDB takes it for unloaded, with our breakpoint in it, as of Go's programs that are position-independent."""
    source = tmp_path / "alone.c"
    source.write_text(ALONE)
    program = compile(source, "-O0", "-nostdlib", "-pie", "-fPIE")
    session = gdb(program, "mtrace start", "break add if n == 3", "run", "mtrace history 2 add", "delete", "continue")
    assert "Breakpoint 1, add (n=3)" in session.output
    assert len(re.findall(r"^ .* add ", session.output, re.M)) == 2
    assert "exited with code 06]" in session.output


def test_a_library_that_comes_later(gdb, compile):
    library = compile("part.c", "-shared", "-fPIC", "-O0", output="libpart.so")
    session = gdb(compile("loads.c", "-O0"), "mtrace start", "set mtrace output x.txt",
                  "set mtrace on-exit on", f"run {library}")
    assert "exited with code" in session.output
    assert re.search(r" part ", (gdb.directory / "x.txt").read_text())


@pytest.mark.usefixtures("gdb_writes_registers")
def test_attach_and_detach(gdb, compile, need):
    """The process that GDB leaves goes on and is sound."""
    program = compile("debugged_threads.c", "-O1", "-pthread")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 5)
            session = gdb(program, "handle SIGUSR1 nostop noprint pass",
                          f"attach {process.pid}", "mtrace start", "tbreak leaping", "continue",
                          "mtrace snapshot x.txt", "thread apply all bt -2", "detach",
                          "mtrace info")
            assert f"Recording the calls of process {process.pid}." in session.lines
            text = (gdb.directory / "x.txt").read_text()
            assert len(re.findall(r"^Thread \d+", text, re.M)) == 5 and " tree" in text
            assert f"[Inferior 1 (process {process.pid}) detached]" in session.lines
            time.sleep(0.1)
            assert process.poll() is None
            process.send_signal(10)
            assert process.communicate(timeout=60)[0] == "5 of 5 sums are right\n"
        finally:
            process.kill()


WAIT = """
#include <sys/wait.h>

pid_t waitpie(pid_t pid, int *status, int options) { return waitpid(pid, status, options); }
"""


def test_a_gdb_that_cannot_be_heard(plugin, need, compile, tmp_path):
    """It would let children write into their parents' rings.  A copy that calls waitpid(2) by another name."""
    source = tmp_path / "wait.c"
    source.write_text(WAIT)
    library = compile(source, "-shared", "-fPIC", output="libwait.so")
    with open(need("gdb"), "rb") as file:
        original = file.read()
    copied = original.replace(b"\0waitpid\0", b"\0waitpie\0")
    if copied == original:
        pytest.skip("GDB's table of names has no waitpid of its own")
    deaf = tmp_path / "gdb"
    deaf.write_bytes(copied)
    deaf.chmod(0o755)
    data = subprocess.run([need("gdb"), "-nx", "-batch", "-ex", "show data-directory"], text=True,
                          capture_output=True, check=True).stdout.split('"')[1]
    program = compile("crash.c", "-O0")
    words = ["-ex", "set startup-with-shell off", "-ex", f"source {plugin}", "-ex", "mtrace start", "-ex", "run"]
    done = subprocess.run([deaf, "-nx", "-batch", f"--data-directory={data}", *words, program], text=True,
                          capture_output=True, check=False, timeout=120, cwd=tmp_path,
                          stdin=subprocess.DEVNULL, env={**os.environ, "LD_PRELOAD": str(library)})
    assert "whose calls of waitpid(2) cannot be heard" in done.stderr, done.stdout + done.stderr
    assert "Program received signal SIGSEGV" in done.stdout
    assert not list(tmp_path.glob("*.fxt"))
