# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded program is killed from elsewhere before, or while, recording stops or the debugger lets go of it: nobody
claims that it runs on, its parent learns of its end, and the debugger goes on."""
import os
import random
import re
import subprocess

import pytest

from conftest import wait_until
from processes import state_of

LEAVES = ["mtrace stop", "detach"]


@pytest.fixture(name="leave", params=["gdb", "mtdb"])
def fixture_leave(request, compile, gdb, mtdb, tmp_path):
    """leave(words, kill) -> what is said when a debugger that records a program executes `words` as KILL, a shell's
    words in which PID stands for the program's, is under way."""
    program = compile("debugged_threads.c", "-O1", "-pthread")

    def run(words, kill):
        with subprocess.Popen([program], stdout=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 5)
                pid = str(process.pid)
                commands = [f"attach {pid}", "mtrace start", "stepi", f"shell {kill}".replace("PID", pid), words,
                            "echo LEFT\\n", f"shell grep -w TracerPid /proc/{pid}/status", "mtrace info"]
                if request.param == "gdb":
                    said = gdb(program, *commands).all
                else:
                    done = subprocess.run(
                        [mtdb, "-batch", *(word for one in commands for word in ("-ex", one)), program], cwd=tmp_path,
                        text=True, capture_output=True, check=True, timeout=120, stdin=subprocess.DEVNULL)
                    said = done.stdout + done.stderr
                wait_until(lambda: state_of(process.pid) == "Z")
            finally:
                process.kill()
        assert process.returncode == -9
        assert "LEFT" in said.splitlines(), said
        for word in ("runs on", "cannot ", "restores it", "internal"):
            assert word not in said, said
        # Whom the debugger has waited for it does not trace any more, either.
        assert words != "detach" or "TracerPid:\t0" in said.splitlines(), said
        return said

    return run


@pytest.mark.parametrize("words", LEAVES)
def test_killed_before(leave, words):
    said = leave(words, "kill -9 PID")
    assert ("Recording stopped." if words == "mtrace stop" else "detached]") in said
    assert re.search(r"^(Nothing is being recorded|Recording begins when the program runs)", said, re.M), said


@pytest.mark.soak
@pytest.mark.parametrize("words", LEAVES)
def test_killed_meanwhile(leave, words):
    chosen = random.Random(os.environ.get("MTRACE_SEED", "1"))
    for _ in range(int(os.environ.get("MTRACE_KILLS", "300")) // 10):
        leave(words, f"(sleep {chosen.uniform(0, 0.03):.4f}; kill -9 PID) &")
