# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions at functions of SQLite's, while its shell runs a file of queries: as many hits as the
program itself counts, and its output as without us."""
import json
import os
import re
import subprocess

import pytest

from tests.conftest import FIXTURES

# Function, condition, and the same in C where it differs.
CASES = [
    ("sqlite3Malloc", "n > 4000 && n % 16 == 0", None),
    ("sqlite3VdbeAddOp3", "op == 9 && p->nOp % 8 == 3 && p->db->nDb > 1", None),
    ("sqlite3GetToken", "z[0] == 'w' && (z[1] | 32) == 'h' && *tokenType != 1", None),
    ("sqlite3StrICmp", "$_streq(zLeft, zRight) && $_strlen(zLeft) > 4",
     "strcmp(zLeft, zRight) == 0 && strlen(zLeft) > 4"),
    ("sqlite3HashFind", '$_streq(pKey, "w") || pH->count > 200',
     'strcmp(pKey, "w") == 0 || pH->count > 200'),
    ("sqlite3VdbeMemSetInt64", "val < -1 || (val > 90 && pMem->flags & 1)", None),
]
COUNTING = """
static long own_hits, own_calls;
static void tell_own(void) __attribute__((destructor));
static void tell_own(void)
{
	fprintf(stderr, "FUNCTION: own %ld of %ld\\n", own_hits, own_calls);
}
"""


def with_count(text, function, condition):
    """It counts its calls, and those where the condition holds."""
    head = re.search(rf"^SQLITE_PRIVATE [a-z ]+\*?{function}\([^;{{]*\)\{{", text, re.M)
    own = {name: f"{name}_{function}" for name in ("own_hits", "own_calls", "tell_own")}
    counting = COUNTING.replace("FUNCTION", function)
    for name, its in own.items():
        counting = counting.replace(name, its)
    counts = f"{own['own_calls']}++; {own['own_hits']} += ({condition}) != 0;"
    return (text[:head.start()] + counting + "__attribute__((noipa)) " + head.group() + counts
            + text[head.end():])


@pytest.fixture(name="counting", scope="module", params=["-O0", "-O1"])
def counting_shell(compile, sqlite, tmp_path_factory, request):
    """SQLite's shell, which counts where the conditions hold."""
    folder = tmp_path_factory.mktemp("counting")
    text = (sqlite / "sqlite3.c").read_text()
    for function, condition, in_c in CASES:
        text = with_count(text, function, in_c or condition)
    (folder / "sqlite3.c").write_text(text)
    for name in ("sqlite3.h", "shell.c"):
        (folder / name).symlink_to(sqlite / name)
    return compile(folder / "shell.c", request.param, "-w", "-DSQLITE_THREADSAFE=0",
                   "-DSQLITE_OMIT_LOAD_EXTENSION", folder / "sqlite3.c", "-lm")


@pytest.mark.parametrize("function, condition", [case[:2] for case in CASES],
                         ids=[case[0] for case in CASES])
def test_hits_are_the_programs_own(run_mtdb, counting, tmp_path, function, condition):
    words = [str(counting), "-batch", ":memory:"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    with open(FIXTURES / "queries.sql", "rb") as queries:
        plain = subprocess.run(words, stdin=queries, capture_output=True, text=True, check=False,
                               env=environment)
        queries.seek(0)
        done = run_mtdb("run", "--engine", "calls", "--modules", "shell*", "--size", "64k", "-t",
                        f"{function} if {condition}", "-o", tmp_path / "x.json", "--", *words,
                        stdin=queries, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        env=environment)
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode)
    own = re.search(rf"{function}: own (\d+) of (\d+)", plain.stderr)
    hits, calls = int(own[1]), int(own[2])
    assert 0 < hits < calls / 2
    assert own[0] in done.stderr and "evaluated by mtdb" not in done.stderr
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert len([event for event in events
                if event["ph"] == "i" and event["name"] == "trigger"]) == hits
