# SPDX-License-Identifier: GPL-3.0-or-later
"""While a tracer prepares what it will put in the place of a text, the program puts something else
there: that is left as it is.  What still is the text comes to be as the file has it."""
import contextlib
import os
import pathlib
import signal
import subprocess

import pytest

# Which time that the text is read; behind a tracer that was killed it is looked for jumps first.
ENTERING, LEAVING, LEAVING_ALL = 1, 2, 3
# Letters of calls_replaced.c.
OTHERS = {"nothing": "n", "data": "p", "the same bytes": "c", "another library": "l"}
ITSELF = {"moved": "h", "writable": "w", "split": "s", "cut": "u"}


@pytest.fixture(name="start")
def make_start(compile):
    library = compile("calls_replaced_part.c", "-O1", "-shared", "-fPIC", output="calls_replaced_part.so")
    other = compile("calls_replaced_part.c", "-O1", "-shared", "-fPIC", "-DOTHER", output="calls_replaced_other.so")
    program = compile("calls_replaced.c", "-O1", "-pthread")

    @contextlib.contextmanager
    def start():
        """The process, and the addresses of its library's text."""
        with subprocess.Popen([program, library, other], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            try:
                yield process, process.stdout.readline().strip()
            finally:
                process.kill()

    return start


@pytest.fixture(name="replace")
def make_replace(compile, mtdb, tmp_path):
    preload = compile("replace_at.c", "-shared", "-fPIC", output="replace_at.so")

    def replace(process, start, when, letter, after=False):
        """What mtdb says of a process, some of whose memory is replaced then."""
        tell, hear = process.stdin.fileno(), process.stdout.fileno()
        environment = {**os.environ, "LD_PRELOAD": str(preload), "REPLACE_AT": start,
                       "REPLACE_NTH": str(when), "REPLACE_LETTER": letter,
                       "REPLACE_TELL": str(tell), "REPLACE_HEAR": str(hear)}
        if after:
            environment["REPLACE_AFTER"] = "1"
        done = subprocess.run(
            [mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json", "--size", "16k",
             "--for=50ms", "--modules", "calls_*", "-p", str(process.pid)], env=environment,
            pass_fds=[tell, hear], text=True, stderr=subprocess.PIPE, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    return replace


def addresses_of(words):
    return [int(word, 16) for word in words.split("-")]


def code(pid, but):
    """What it has mapped to be run, but for those addresses; and our rings."""
    start, stop = addresses_of(but)
    maps = [line.split() for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()]
    return [(words[0], *words[5:]) for words in maps if "/memfd:mtrace" in words[-1] or
            ("x" in words[1] and not start <= addresses_of(words[0])[0] < stop)]


def end(process):
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == ("0 wrong\n", 5)


@pytest.mark.parametrize("when", [ENTERING, LEAVING], ids=["entering", "leaving"])
@pytest.mark.parametrize("what", [*OTHERS, *ITSELF])
def test_replaced(start, replace, when, what):
    with start() as (process, address):
        before = code(process.pid, address)
        replace(process, address, when, {**OTHERS, **ITSELF}[what])
        assert code(process.pid, address) == before
        end(process)


@pytest.mark.parametrize("times", [1, 2])
def test_written_when_it_was_read(start, replace, times):
    """What the program writes into its text before the patched one takes its place is not lost, in
    pages that it has written to before, either."""
    with start() as (process, address):
        for _ in range(times):
            replace(process, address, ENTERING, "b", after=True)
        end(process)


@pytest.fixture(name="attach")
def make_attach(mtdb, tmp_path):
    @contextlib.contextmanager
    def attach(pid, *options):
        """A tracer that records."""
        ours, its = os.pipe()
        with os.fdopen(ours) as pipe, subprocess.Popen(
                [mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json", *options,
                 f"--ready-fd={its}", "-p", str(pid)], pass_fds=[its], text=True,
                stderr=subprocess.PIPE) as tracer:
            os.close(its)
            try:
                assert pipe.read() == "recording\n", tracer.communicate()
                yield tracer
            except BaseException:
                tracer.kill()
                raise

    return attach


def test_behind_a_killed_tracer(start, attach, replace):
    """What that left in other texts goes, all the same."""
    with start() as (process, address):
        before = code(process.pid, address)
        with attach(process.pid) as tracer:
            tracer.kill()
        assert code(process.pid, address) != before
        replace(process, address, LEAVING_ALL, OTHERS["nothing"])
        assert code(process.pid, address) == before
        end(process)


def replace_and_load(process, what):
    for letter in {**OTHERS, **ITSELF}[what], "o" if what in ITSELF else "":
        process.stdin.write(letter)
        process.stdin.flush()
        assert not letter or process.stdout.readline() == "done\n"


@pytest.mark.parametrize("what", [*OTHERS, *ITSELF])
def test_libraries_come_and_go_then(start, attach, what):
    """Trampolines of what is still run stay."""
    with start() as (process, address):
        before = len(code(process.pid, address))
        with attach(process.pid, "--modules", "calls_*") as tracer:
            replace_and_load(process, what)
            tracer.send_signal(signal.SIGINT)
            _, said = tracer.communicate(timeout=60)
            assert tracer.returncode in (0, 130), said
        assert len(code(process.pid, address)) == before
        end(process)
