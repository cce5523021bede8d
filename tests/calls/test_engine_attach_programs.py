# SPDX-License-Identifier: GPL-3.0-or-later
"""Attaching to busy programs of others, most of whose time goes into malloc and the loader."""
import ctypes.util
import subprocess
import sys
import time

import pytest

JSON = "import json\nd = [{'a': [i, str(i) * 20]} for i in range(300)]\n" \
       "while True: json.loads(json.dumps(d)); x = [bytes(2000) for _ in range(50)]"
PERL = "while (1) { my @a = map { $_ x 50 } 1..500; my %h = map { $_ => 1 } @a; }"
NODE = "let x; for (;;) x = Array.from({length: 1000}, (_, i) => ({i, s: 'x' + i}))"

PROGRAMS = {
    "python3": ["-c", JSON],
    "perl": ["-e", PERL],
    "redis-server": ["--port", "0", "--unixsocket", "redis.sock", "--save", ""],
    "node": ["-e", NODE],
}


def attach_thrice(run_mtdb, tmp_path, command):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=tmp_path) as process:
        time.sleep(0.5)
        try:
            for _ in range(3):
                done = run_mtdb("attach", "--engine=calls", "--size=64k", "--for=300ms", "-o",
                                tmp_path / "out.fxt", "-p", process.pid)
                assert done.returncode == 0, done.stderr
                assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.parametrize("program", PROGRAMS)
def test_attach(need, run_mtdb, tmp_path, program):
    # Who is first in the PATH may be a script that looks for a Python.
    path = sys.executable if program == "python3" else need(program)
    attach_thrice(run_mtdb, tmp_path, [path, *PROGRAMS[program]])


@pytest.mark.parametrize("library", ["libc.so.6", "libtcmalloc_minimal.so.4", "libjemalloc.so.2"])
def test_attach_to_allocations(compile, run_mtdb, tmp_path, library):
    """With any allocator: nothing of ours allocates in the program."""
    if not ctypes.util.find_library(library[3:].split(".")[0]):
        pytest.skip(f"no {library} here")
    program = compile("calls_allocate.cpp", "-O2", "-pthread", f"-l:{library}")
    attach_thrice(run_mtdb, tmp_path, [program])


def test_no_signal_is_invented(compile, mtdb, tmp_path):
    """Threads that come to a trigger send themselves SIGURG, for which the program has a handler."""
    program = compile("calls_urgent.c", "-O1")
    with subprocess.Popen([program, tmp_path / "end"], text=True, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == "ready\n"
        for _ in range(8):
            done = subprocess.run([mtdb, "attach", "-e", "calls", "-t", "work", "--max", "0", "--for=300ms", "-o",
                                   tmp_path / "x.json", str(child.pid)], text=True, capture_output=True, timeout=120,
                                  check=False)
            assert done.returncode == 0, done.stderr
        (tmp_path / "end").touch()
        assert child.stdout.read() == "0\n" and child.wait(60) == 0
