# SPDX-License-Identifier: GPL-3.0-or-later
"""The prompt meets bad lines, output that nobody takes, and programs that end when they should not."""
import os
import random
import re
import signal
import subprocess

import pexpect
import pytest

from conftest import need_tool
from terminal import end_child, keep_output

PROMPT = "(mtdb) "
PATIENCE = 60

LINES = [
    "info li\0ne", "break \0 main", "\xff\xfe", "\x01", "\x1b[31m", "print \xff", "info", "x/",
    "x/-3x main", "print /", "print 1" + "+1" * 20000, "print " + "(" * 100000, "print " + "*" * 100000 + "0",
    "a" * 1000000, "break " + "b" * 1000000, "list 1," + "9" * 400, "frame 99999999999999999999", "step -1",
    "continue 18446744073709551616", "ignore 1 -1", "delete 1-", "disassemble main,+1 2",
    "info line *0xffffffffffffffff", "break *0", "thread 4294967297", "handle " + "SIGINT " * 10000,
    "set args " + "x" * 100000, "list " + "," * 1000, "info symbol 0xffffffffffffffff", "printf \"%s%n%d\"",
    "printf \"%999999999d\\n\", 1", "ptype struct", "whatis (((", "output", "until", "advance", "help " + "z" * 5000,
]


def session(mtdb, lines, *words, **options):
    """Lines on standard input, as they are."""
    text = b"".join(line.encode("latin-1") + b"\n" for line in lines)
    return subprocess.run([mtdb, *words], input=text, capture_output=True, timeout=300, check=False, **options)


@pytest.fixture(scope="module", name="steps")
def compile_steps(compile):
    return compile("debug_steps.c", "-O0")


def check_it_lives(done):
    """It went on to the last line, and said nothing of a sanitizer."""
    assert b"it goes on\n" in done.stdout, done.stderr[-2000:]
    assert done.returncode == 0 and b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, done.stderr


@pytest.mark.sanitize
@pytest.mark.parametrize("before", [[], ["break add", "run"]], ids=["before", "running"])
def test_bad_lines(mtdb, steps, before):
    check_it_lives(session(mtdb, [*before, *LINES, "echo it goes on\\n"], steps))


def garbage(seed):
    """Commands' words, and none, in any order."""
    dice = random.Random(seed)
    words = [b"break", b"info", b"print", b"x/8i", b"list", b"disassemble", b"main", b"add", b"square", b"$rip", b"p",
             b"if", b"thread", b"1", b"-1", b"0x", b"*", b"(", b")", b"&", b"debug_steps.c:", b"27", b",", b"[", b"]",
             b"up", b"bt", b"delete", b"set", b"var", b"=", b"locals", b"line", b"breakpoints", b"watch", b"ptype",
             b"struct", b"point", b"'", b"\"", b"\\", b"%", b"handle", b"SIGINT", b"tbreak", b"condition", b"::", b"@"]
    for _ in range(60):
        if dice.random() < 0.2:
            yield dice.randbytes(dice.randrange(1, 80)).replace(b"\n", b"")
        else:
            yield b" ".join(dice.choices(words, k=dice.randrange(1, 7)))


def check_garbage(mtdb, steps, seeds):
    for seed in seeds:
        lines = [line.decode("latin-1") for line in garbage(seed)]
        # What ends the session, or goes to a shell, is not garbage.
        lines = [line for line in lines if not re.match(r"\s*(q|!|sh|so|e|ma|mt)", line)]
        done = session(mtdb, ["break add", "run", *lines, "echo it goes on\\n"], "-ex", "set confirm off", steps)
        check_it_lives(done)


@pytest.mark.sanitize
def test_garbage(mtdb, steps):
    check_garbage(mtdb, steps, range(3))


@pytest.mark.soak
def test_much_garbage(mtdb, steps):
    check_garbage(mtdb, steps, range(1000, 1300))


def test_a_file_that_sources_itself(mtdb, tmp_path):
    (tmp_path / "self").write_text("source self\n")
    done = session(mtdb, ["source self", "echo it goes on\\n"], "-q", cwd=tmp_path)
    check_it_lives(done)
    assert b"files source one another endlessly" in done.stderr and done.stderr.count(b"self") < 120


@pytest.mark.sanitize
def test_no_lines(mtdb, steps):
    done = subprocess.run(["sh", "-c", f"exec {mtdb} {steps} <&-"], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and not done.stderr


def test_full_disk(mtdb, steps):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([mtdb, "-batch", "-ex", "list 1,50", steps], stdout=full, stderr=subprocess.PIPE,
                              timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"mtdb: cannot write to standard output: No space left on device\n"


def test_reader_that_had_enough(mtdb, compile):
    """What comes of the rest nobody wants to know; the program is not left behind."""
    program = compile("debugged_threads.c", "-O0", "-pthread")
    words = [mtdb, "-batch", "-ex", "break leaf", "-ex", "run", *["-ex", "continue"] * 1000, program]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as debugger:
        for line in debugger.stdout:
            if b"Breakpoint 1, " in line:
                break
        debugger.stdout.close()
        assert debugger.wait(PATIENCE) == 128 + signal.SIGPIPE
        assert b"mtdb: writing" not in debugger.stderr.read()


def test_program_is_run_twice(mtdb, steps):
    done = session(mtdb, ["break add", "run", "run", "info breakpoints", "kill", "kill", "run", "echo it goes on\\n"], steps)
    check_it_lives(done)
    assert b"breakpoint already hit 1 time\n" in done.stdout and done.stderr == b"The program is not being run.\n"


@pytest.mark.parametrize("verb", ["step 1000", "finish", "next 1000", "stepi 100000", "until 59", "continue"])
def test_program_ends_meanwhile(mtdb, steps, verb):
    lines = ["break 57", "run", "delete", verb, "info threads", verb, "run", "echo it goes on\\n"]
    done = session(mtdb, ["set confirm off", *lines], steps)
    check_it_lives(done)
    if verb not in ("finish", "until 59"):  # which stop where main returned to, as in GDB
        assert done.stdout.count(b"exited normally]") == 2


@pytest.mark.parametrize("verb", ["continue", "next", "finish", "until", "stepi", "step"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_killed_in_the_middle(mtdb, compile, verb, level):
    """By a SIGKILL of its own, within a call that is stepped over."""
    program = compile("debug_killed.c", level, output="killed" + level)
    times = {"continue": 1, "finish": 1, "stepi": 1}.get(verb, 60)
    lines = ["break middle", "run", "delete", *["stepi 100000" if verb == "stepi" else verb] * times, "bt",
             "info threads", "x/i $pc", "print 1 + 1", "echo it goes on\\n"]
    done = session(mtdb, lines, program)
    assert done.stdout.count(b"Program terminated with signal SIGKILL, Killed.") == 1
    check_it_lives(done)


@pytest.fixture(name="terminal")
def make_terminal(mtdb, steps, tmp_path):
    """terminal(NAME=value…): mtdb at its prompt, as a person sees it."""
    opened = []

    def run(program=steps, dimensions=(24, 80), **environment):
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment}
        child = pexpect.spawn(str(mtdb), ["-q", str(program)], preexec_fn=keep_output,
                              encoding="utf-8", timeout=PATIENCE, env=environment,
                              cwd=tmp_path, dimensions=dimensions)
        opened.append(child)
        child.expect_exact(PROMPT)
        return child

    yield run
    for child in opened:
        end_child(child)


def end(child):
    child.sendline("quit")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 0


def test_ctrl_c_takes_the_line_back(terminal):
    child = terminal(TERM="dumb")
    for _ in range(3):
        child.send("echo no")
        child.expect_exact("echo no")
        child.sendintr()
        child.expect_exact("Quit")
        child.expect_exact(PROMPT)
    child.sendline("echo yes\\n")
    child.expect("\r\nyes\r\n")
    child.expect_exact(PROMPT)
    # An empty line after it repeats nothing that was taken back.
    child.sendline("list 1")
    child.expect_exact(PROMPT)
    child.send("kill")
    child.expect_exact("kill")
    child.sendintr()
    child.expect_exact(PROMPT)
    child.sendeof()
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 0


def test_ctrl_c_at_a_question(terminal):
    child = terminal(TERM="dumb")
    child.sendline("break main")
    child.expect_exact(PROMPT)
    child.sendline("run")
    child.expect_exact("Breakpoint 1, ")
    child.expect_exact(PROMPT)
    child.sendline("kill")
    child.expect_exact("(y or n) ")
    child.sendintr()
    child.expect_exact("(y or n) ")
    child.sendline("n")
    child.expect_exact("Not confirmed.")
    child.expect_exact(PROMPT)
    child.sendline("set confirm off")
    child.expect_exact(PROMPT)
    end(child)


@pytest.mark.parametrize("dimensions", [(1, 1), (0, 0), (1000, 1000)])
def test_terminal_of_any_size(terminal, dimensions):
    child = terminal(TERM="dumb", dimensions=dimensions)
    child.sendline("set pagination off")
    child.expect_exact(PROMPT)
    child.sendline("list 1,5")
    child.expect_exact("signal.h")
    child.expect_exact(PROMPT)
    end(child)


@pytest.mark.parametrize("environment", [{}, {"TERM": ""}, {"TERM": "no-such-terminal"}, {"TERM": "xterm"}], ids=str)
def test_any_kind_of_terminal(terminal, environment):
    end(terminal(**environment))


def test_ctrl_c_of_a_deaf_program(terminal, compile):
    child = terminal(program=compile("debug_deaf.c", "-O0"), TERM="dumb")
    child.sendline("set confirm off")
    child.expect_exact(PROMPT)
    for line in ["run", "continue"]:
        child.sendline(line)
        child.expect_exact("ready" if line == "run" else "Continuing.")
        child.sendintr()
        child.expect_exact("received signal SIGINT, Interrupt.")
        child.expect_exact(PROMPT)
    end(child)


def test_attach_refused(mtdb, steps, compile):
    """In words that say why, and the session goes on."""
    with subprocess.Popen(["true"]) as zombie, subprocess.Popen(["sleep", "1000"]) as other:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        with subprocess.Popen([mtdb, "-q", "-p", str(other.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
            first.stdin.write(b"echo attached\\n\n")
            first.stdin.flush()
            for line in first.stdout:
                if b"attached" in line:
                    break
            lines = [f"attach {zombie.pid}", f"attach {other.pid}", "attach 2", f"attach {2**22 + 1}", "attach 0",
                     "attach x", "attach", "echo it goes on\\n"]
            done = session(mtdb, lines, steps)
            check_it_lives(done)
            for words in [f"process {zombie.pid} has ended", f"process {first.pid} is already tracing it", "process 2",
                          f"no process {2**22 + 1}", '"x" is not a valid process', "Argument required"]:
                assert words in done.stderr.decode(), done.stderr
            first.stdin.close()
        assert other.poll() is None
        other.kill()
    done = subprocess.run(["sh", "-c", f"exec {mtdb} -batch -p $$"], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and b"cannot attach to mtdb itself" in done.stderr


def test_other_debuggers_words(mtdb, need, steps):
    """A process that GDB holds."""
    with subprocess.Popen(["sleep", "1000"]) as other:
        words = [need_tool("gdb"), "-nx", "-q", "-p", str(other.pid)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gdb:
            gdb.stdin.write(b"echo attached\\n\n")
            gdb.stdin.flush()
            for line in gdb.stdout:
                if b"attached" in line:
                    break
            done = session(mtdb, [f"attach {other.pid}"], steps)
            assert f"process {gdb.pid} is already tracing it" in done.stderr.decode()
            gdb.stdin.close()
        other.kill()
