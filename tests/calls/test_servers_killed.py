# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb and GDB are killed while they are attached to servers, at any moment: the servers live on, their clients
get their answers, and the next one to attach leaves their code as it is in the files."""
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

import pytest

from tests.bench import client, servers
from tests.calls.code import changed
from tests.conftest import wait_until

PROTOCOL = client.Protocol(question=b"q", begin=b"55", end=b"\n", rare=b"r")
MUSL = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
C = {"dynamic": ["gcc"], "static": ["gcc", "-static"], "static-pie": ["gcc", "-static-pie"],
     "musl": ["musl-gcc", *MUSL], "musl-static": ["musl-gcc", "-static", *MUSL], "asan": ["gcc", "-fsanitize=address"],
     "ubsan": ["gcc", "-fsanitize=undefined"], "tsan": ["gcc", "-fsanitize=thread"],
     "msan": ["clang", "-fsanitize=memory"], "tcmalloc": ["gcc", "-l:libtcmalloc_minimal.so.4"]}
GO = {"go": [], "go-pie": ["-buildmode=pie"], "go-cgo": ["-buildmode=pie", "-ldflags=-linkmode=external"],
      "go-stripped": ["-ldflags=-s -w"]}
OPTIONS = [[], ["--follow-forks"], ["--timestamps", "full"], ["--throttle"], ["--size", "1M"]]


def start_program(program):
    def start(where):
        address = os.path.join(where, "socket")
        return servers.Server(subprocess.Popen([program, address]), address, PROTOCOL, "")
    return start


@pytest.fixture(name="starter")
def make_starter(need, compile, go):
    def starter(name):
        if name in C:
            compiler, *flags = C[name]
            need(compiler, "musl-tools" if compiler == "musl-gcc" else compiler)
            return start_program(compile("calls_serves.c", "-O1", "-pthread", *flags, compiler=compiler))
        if name in GO:
            return start_program(go(f"serves-{name}", *GO[name], source="calls_serves.go"))
        start, tool = servers.PROGRAMS[name]
        if not shutil.which(tool):
            pytest.skip(f"no {tool} here")
        return start
    return starter


class Killing:
    def __init__(self, name, server, where, mtdb, plugin):
        self.server, self.where, self.mtdb = server, where, mtdb
        self.gdb = ["gdb", "-nx", "-batch", "-ex", "set confirm off", "-ex", f"source {plugin}"]
        servers.wait_for(server.address)
        self.clients = [client.Client(server.address, server.protocol, 1e-3) for _ in range(2)]
        self.failed = 0
        self.check_clients()
        self.pid = servers.traced(name, server)
        self.before = changed(self.pid)
        began = time.monotonic()
        self.attach_and_leave()
        self.longest = (time.monotonic() - began) * 1.2

    def check_clients(self):
        """Each of them gets an answer that it asked for now."""
        for one in self.clients:
            for _ in range(2):
                wait_until(lambda one=one: self.see(one).asked)
        assert not self.failed

    def see(self, one):
        seen = one.look()
        self.failed += seen.failed
        return seen

    def attach_and_leave(self):
        done = subprocess.run([self.mtdb, "attach", "-e", "calls", "-s", "64k", "--for=10ms", "-o", "out.json",
                               str(self.pid)], cwd=self.where, text=True, capture_output=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        assert changed(self.pid) == self.before

    def kill_mtdb(self, chance):
        words = [self.mtdb, "attach", "-e", "calls", "-s", "64k", *chance.choice(OPTIONS), "-o", "out.json"]
        with subprocess.Popen([*words, str(self.pid)], cwd=self.where, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tracer:
            time.sleep(chance.uniform(0, self.longest))
            tracer.kill()

    def kill_gdb(self, chance):
        """Once it records: until then it calls functions in threads of the program's."""
        ready = pathlib.Path(self.where, "ready")
        ready.unlink(missing_ok=True)
        commands = ["mtrace start -size 64k", f"shell touch {ready}", "continue"]
        with subprocess.Popen([*self.gdb, *(word for one in commands for word in ("-ex", one)), "-p", str(self.pid)],
                              cwd=self.where, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tracer:
            wait_until(ready.exists)
            time.sleep(chance.uniform(0, 0.5))
            tracer.kill()

    def kill(self, rounds, of_gdb, seed):
        for number in range(rounds):
            chance = random.Random(f"{seed} {number}")
            if of_gdb:
                self.kill_gdb(chance)
            else:
                self.kill_mtdb(chance)
            assert self.server.process.poll() is None, (seed, number)
            self.check_clients()

    def end(self):
        for one in self.clients:
            one.end()
        self.server.process.terminate()
        try:
            self.server.process.wait(30)
        finally:
            self.server.process.kill()


def kill_often(name, start, where, mtdb, plugin, of_mtdb, of_gdb):
    seed = int(os.environ.get("MTRACE_SEED", random.randrange(1 << 32)))
    killing = Killing(name, start(where), where, mtdb, plugin)
    try:
        killing.kill(of_mtdb, False, seed)
        killing.attach_and_leave()
        killing.kill(of_gdb, True, seed)
        killing.attach_and_leave()
        killing.check_clients()
    finally:
        killing.end()
    print(f"{name}: seed {seed}, mtdb killed {of_mtdb} times and GDB {of_gdb} times")


@pytest.fixture(name="where")
def make_where():
    """A directory that servers of other users reach."""
    with tempfile.TemporaryDirectory(prefix="mtrace-") as where:
        yield where


def test_killed(starter, need, build, mtdb, where):
    need("gdb")
    kill_often("dynamic", starter("dynamic"), where, mtdb, build / "mtrace.py", 5, 1)


@pytest.mark.soak
@pytest.mark.parametrize("name", [*servers.PROGRAMS, *C, *GO])
def test_killed_often(starter, need, build, mtdb, where, name):
    need("gdb")
    rounds = int(os.environ.get("MTRACE_KILLS", "100"))
    kill_often(name, starter(name), where, mtdb, build / "mtrace.py", rounds, rounds // 10)
