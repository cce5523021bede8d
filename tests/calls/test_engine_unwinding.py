# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that are inside trampolines: the program's own backtrace() sees through them.  GDB does
not, in a process that a killed tracer left behind and in its core file, but sees all others."""
import pathlib
import re
import subprocess
import time

import pytest

LEVELS = ["-O0", "-O2"]
FLAGS = ["-D_GNU_SOURCE", "-pthread", "-fno-inline", "-fno-ipa-cp"]
GOOD = "0 bad chains, 0 wrong sums\n"

# Who stands below whom in a backtrace.
CALLERS = {"leaf": {"fib", "sum"}, "fib": {"fib", "sum"}, "sum": {"run"}, "run": {"start_thread"},
           "start_thread": {"clone3", "clone", "__clone3", None}}


@pytest.fixture(name="abandon")
def start_abandon(mtdb, tmp_path):
    """Patches a process, and dies of SIGKILL."""

    def abandon(pid):
        with subprocess.Popen([mtdb, "attach", "--engine", "calls", "-o", tmp_path / "x.fxt",
                               str(pid)], text=True, stderr=subprocess.PIPE) as tracer:
            for line in tracer.stderr:
                if "Ctrl-C" in line:
                    break
            time.sleep(0.5)
            assert tracer.poll() is None
            tracer.kill()

    return abandon


@pytest.mark.parametrize("mode", ["plain", "altstack", "jump"])
@pytest.mark.parametrize("level", LEVELS)
def test_backtrace_in_handlers(compile, run_mtdb, tmp_path, level, mode):
    program = compile("calls_unwound.c", level, *FLAGS)
    words = [program, "500", "500", mode]
    plain = subprocess.run(words, text=True, capture_output=True, check=True)
    assert plain.stdout == GOOD
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.fxt", "--", *words)
    assert (done.stdout, done.returncode) == (GOOD, 0), done.stderr


@pytest.mark.parametrize("follow", [[], ["--follow-forks"]], ids=["let go", "followed"])
def test_backtrace_in_a_child(compile, run_mtdb, tmp_path, follow):
    """Of a child that is let go no signal is seen; it keeps the trampolines."""
    program = compile("calls_unwound.c", "-O2", *FLAGS)
    done = run_mtdb("run", "--engine", "calls", *follow, "-o", tmp_path / "x.fxt", "--",
                    program, "300", "500", "child")
    assert (done.stdout, done.returncode) == (GOOD, 0), done.stderr


@pytest.mark.parametrize("mode", ["plain", "altstack", "jump"])
@pytest.mark.parametrize("level", LEVELS)
def test_backtrace_in_a_storm(compile, abandon, level, mode):
    """Without a tracer's stop at each signal."""
    program = compile("calls_unwound.c", level, *FLAGS)
    with subprocess.Popen([program, "2500", "30", mode], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        time.sleep(0.3)
        abandon(process.pid)
        out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == (GOOD, 0), err
    assert int(re.search(r"(\d+) signals", err).group(1)) > 100


def chains(text):
    """The backtrace of each thread as a list of names, innermost first."""
    chain = []
    for line in text.splitlines():
        frame = re.match(r"#(\d+) +(?:0x[0-9a-f]+ in )?(<signal handler called>|[^ (]+)", line)
        if not frame:
            continue
        if frame.group(1) == "0" and chain:
            yield chain
            chain = []
        chain.append(frame.group(2))
    if chain:
        yield chain


def wrong(chain):
    """None, or what is wrong with a worker's backtrace."""
    names = [name for name in chain if name != "<signal handler called>"]
    if not names:
        return "nobody is there"
    for callee, caller in zip(names, [*names[1:], None]):
        if callee in CALLERS and caller not in CALLERS[callee]:
            return f"{caller} called {callee}"
    return None if "run" in names else "run is missing"


def in_trampoline(chain):
    """Nobody who comes after the tracer knows who called there."""
    return "??" in (chain[0], chain[chain.index(HANDLED) + 1] if HANDLED in chain else None)


HANDLED = "<signal handler called>"
STOPS = 110  # of two threads


@pytest.mark.parametrize("level", LEVELS)
def test_gdb_comes_afterwards(compile, abandon, need, tmp_path, level):
    need("gdb")
    program = compile("calls_unwound.c", level, *FLAGS)
    core = tmp_path / "core"
    script = tmp_path / "script"
    script.write_text(
        "set pagination off\nhandle SIGUSR1 nostop noprint pass\nhandle SIGUSR2 stop print nopass\n"
        f"set $n = 0\nwhile $n < {STOPS}\nset $n = $n + 1\ncontinue\nthread apply all -q bt\nend\n"
        f"echo == core\\n\ngenerate-core-file {core}\ndetach\ncore-file {core}\n"
        "echo == core\\n\nthread apply all -q bt\n")
    with subprocess.Popen([program, "60000", "2000", "stops"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        time.sleep(0.3)
        abandon(process.pid)
        done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-p", str(process.pid), "-x", script,
                               program], text=True, capture_output=True, timeout=120, check=False)
        process.kill()
    live, _, dead = done.stdout.split("== core\n")
    for text, least in (dead, 2), (live, 2 * STOPS):
        seen = [chain for chain in chains(text) if "main" not in chain]
        assert len(seen) >= least, done.stderr
        known = [chain for chain in seen if not in_trampoline(chain)]
        bad = [(wrong(chain), chain) for chain in known if wrong(chain)]
        assert not bad, f"{len(bad)} of {len(seen)}"
    assert len(known) >= STOPS / 5


@pytest.mark.parametrize("level", LEVELS)
def test_exceptions_through_trampolines(compile, abandon, run_mtdb, tmp_path, level):
    program = compile("calls_thrown.cpp", level, *FLAGS, "-fnon-call-exceptions",
                      "-fno-optimize-sibling-calls")
    good = "0 wrong, 1 1 1\n"
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.fxt", "--", program, "500",
                    "2000")
    assert (done.stdout, done.returncode) == (good, 0), done.stderr
    with subprocess.Popen([program, "6000", "50"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        time.sleep(0.3)
        abandon(process.pid)
        out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == (good, 0), err


def test_nothing_is_left_after_detaching(compile, mtdb, tmp_path):
    """No mapping, and the loader's pointers are as they were: unwinders ask nobody of ours."""
    program = compile("calls_busy.c", "-O1", "-pthread")
    with subprocess.Popen([program, "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        before = of_the_loader(process.pid)
        subprocess.run([mtdb, "attach", "--engine", "calls", "--for", "1s", "--size", "64k", "-o",
                        tmp_path / "x.fxt", str(process.pid)], capture_output=True, check=True)
        assert of_the_loader(process.pid) == before
        process.kill()


def of_the_loader(pid):
    """What is mapped, and the bytes of its dynamic loader that nobody writes."""
    maps = re.findall(r"^(\w+)-(\w+) (....) \w+ \S+ \d+ *(.*)$",
                      pathlib.Path(f"/proc/{pid}/maps").read_text(), re.M)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        texts = {}
        for start, end, rights, path in maps:
            if "/ld-linux" in path and "w" not in rights:
                memory.seek(int(start, 16))
                texts[start] = memory.read(int(end, 16) - int(start, 16))
    assert len(texts) >= 3
    return [line for line in maps if line[3].startswith("/") or "x" in line[2]], texts
