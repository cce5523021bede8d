# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams of many branches, of which perf and our decoder must find the same, one by one, in memory
that does not grow with them: what programs of others did, stepped once and then told again and
again, later each time.  MTRACE_PT_BRANCHES says how many at least."""
import os
import re
import subprocess

import pytest

from branches import DUMP
from core_library import core_library

BRANCHES = int(os.environ.get("MTRACE_PT_BRANCHES", "1000000"))


@pytest.fixture
def tool(compile, build, request):
    """tool(source) -> that, linked with the core."""
    root = request.config.rootpath.parent
    return lambda source: compile(source, *DUMP[1:], f"-I{root / 'core'}", *core_library(build))


@pytest.fixture
def count_of_same(compile, tool, need):
    """How many branches a recording has, once perf and we agree on them."""
    perf, same, dump = need("perf", "linux-perf"), compile("same_branches.c", "-O2"), tool(DUMP[0])

    def count(recording):
        commands = [[dump, recording], [perf, "script", "-i", recording, "--itrace=be",
                                        "-F", "flags,ip,addr"]]
        sources = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
        pipes = [source.stdout.fileno() for source in sources]
        done = subprocess.run([same, *(f"/dev/fd/{pipe}" for pipe in pipes)], pass_fds=pipes,
                              text=True, capture_output=True)
        for source in sources:
            source.stdout.close()
            source.wait()
        assert done.returncode == 0, done.stdout + done.stderr
        assert [source.returncode for source in sources] == [0, 0]
        return int(done.stdout)

    return count


@pytest.fixture
def words(request, compile, need, tmp_path):
    """The command of a program."""
    if request.param == "sort":
        return [compile("truth.c", "-O1", "-g", "-static", "-w"), "sort"]
    file = tmp_path / "file"
    file.write_text("".join(f"{i * i} " for i in range(300)))
    return [need("gzip"), "-9k", file]


@pytest.mark.parametrize("words", ["sort", "gzip"], indirect=True)
def test_what_a_program_did_again_and_again(run_mtdb, tool, count_of_same, tmp_path, words):
    recording, repeated = tmp_path / "perf.data", tmp_path / "repeated.data"
    run_mtdb("run", "--engine=step", "--history=0", "-o", tmp_path / "out.fxt", "--record",
             recording, "--", *words)
    copies = BRANCHES // count_of_same(recording) + 1
    subprocess.run([tool("../bench/repeat_trace.c"), recording, str(copies), repeated], check=True)
    assert count_of_same(repeated) >= BRANCHES
