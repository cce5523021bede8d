# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that are overwritten by their plan: they behave as before, and what was recorded is what
valgrind counts."""
import collections
import os
import pathlib
import re
import subprocess

import pytest

from tests.calls import planned

SYSTEM = "libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1 libz.so.1 libsqlite3.so.0 libcrypto.so.3"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

PROGRAMS = {
    "python": ["/usr/bin/python3", "-c", """
import json, random, re
random.seed(1)
print(json.dumps([re.sub("1", "b", str(random.random())) for _ in range(200)]))
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(15), 2 ** 500, sorted(map(str, range(300)))[:9])
try: 1 / 0
except ZeroDivisionError as error: print(error)
"""],
    "perl": ["/usr/bin/perl", "-e", """
my %h; $h{"k$_"} = $_ * 2 for 1..2000; print join(",", map {"$_=$h{$_}"} (sort keys %h)[0..20]);
eval { die "gone\n" }; print $@; print `echo child`; $_ = "abc" x 50; s/b(c)/$1$1/g; print;
"""],
    "bash": ["/bin/bash", "-c", """
for i in {1..200}; do x=$((x + i)); done; echo $x; echo b a | tr ' ' '\\n' | sort
f() { [ $1 -gt 0 ] && f $(($1 - 1)); echo $1; }; f 10; trap 'echo trapped' USR1; kill -USR1 $$
"""],
    "sqlite3": ["/usr/bin/sqlite3", ":memory:", """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
insert into t select i, 'row ' || i, i * 1.5 from n;
create index tb on t(b); select count(*), sum(c) from t where b like '%9%';
update t set c = c + 1 where a % 7 = 0; select group_concat(b) from t where a < 30;
"""],
    "gdb": ["/usr/bin/gdb", "-nx", "-batch", "-ex", "info line main", "-ex", "info types", "-ex", "disassemble main"],
    "git": ["/usr/bin/git", "-C", str(ROOT), "log", "--oneline", "--stat", "-3"],
    "openssl": ["/usr/bin/openssl", "dgst", "-sha256", "/bin/bash"],
}


@pytest.fixture
def patched(applier, tmp_path):
    """patched(modules, command) -> how it ended, and {name: [entries, returns]}."""

    def run(modules, command):
        path = tmp_path / "counts"
        environment = {**os.environ, "LD_PRELOAD": str(applier), "PLAN_MODULES": modules,
                       "PLAN_COUNTS": str(path)}
        done = subprocess.run(command, env=environment, capture_output=True, timeout=100,
                              check=False)
        counts = collections.defaultdict(lambda: [0, 0])
        for line in path.read_text().splitlines() if path.exists() else []:
            entries, returns, name = line.split(" ", 2)
            counts[name][0] += int(entries)
            counts[name][1] += int(returns)
        return done, counts

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_behave_as_before(patched, compile, need, name):
    command = PROGRAMS[name] + ([compile("calls_conditions.c", "-g", "-pthread")] if name == "gdb" else [])
    need(command[0])
    native = subprocess.run(command, capture_output=True, timeout=100, check=False)
    done, counts = patched("- " + SYSTEM, command)
    assert (done.returncode, done.stdout, done.stderr) == (native.returncode, native.stdout,
                                                           native.stderr)
    assert sum(entries for entries, _ in counts.values()) > 1000


def callgrind(need, tmp_path, command, target):
    """{name: calls} of the functions of a file."""
    out = tmp_path / "callgrind.out"
    subprocess.run([need("valgrind"), "--tool=callgrind", "--demangle=no",
                    f"--callgrind-out-file={out}",
                    "--compress-strings=no", "--compress-pos=no", *command],
                   check=True, capture_output=True, timeout=300)
    calls = collections.Counter()
    current, callee_file, callee = None, None, None
    for line in out.read_text().splitlines():
        if line.startswith("ob="):
            current = line[3:]
        elif line.startswith("cob="):
            callee_file = line[4:]
        elif line.startswith("cfn="):
            callee = line[4:]
        elif line.startswith("calls="):
            if (callee_file or current) == str(target):
                calls[re.sub(r"'\d+$", "", callee)] += int(line[6:].split()[0])
            callee_file = None
    return calls


@pytest.mark.parametrize("source,compiler", [
    ("plan_program.c", "gcc"), ("plan_program.c", "clang"),
    ("plan_throw.cpp", "g++"), ("plan_throw.cpp", "clang++")])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os"])
def test_as_many_calls_as_callgrind_counts(mtdb, patched, need, compile, tmp_path, source, compiler,
                                           level):
    program = compile(source, level, compiler=compiler).resolve()
    native = subprocess.run([program], capture_output=True, check=True)
    done, counts = patched("-", [str(program)])
    assert (done.returncode, done.stdout) == (0, native.stdout)
    wanted = callgrind(need, tmp_path, [str(program)], program)
    # What ran before the text was overwritten, and what the plan says it leaves out.
    unseen = {"_start", "(below main)", "_init", "_fini", "frame_dummy"}
    unseen |= {left.name for left in planned.Plan(mtdb, program).left if left.kind == "entry"}
    wanted = {name: calls for name, calls in wanted.items()
              if name not in unseen and not name.startswith("0x") and ".cold" not in name}
    assert {name: counts[name][0] for name in wanted} == wanted
    assert len(wanted) >= 12
    for name in ["hash", "sum", "early"]:
        assert counts[name][0] == counts[name][1], name  # each call ends at a return
