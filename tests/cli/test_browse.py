# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb browse: the calls of a recording on the whole terminal, and how the terminal is left."""
import os
import pathlib
import re
import signal
import subprocess

import pexpect
import pytest
from terminal import Screen, end_child

from conftest import wait_until

SOURCE = """#include <pthread.h>
volatile int *nowhere;
__attribute__((noinline)) int leaf(int x) { return x + 1; }
__attribute__((noinline)) int branch(int x) { return leaf(x) + leaf(x + 1); }
__attribute__((noinline)) int fault(int x) { *nowhere = x; return x; }
static void *work(void *x)
{
	return branch(1) ? x : 0;
}
int main()
{
	int total = 0;
	pthread_t thread;
	pthread_create(&thread, 0, work, 0);
	pthread_join(thread, 0);
	for (int i = 0; i < 40; i++)
		total += branch(i);
	return fault(total); /* \x1b]0;owned\x07 \u202e */
}
"""
CALLED = "return fault(total);"
UP, DOWN, RIGHT, LEFT, PAGE_UP, PAGE_DOWN = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~"
HOME, END, ESC, ENTER, CTRL_C, CTRL_Z, ERASE = "\x1b[1~", "\x1b[4~", "\x1b", "\r", "\x03", "\x1a", "\x7f"


@pytest.fixture(name="program", scope="module")
def compiled(need, tmp_path_factory):
    """program(name, source) -> its path; beside it lies its source, NAME.c."""
    def run(name, source=SOURCE):
        directory = tmp_path_factory.mktemp("browse")
        path = directory / f"{name}.c"
        path.write_text(source)
        subprocess.run([need("gcc"), "-w", "-g", "-O0", "-pthread", "-o", directory / name, path], check=True)
        return directory / name
    return run


@pytest.fixture(name="record", scope="module")
def recorder(run_mtdb):
    """record(program) -> the path of a recording of it."""
    def run(program, name="x.perf"):
        path = program.parent / name
        done = run_mtdb("run", "--engine=calls", "-o", program.parent / "x.txt", "-r", path, "--", program)
        assert path.exists(), done.stderr
        return path
    return run


@pytest.fixture(name="recorded", scope="module")
def recorded_calls(program, record):
    return record(program("browsed"))


@pytest.fixture(name="terminal")
def open_terminal(tmp_path):
    children = []

    def spawn(command, *words, rows=24, columns=80, **environment):
        environment = {"PATH": os.environ["PATH"], "TERM": "linux", **environment}
        child = pexpect.spawn(str(command), [str(word) for word in words], cwd=tmp_path, timeout=60,
                              encoding="utf-8", dimensions=(rows, columns), env=environment)
        children.append(child)
        return Screen(child, rows, columns)
    yield spawn
    for child in children:
        end_child(child)


@pytest.fixture(name="browse")
def open_browse(mtdb, recorded, terminal):
    """browse(…) -> a Screen that shows the end of the recording, wholly: the last row is drawn last."""
    def run(*words, **options):
        screen = terminal(mtdb, "browse", *(words or [recorded]), **options)
        screen.wait(lambda: screen.selected and line_number(screen))
        return screen
    return run


@pytest.fixture(name="shell")
def run_in_shell(mtdb, terminal):
    """mtdb in a shell, which tells what became of it and of the terminal."""
    def run(*words):
        script = ('before=$(stty -g); "$@"; echo "status $?"; '
                  '[ "$before" = "$(stty -g)" ] && echo "terminal as before"')
        return terminal("bash", "-c", f"set -m; {script}", "bash", mtdb, *words)
    return run


def line_number(screen):
    """Of the selected one; lines may look alike.  None: it is not shown just now."""
    found = re.search(r"^line (\d+) of", screen.screen.display[-1])
    return int(found[1]) if found else None


def check_end(screen, status):
    screen.wait(f"status {status}\n".strip())
    screen.wait("terminal as before")


def pid_of(screen):
    """Of mtdb in the shell."""
    children = pathlib.Path(f"/proc/{screen.child.pid}/task/{screen.child.pid}/children")
    return int(children.read_text().split()[0])


def is_highlighted(screen, text):
    rows = [row for row, line in enumerate(screen.screen.display) if text in line]
    return len(rows) == 1 and all(screen.screen.buffer[rows[0]][column].reverse
                                  for column in range(screen.screen.columns))


@pytest.mark.parametrize("rows, columns", [(24, 80), (50, 200)])
def test_keys(browse, rows, columns):
    screen = browse(rows=rows, columns=columns)
    assert "*** SIGSEGV" in screen.text
    screen.press("/fault" + ENTER, lambda: "*** SIGSEGV" in screen.selected)
    screen.press(ENTER, "*nowhere = x;")
    screen.press("r", lambda: " fault" in screen.selected and "SIGSEGV" not in screen.selected)
    screen.wait(lambda: is_highlighted(screen, CALLED))
    assert "browsed.c:18" in screen.text
    screen.press("k", "return x + 1;")
    screen.press(ESC, lambda: "return x + 1;" not in screen.text)
    screen.press("/bran", "/bran_")
    screen.press(ERASE + "nch" + ENTER, lambda: " branch" in screen.selected and line_number(screen))
    first = line_number(screen)
    screen.press("p", lambda: " branch" in screen.selected and line_number(screen) not in (None, first))
    screen.press("n", lambda: line_number(screen) == first)
    screen.press("n", "no later call of the same function")
    screen.press("r", lambda: line_number(screen) not in (None, first))
    screen.press("d", lambda: " leaf" in screen.selected)
    screen.press("d", "made no calls that were recorded")
    screen.press("u", lambda: " branch" in screen.selected)
    screen.press(" ", lambda: screen.selected.startswith(">+"))
    screen.press(DOWN, lambda: " branch" in screen.selected and screen.selected.startswith("> "))
    screen.press(UP, lambda: screen.selected.startswith(">+"))
    screen.press(" ", lambda: screen.selected.startswith("> "))
    at = line_number(screen)
    screen.press(DOWN, lambda: " leaf" in screen.selected and line_number(screen) not in (None, at))
    before, at = screen.selected, line_number(screen)
    screen.press(RIGHT, lambda: screen.selected not in ("", before))
    screen.press(LEFT, lambda: screen.selected == before)
    screen.press(PAGE_UP, lambda: line_number(screen) not in (None, at))
    screen.press(PAGE_DOWN, lambda: line_number(screen) == at)
    screen.press(HOME, lambda: screen.selected.startswith("> Thread "))
    screen.press("?", "u, d: caller, first callee")
    screen.press("?", lambda: "first callee" not in screen.text)
    screen.press(END, lambda: "Thread" not in screen.selected and "line " in screen.text)
    screen.child.send("q")
    screen.child.expect(pexpect.EOF)
    screen.child.close()
    assert screen.child.exitstatus == 0


def test_threads(browse):
    screen = browse()
    last = screen.selected
    screen.press("t", lambda: screen.selected not in ("", last))
    screen.press("u", lambda: screen.selected)
    screen.press("T", lambda: screen.selected == last)


def test_one_thread_and_one_function(browse, recorded):
    screen = browse(recorded, "leaf")
    screen.press("t", lambda: " leaf" in screen.selected)
    screen.press("/fault" + ENTER, "no recorded call has a name like that")
    screen.press(HOME, lambda: screen.selected.startswith("> Thread ") and line_number(screen) == 1)
    screen = browse("-t", screen.selected.split()[2], recorded)
    screen.press("t", "the list has no calls of another thread")


def test_resize(browse):
    screen = browse()
    screen.press("/fault" + ENTER, lambda: "*** SIGSEGV" in screen.selected)
    screen.press(ENTER, "*nowhere = x;")
    for rows, columns in [(50, 200), (9, 60), (3, 60), (50, 200), (1, 60), (24, 80)]:
        screen.resize(rows, columns)
        screen.wait(lambda columns=columns: "*** SIGSEGV" in screen.selected or columns < 80 and screen.selected)
    for rows, columns in [(1, 1), (2, 1), (1, 2), (5, 3), (24, 2)]:
        screen.resize(rows, columns)
        screen.press("kj? t", lambda: True)
    screen.child.send("?" + " " + "/fault" + ENTER)
    screen.resize(24, 80)
    screen.wait(lambda: "*** SIGSEGV" in screen.selected)


WAITS, WRITES = "271", "1"  # ppoll(2), write(2): where /proc says that a process sleeps


def test_resize_while_it_draws(browse):
    """It is not forgotten when it comes after the size was asked for: here while the terminal takes no more."""
    screen = browse()
    process = pathlib.Path("/proc", str(screen.child.pid))
    if not (process / "syscall").exists():
        pytest.skip("this kernel does not say in which system call a process is")

    def call():
        return (process / "syscall").read_text().split()[0]

    def written():
        return int(re.search(r"^wchar: (\d+)$", (process / "io").read_text(), re.M)[1])

    for _ in range(5000):  # of a terminal that nobody reads; each key is answered before the next one comes
        before = written()
        screen.child.send("?")
        wait_until(lambda before=before: written() > before or call() == WRITES)
        wait_until(lambda: call() in (WAITS, WRITES))
        if all(call() == WRITES for _ in range(100)):  # else it only waited for its turn
            break
    assert call() == WRITES
    screen.resize(50, 200)
    wait_until(lambda: call() == WRITES)
    screen.wait(lambda: re.search(r"\x1b\[(4\d|50)(;\d+)?[Hd]", screen.raw))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signals_restore_the_terminal(shell, recorded, number):
    screen = shell("browse", recorded)
    screen.wait(lambda: screen.selected)
    os.kill(pid_of(screen), number)
    check_end(screen, 128 + number)


@pytest.mark.parametrize("key, status", [("q", 0), (CTRL_C, 130), ("/word" + CTRL_C, 130)])
def test_keys_restore_the_terminal(shell, recorded, key, status):
    screen = shell("browse", recorded)
    screen.wait(lambda: screen.selected)
    screen.child.send(key)
    check_end(screen, status)


def test_stopped_and_back(mtdb, terminal, recorded):
    script = ('set -m; before=$(stty -g); "$@"; echo "status $?"; '
              '[ "$before" = "$(stty -g)" ] && echo "terminal as before"; read; fg; echo "ended $?"')
    screen = terminal("bash", "-c", script, "bash", mtdb, "browse", recorded)
    screen.wait(lambda: screen.selected)
    screen.press("k", lambda: screen.selected)
    screen.child.send(CTRL_Z)
    check_end(screen, 128 + signal.SIGTSTP)
    screen.resize(30, 100)
    screen.press("\r", lambda: screen.selected and line_number(screen))
    screen.press("/fault" + ENTER, lambda: "*** SIGSEGV" in screen.selected)
    screen.press("q", "ended 0")


def test_terminal_goes_away(browse):
    screen = browse()
    os.kill(screen.child.pid, signal.SIGCONT)
    screen.child.ptyproc.fileobj.close()
    screen.child.closed = screen.child.ptyproc.closed = True
    _, status = os.waitpid(screen.child.pid, 0)
    screen.child.terminated = screen.child.ptyproc.terminated = True
    assert os.waitstatus_to_exitcode(status) in (128 + signal.SIGHUP, 130)


def test_names_of_others_say_nothing_to_the_terminal(mtdb, terminal, program, record):
    """Neither a function's name, nor a file's, nor a line of its source."""
    evil = b"\x1b]0;owned\x07\xc2\x9b31m\xe2\x80\xae"
    name = "f" * len(evil)
    path = program("evil", SOURCE.replace("fault", name))
    path.write_bytes(path.read_bytes().replace(name.encode(), evil))
    path = record(path, "\x1b]0;owned\x07.perf")
    screen = terminal(mtdb, "browse", path, columns=200)
    screen.wait(lambda: "*** SIGSEGV" in screen.text)
    screen.press("/owned" + ENTER + "r", lambda: "?]0;owned??31m?" in screen.selected)
    screen.press(ENTER, "/* ?]0;owned? ? */")
    screen.press("?", "q: leave")
    screen.wait("?]0;owned?.perf")
    assert screen.screen.title == ""
    assert not any(bad in screen.raw for bad in ("\x1b]", "\x07", "\x9b", "\u202e"))


def test_source_that_is_not_there(mtdb, terminal, program, record):
    path = program("gone")
    recording, source = record(path), path.with_suffix(".c")
    source.unlink()
    os.mkfifo(source)
    screen = terminal(mtdb, "browse", recording, columns=200)
    screen.wait(lambda: screen.selected)
    screen.press("/fault" + ENTER + ENTER, "gone.c:5: not a regular file")
    source.unlink()
    screen.child.send("q")
    screen.child.expect(pexpect.EOF)
    screen = terminal(mtdb, "browse", recording, columns=200)
    screen.wait(lambda: screen.selected)
    screen.press("/fault" + ENTER + ENTER, "gone.c:5: No such file or directory")


def test_not_a_terminal(run_mtdb, recorded):
    done = run_mtdb("browse", recorded)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and '"mtdb history"' in done.stderr


@pytest.mark.parametrize("kind", ["dumb", "nosuch", ""])
def test_terminal_that_cannot_be_drawn_on(mtdb, recorded, kind):
    child = pexpect.spawn(str(mtdb), ["browse", str(recorded)], timeout=60, encoding="utf-8",
                          env={"PATH": os.environ["PATH"], "TERM": kind})
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 2
    assert child.before.count("\n") == 1 and '"mtdb history"' in child.before and "\x1b" not in child.before


def test_from_standard_input(terminal, mtdb, recorded):
    screen = terminal("bash", "-c", f"cat '{recorded}' | '{mtdb}' browse -; echo status $?")
    screen.wait(lambda: "*** SIGSEGV" in screen.text)
    screen.press("/fault" + ENTER, lambda: "*** SIGSEGV" in screen.selected)
    screen.press("q", "status 0")


def catches_interrupts(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"SigCgt:\t(\w+)", status)[1], 16) >> (signal.SIGINT - 1) & 1


def test_ctrl_c_while_it_is_read(terminal, mtdb, tmp_path):
    os.mkfifo(tmp_path / "endless")
    writer = os.open(tmp_path / "endless", os.O_RDWR)
    screen = terminal("bash", "-c", f"trap : INT; '{mtdb}' browse - <endless; echo status $?")
    children = pathlib.Path(f"/proc/{screen.child.pid}/task/{screen.child.pid}/children")
    wait_until(lambda: any(pathlib.Path(f"/proc/{pid}/comm").read_text() == "mtdb\n" and catches_interrupts(pid)
                           for pid in children.read_text().split()))
    screen.child.send(CTRL_C)
    screen.wait("status 130")
    os.close(writer)


@pytest.mark.parametrize("text", [b"", b"PERFILE2", b"no recording\n"])
def test_garbage(mtdb, tmp_path, text):
    path = tmp_path / "x.perf"
    path.write_bytes(text)
    child = pexpect.spawn(str(mtdb), ["browse", str(path)], timeout=60, encoding="utf-8",
                          env={"PATH": os.environ["PATH"], "TERM": "linux"})
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1 and "\x1b" not in child.before
