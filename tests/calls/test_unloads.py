# SPDX-License-Identifier: GPL-3.0-or-later
"""Libraries come and go, and other memory in their place, while a tracer comes, leaves and is killed:
the program's memory stays as it is, and who leaves last leaves nothing."""
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.calls.code import changed, ours


@pytest.fixture(name="program")
def start_program(compile):
    libraries = [compile("calls_unloads_part.c", "-O1", "-shared", "-fPIC", f"-DSIZE={size}",
                         output=f"calls_part{size}.so") for size in range(1, 5)]
    with subprocess.Popen([compile("calls_unloads.c", "-O1", "-pthread"), *libraries], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@pytest.fixture(name="attach")
def make_attach(mtdb, tmp_path):
    def attach(pid, *options):
        return subprocess.Popen(
            [mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json", "--size", "16k",
             "--max=0", *options, "-p", str(pid)], text=True, stderr=subprocess.PIPE)

    return attach


def check_said(tracer):
    _, said = tracer.communicate(timeout=60)
    # The loader may be busy whenever it is looked at.
    assert (tracer.returncode in (0, 130, -signal.SIGINT) or
            "loading or unloading libraries" in said), (tracer.returncode, said)
    # Neither in copies of ours, nor before a library is patched, nor where it was.
    assert "ignoring the trigger" not in said and "differs from the file" not in said, said


def disturb(process, attach, chance):
    """A tracer comes, and leaves by itself, when it is asked to, or suddenly."""
    way = chance.randrange(3)
    options = [f"--for={chance.randint(1, 100)}ms"] if way == 0 else []
    options += chance.choice([[], ["--trigger", "part"], ["--modules", "calls_*"]])
    with attach(process.pid, *options) as tracer:
        if way:
            time.sleep(chance.uniform(0, 0.4))
            tracer.send_signal(signal.SIGINT if way == 1 else signal.SIGKILL)
        if way != 2:
            check_said(tracer)
        else:
            tracer.communicate(timeout=60)
    assert process.poll() is None, way


def end(process, attach):
    process.stdin.write("rest\n")
    process.stdin.flush()
    assert process.stdout.readline() == "resting\n"
    for _ in range(3):
        with attach(process.pid, "--for=1ms") as tracer:
            _, said = tracer.communicate(timeout=60)
            assert tracer.returncode == 0, said
        # As long as a thread is in what is left, that is for who comes next.
        if not list(ours(process.pid)):
            break
    assert list(ours(process.pid)) == []
    assert changed(process.pid) == []
    out, _ = process.communicate("end\n", timeout=60)
    assert (out, process.returncode) == ("0 wrong\n", 5)


def rounds(process, attach, seed, count):
    chance = random.Random(seed)
    for _ in range(count):
        disturb(process, attach, chance)
    end(process, attach)


def test_unloads(program, attach):
    rounds(program, attach, 1, 8)


@pytest.mark.soak
def test_often(program, attach):
    seed = int(os.environ.get("MTRACE_SEED", random.randrange(1 << 32)))
    print("MTRACE_SEED is", seed, file=sys.stderr)
    rounds(program, attach, seed, int(os.environ.get("MTRACE_ROUNDS", "200")))
