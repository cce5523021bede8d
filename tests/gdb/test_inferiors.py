# SPDX-License-Identifier: GPL-3.0-or-later
"""Children that GDB follows or keeps, and inferiors side by side: each is recorded as a session of its
own, and commands are about the selected one."""
import re

import pytest

from histories import opened


@pytest.fixture(name="forks", params=["-O0", "-O1"])
def make_forks(request, compile):
    return compile("debugged_forks.c", request.param)


def is_clean(session):
    """No jump of ours was shown, nor a breakpoint of ours that could not be put in."""
    return "Cannot insert" not in session.all and not re.search(
        r"<(in_child|in_parent|b)(\+\d+)?>:\s+jmp", session.output)


def test_a_child_that_gdb_follows(gdb, forks):
    """It goes on being recorded, from the fork on, and knows who called it."""
    session = gdb(forks, "set follow-fork-mode child", "set mtrace on-exit on", "mtrace start",
                  "break *in_child",
                  "break *in_child+1 if 0", "run", "bt -1", "x/4i in_child", "x/4i in_parent",
                  "mtrace info", "delete", "continue", "echo CHILD\\n",
                  "mtrace history 2000 in_child", "echo PARENT\\n", "inferior 1",
                  "mtrace history 2000", "echo END\\n")
    assert session.errors == "", session.errors
    assert re.search(r"Breakpoint 1, (0x\w+ in )?in_child", session.output)
    assert re.search(r"the calls up to where it was let go are in trace-1.fxt", session.output)
    assert "Recording process" in session.output and is_clean(session)
    assert "exited with code 07" in session.output
    child, parent = session.between("CHILD", "PARENT"), session.between("PARENT", "END")
    assert opened(child)[-1] == "main" and not any(" in_parent " in line for line in child)
    assert sum(" in_child" in line for line in child) >= 1500
    assert any("main" in line for line in parent)
    assert not any(" in_child" in line for line in parent)


def test_a_parent_that_is_let_go(gdb, forks):
    """What it does then is not in its history."""
    session = gdb(forks, "set follow-fork-mode child", "mtrace start", "run", "shell sleep 0.5", "inferior 1",
                  "mtrace history 10 in_parent", "mtrace history 10 main")
    assert "exited with code 07" in session.output, session.all
    assert 'the recording contains no call of "in_parent"' in session.all and " main " in session.output, session.all


@pytest.mark.usefixtures("debug_registers")
def test_a_hardware_breakpoint_in_a_child(gdb, compile):
    """It is not in the text, where those of a child that was just followed are looked for."""
    session = gdb(compile("debugged_forks.c", "-O0"), "set follow-fork-mode child", "mtrace start",
                  "break main", "run", "hbreak *in_child+1", "continue", "x/2i in_child",
                  "p $_hit_bpnum", "p $pc == (long)in_child + 1", "delete", "continue",
                  "mtrace history 2000 in_child")
    assert "$1 = 2" in session.lines and "$2 = 1" in session.lines, session.all
    assert "exited with code 07" in session.output and is_clean(session)
    assert session.errors == "", session.errors


def test_the_next_run_of_both(gdb, forks):
    """The parent's inferior and the child's are as armed as they were."""
    session = gdb(forks, "set follow-fork-mode child", "set mtrace on-exit on", "mtrace start",
                  "run", "inferior 1", "set follow-fork-mode parent", "run", "mtrace history 5 in_parent",
                  "inferior 2", "run", "mtrace history 5 in_parent", "mtrace stop", "run",
                  "mtrace info")
    assert session.errors == "", session.errors
    assert session.output.count("exited with code 02") == 3
    assert len(re.findall(r"^ .* in_parent ", session.output, re.M)) >= 2
    assert "Snapshots: 4" in session.lines
    assert 'Nothing is being recorded ("mtrace start" begins).' in session.lines


def test_a_child_that_becomes_another_program(gdb, compile):
    """After vfork() it has no memory of its own until then."""
    crashing = compile("deep.c", "-O0")
    session = gdb(compile("debugged_spawn.c", "-O0"), "set follow-fork-mode child", "mtrace start",
                  f"run 'exec {crashing} fault'", "echo CHILD\\n", "mtrace history",
                  "echo PARENT\\n", "inferior 1", "mtrace history before", "echo END\\n")
    assert "received signal SIGSEGV" in session.output and is_clean(session)
    assert opened(session.between("CHILD", "PARENT"))[-4:] == ["main", "a", "b", "c"]
    assert any(" before " in line for line in session.between("PARENT", "END"))
    assert session.errors == "", session.errors


VFORKS = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int status;

	if (!vfork()) {
		execl(argv[argc - 1], argv[argc - 1], "none", NULL);
		_exit(1);
	}
	wait(&status);
	return 3;
}
"""


def test_a_child_of_vfork_that_gdb_keeps_beside_its_parent(gdb, compile, tmp_path):
    """Breakpoints of ours are not put into its new program."""
    source = tmp_path / "vforks.c"
    source.write_text(VFORKS)
    session = gdb(compile(source), "set follow-fork-mode child", "set detach-on-fork off",
                  "mtrace start", "run /bin/true", "inferior 1", "continue")
    assert "Cannot" not in session.all and "exited with code 03" in session.output, session.all


BESIDE_A_THREAD = """
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int over;

__attribute__((noinline)) int work(int n)
{
	return n * 2;
}

__attribute__((noinline)) int in_child(int n)
{
	return work(n) + 1;
}

static void *turn(void *unused)
{
	for (int i = 0; !over; i++)
		work(i);
	return unused;
}

int main(void)
{
	pthread_t thread;
	int status;

	pthread_create(&thread, NULL, turn, NULL);
	pid_t child = vfork();
	if (!child) {
		in_child(3);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	over = 1;
	return pthread_join(thread, NULL);
}
"""


def test_a_child_of_vfork_beside_threads_of_its_parent(gdb, compile, tmp_path):
    """When all have stopped the memory of both is the program's own."""
    source = tmp_path / "beside.c"
    source.write_text(BESIDE_A_THREAD)
    program = compile(source, "-O0", "-pthread")
    commands = ("set follow-fork-mode child", "break main", "run", "break in_child", "continue", "echo TEXT\\n", "x/40xb work",
                "x/60xb turn", "x/16xb main", "echo END\\n", "delete", "continue")
    plain = gdb(program, *commands, loaded=False)
    recorded = gdb(program, "mtrace start", *commands)
    assert "Thread 2.1" in recorded.output
    assert recorded.between("TEXT", "END") == plain.between("TEXT", "END")
    assert "exited normally" in recorded.output and recorded.errors == plain.errors


def test_children_that_gdb_keeps(gdb, forks):
    """Such a one is recorded when it is continued."""
    session = gdb(forks, "set detach-on-fork off", "mtrace start", "break in_parent if n == 0",
                  "run", "x/4i in_parent", "inferior 2", "x/4i in_child", "break in_child if n == 0",
                  "continue", "x/4i in_child", "echo CHILD\\n", "mtrace history", "mtrace info",
                  "echo PARENT\\n", "inferior 1", "mtrace history", "delete", "echo END\\n", "kill")
    assert session.errors.count("is not being recorded") == 0, session.errors
    assert is_clean(session)
    child, parent = session.between("CHILD", "PARENT"), session.between("PARENT", "END")
    assert opened(child)[-7:] == ["main"] + 6 * ["in_child"]
    assert "in_child" in opened(child) and "in_parent" not in opened(child)
    assert "in_parent" in opened(parent) and "in_child" not in opened(parent)
    assert any("Inferior 1 is recorded, too: process" in line for line in child)


def test_children_that_go_on_with_their_parents(gdb, forks):
    """Which GDB resumes in one go: that is said, and mended at the next stop."""
    session = gdb(forks, "set detach-on-fork off", "set schedule-multiple on", "mtrace start",
                  "break in_child if n == 0", "run", "mtrace info", "delete", "continue",
                  "inferior 2", "mtrace history 5 in_child")
    assert session.errors.count("is not being recorded up to the next stop") >= 1
    assert re.search(r"^Recording begins when the program runs\.$", session.output, re.M)
    assert any(re.match(r" .* in_child", line) for line in session.lines) and is_clean(session)


TWO = ["mtrace start", "break b", "run fault", "add-inferior -exec {}", "inferior 2",
       "mtrace start", "run fault"]


@pytest.mark.parametrize("options", [["-O0"], ["-O0", "-no-pie"]])
def test_two_inferiors(gdb, compile, options):
    program = compile("deep.c", *options)
    session = gdb(program, *[word.format(program) for word in TWO], "delete", "mtrace info",
                  "continue", "x/4i b", "echo SECOND\\n", "mtrace history", "echo ==\\n",
                  "inferior 1", "x/4i b", "continue", "echo FIRST\\n", "mtrace history",
                  "echo END\\n", "kill", "inferior 2", "kill", "run fault", "remove-inferiors 1", "mtrace info")
    assert session.errors == "", session.errors
    assert is_clean(session) and session.output.count("received signal SIGSEGV") == 3
    assert "Inferior 1 is recorded, too" in session.output
    for start, end in (("SECOND", "=="), ("FIRST", "END")):
        assert opened(session.between(start, end))[-4:] == ["main", "a", "b", "c"]
    assert session.output.count("the calls up to SIG") == 3


def test_killed_after_another_inferior_died(gdb, compile):
    """What ended the other one is not what ended this."""
    program = compile("deep.c", "-O0")
    session = gdb(program, *[word.format(program) for word in TWO], "inferior 1", "delete",
                  "handle SIGSEGV nostop", "continue", "echo KILLED\\n", "inferior 2", "kill",
                  "mtrace history 3")
    assert session.errors == "", session.errors
    assert session.output.count("[mtrace: the calls up to SIGSEGV are in") == 1
    assert session.between("KILLED")[-1].endswith("*** exit by SIGKILL")


def test_two_inferiors_at_once(gdb, compile):
    program = compile("deep.c", "-O0")
    session = gdb(program, *[word.format(program) for word in TWO], "delete",
                  "set schedule-multiple on", "continue", "info inferiors", "mtrace history",
                  "x/4i b", "kill", "mtrace info")
    assert session.errors == "", session.errors
    assert opened(session.lines)[-4:] == ["main", "a", "b", "c"] and is_clean(session)
    assert "is recorded, too" in session.output


def test_an_inferior_that_is_not_to_be_recorded(gdb, compile):
    """That it is not is said once; the other one's recording goes on."""
    program = compile("deep.c", "-O0")
    session = gdb(program, "mtrace start", "break b", "run fault", f"add-inferior -exec {program}",
                  "inferior 2", "run fault", "continue", "mtrace history", "mtrace snapshot",
                  "mtrace stop", "kill", "inferior 1", "mtrace info", "delete", "continue",
                  "mtrace history")
    told = session.errors.splitlines()
    assert len(told) == 4 and "applies to one inferior, and was run for inferior 1" in told[0]
    assert told[1] == told[2] == ("nothing was recorded of this inferior, but of inferior 1 "
                                  '("inferior 1" selects that)')
    assert told[3].startswith("nothing is being recorded") and "Recording process" in session.output
    assert opened(session.lines)[-4:] == ["main", "a", "b", "c"]
