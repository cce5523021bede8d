# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB, and mtdb in both its ways, are killed at any moment amid triggers of all kinds in a program that they attached
to: it goes on as if nothing had been.  GDB is killed once it records: until then it has threads do what they do not
do by themselves."""
import contextlib
import os
import random
import subprocess
import time

import pytest

from conftest import FIXTURES

LINE = 1 + [line.endswith("/* the line */") for line in
            (FIXTURES / "killed_triggers.c").read_text().splitlines()].index(True)
TRIGGERS = [
    ["visit if n % 500 == 7 && item->name[0] == 'b'"],
    ["-every 500 leaf return if $_ret % 2 == 0", "leaf if $rdi == 77"],
    ["pause_at > 1ms", "-rate 100/s -print n -print *item visit"],
    [f"killed_triggers.c:{LINE} if item->count == 1 && sink % 500 == 3"],
    ["visit..pause_at > 500us", "-rate 100/s pause_at after 1ms"],
    ["-max 3 visit if n % 100 == 1", f"-rate 50/s killed_triggers.c:{LINE}", "leaf > 1us"],
]
VALUES = "visit n, item->name, item->count"


class Killing:
    def __init__(self, program, directory, gdb, plugin, mtdb):
        self.program, self.end, self.directory = program, directory / "end", directory
        self.gdb = [gdb, "-nx", "-batch", "-ex", "set confirm off", "-ex", f"source {plugin}"]
        self.prompt = [mtdb, "-nx", "-batch"]
        self.mtdb = mtdb

    def commands(self, who, triggers, values):
        if who == "mtdb":
            words = [word for one in triggers for word in ("-t", one)]
            return [self.mtdb, "attach", "-o", "out.json", "--size", "64k", "--max=0", *words,
                    *(["--args", "visit(n, item->name, item->count)", "--returns", "leaf"] if values else [])]
        lines = ["mtrace start -size 64k", *(f"mtrace trigger {one}" for one in triggers),
                 *([f"mtrace values {VALUES}", "mtrace values -return leaf"] if values else []), "continue"]
        return [*(self.gdb if who == "gdb" else self.prompt), *(word for line in lines for word in ("-ex", line))]

    @contextlib.contextmanager
    def program_runs(self):
        self.end.unlink(missing_ok=True)
        with subprocess.Popen([self.program, self.end], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            try:
                yield process
                self.end.touch()
                out, _ = process.communicate(timeout=120)
                assert (process.returncode, out) == (0, "done\n")
            finally:
                process.kill()

    def kill_once(self, who, process, seed):
        chosen = random.Random(seed)
        words = self.commands(who, chosen.choice(TRIGGERS), chosen.random() < 0.5)
        with open(self.directory / "told", "w+") as told, subprocess.Popen(
                [*words, "-p", str(process.pid)], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=told,
                stderr=told) as debugger:
            deadline = time.monotonic() + (60 if who == "gdb" else chosen.uniform(0.1, 3))
            while time.monotonic() < deadline and debugger.poll() is None and not has_hit(self.directory):
                time.sleep(0.01)
            time.sleep(chosen.uniform(0, 0.3))
            debugger.kill()
        hits = remove_files(self.directory)
        time.sleep(0.1)
        assert process.poll() is None, (seed, (self.directory / "told").read_text())
        return hits


def has_hit(directory):
    return any(name.startswith(("trace-", "out")) for name in os.listdir(directory))


def remove_files(directory):
    found = [*directory.glob("trace-*"), *directory.glob("out*")]
    for one in found:
        one.unlink(missing_ok=True)
    return len(found)


@pytest.fixture(name="killing")
def make_killing(compile, tmp_path, need, plugin, mtdb):
    return Killing(compile("killed_triggers.c", "-O2", "-pthread"), tmp_path, need("gdb"), plugin, mtdb)


def kill_often(killing, who, rounds):
    hits = 0
    for begin in range(0, rounds, 10):
        with killing.program_runs() as process:
            for seed in range(begin, min(begin + 10, rounds)):
                hits += killing.kill_once(who, process, seed) > 0
    print(f"{who}: {rounds} rounds, hits in {hits}")


@pytest.mark.parametrize("who", ["gdb", "prompt", "mtdb"])
def test_killed(killing, who):
    kill_often(killing, who, 3)


@pytest.mark.soak
@pytest.mark.parametrize("who", ["gdb", "prompt", "mtdb"])
def test_killed_often(killing, who):
    kill_often(killing, who, int(os.environ.get("MTRACE_KILLS", "300")))
