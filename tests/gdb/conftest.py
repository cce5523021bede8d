# SPDX-License-Identifier: GPL-3.0-or-later
"""Sessions of GDB with the plugin loaded."""
import os
import subprocess
import time

import pytest
from gdb_mi import Machine
from terminal import end_child, keep_output


VISITS = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) long leaf(long n) { sink = n; return n * 3; }
__attribute__((noinline)) long visit(long n)
{
	long sum = leaf(n);
	sum += leaf(n + 1);
	return sum;
}

int main(int argc, char **argv)
{
	for (long n = 0; access(argv[argc - 1], F_OK); n += 1000)
		for (long i = n; i < n + 1000; i++)
			if (visit(i) != 6 * i + 3)
				abort();
	puts("done");
	return 0;
}
"""


class Session:
    """What a batch of GDB's commands printed."""

    def __init__(self, done):
        self.status = done.returncode
        self.output = done.stdout
        self.errors = done.stderr
        self.lines = done.stdout.splitlines()

    @property
    def all(self):
        """Both streams, for what may stand in either."""
        return self.output + self.errors

    def between(self, start, end=None):
        """The lines behind the one that `echo START` printed, up to the one of END."""
        first = self.lines.index(start) + 1
        return self.lines[first:self.lines.index(end) if end else None]

    def check_clean(self):
        """No failure of ours shows Python or ends GDB."""
        for word in ("Traceback", "Python Exception", "Fatal signal", "internal-error",
                     "Error while executing"):
            assert word not in self.all, self.all


@pytest.fixture(scope="session", name="plugin")
def plugin_path(build, need):
    """The file that loads the plugin."""
    need("gdb")
    path = build / "mtrace.py"
    if not path.exists():
        pytest.skip("the plugin is not built: the headers of GDB's Python are missing "
                    "(package libpython3-dev)")
    return path


@pytest.fixture(name="gdb")
def gdb_fixture(plugin, need, tmp_path):
    """gdb(program, "run", "bt", …) -> Session, in a directory of the test's own."""
    path = need("gdb")

    def run(program, *commands, loaded=True, checked=True, timeout=120, options=()):
        words = [path, "-nx", "-batch", *options]
        # GDB writes a thread's end in pieces, between which the program may print.
        first = ["set confirm off", "set width 0", "set disable-randomization on",
                 "set print thread-events off"]
        if loaded:
            first.append(f"source {plugin}")
        for command in [*first, *commands]:
            words += ["-ex", command]
        if program:
            words.append(str(program))
        done = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=False,
                              timeout=timeout, stdin=subprocess.DEVNULL)
        session = Session(done)
        if checked:
            session.check_clean()
        return session

    run.directory = tmp_path
    return run


@pytest.fixture(name="either", params=["gdb", "mtdb"])
def either_fixture(request, gdb, mtdb, tmp_path):
    """either(program, arguments, *commands): what GDB says, or mtdb at its prompt, as lines."""
    def run(program, arguments, *commands):
        commands = (f"set args {arguments}", *commands)
        if request.param == "gdb":
            return gdb(program, *commands).all.splitlines()
        words = [word for command in commands for word in ("-ex", command)]
        done = subprocess.run([mtdb, "-batch", *words, program], cwd=tmp_path, text=True,
                              capture_output=True, check=False, timeout=120,
                              stdin=subprocess.DEVNULL)
        return (done.stdout + done.stderr).splitlines()

    return run


@pytest.fixture(name="goes_on")
def goes_on_fixture(plugin, need, compile, tmp_path):
    """goes_on(level, commands, …): GDB is killed in the last one of COMMANDS, when FILES snapshots are there, and the
    program ends as it would alone."""
    def run(level, commands, files=0):
        source = tmp_path / "visits.c"
        source.write_text(VISITS)
        *before, last = commands
        words = [word for command in (*before, "echo ready\\n", last) for word in ("-ex", command)]
        with subprocess.Popen([compile(source, level), tmp_path / "end"], text=True,
                              stdout=subprocess.PIPE) as program:
            with subprocess.Popen([need("gdb"), "-nx", "-batch", "-ex", "set confirm off", "-ex", f"source {plugin}",
                                   "-p", str(program.pid), *words], cwd=tmp_path, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT) as debugger:
                for line in debugger.stdout:
                    if "ready" in line:
                        break
                while len(list(tmp_path.glob("trace-*.fxt"))) < files:
                    assert debugger.poll() is None
                    time.sleep(0.01)
                debugger.kill()
            time.sleep(0.1)
            (tmp_path / "end").touch()
            out, _ = program.communicate(timeout=60)
        assert (program.returncode, out) == (0, "done\n")

    return run


@pytest.fixture(name="terminal")
def terminal_fixture(plugin, need, tmp_path):
    """terminal(program) -> GDB on a terminal of its own, with the plugin loaded."""
    pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")
    path = need("gdb")
    children = []

    def spawn(program, *options, dimensions=(40, 160)):
        words = ["-nx", "-q", *options, "-ex", "set pagination off", "-ex", "set confirm off",
                 "-ex", "set debuginfod enabled off", "-ex", f"source {plugin}", str(program)]
        child = pexpect.spawn(path, words, cwd=str(tmp_path), preexec_fn=keep_output,
                              encoding="utf-8", timeout=60,
                              dimensions=dimensions, env={"TERM": "xterm", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path),
                                                         "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")})
        children.append(child)
        return child

    yield spawn
    for child in children:
        end_child(child)


@pytest.fixture(name="machine")
def machine_fixture(plugin, need, tmp_path):
    """machine(program, traced=True) -> Machine; machine.raw(options) -> one of your own."""
    made = []

    def raw(options):
        made.append(Machine([need("gdb"), *options], tmp_path))
        return made[-1]

    def make(program, traced=True):
        machine = raw(["-nx", "-q", "-i=mi3", str(program)])
        machine.say("-gdb-set confirm off")
        if traced:
            machine.console(f"source {plugin}")
            assert machine.console("mtrace start")[-1] == "^done"
        return machine

    make.raw = raw
    yield make
    for machine in made:
        machine.process.kill()
        machine.end()
