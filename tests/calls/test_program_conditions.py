# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions at functions of others' programs, of which there is no debug information: registers and
what they lead to, and as many hits as the program counts itself."""
import re
import socket
import subprocess
import sys

import pytest

from conftest import need_tool, wait_until
from tests.calls.hits import hits_in

# Each number is appended to a list of CPython's own by code of another library.
PYTHON = """
import _queue
own, queue = 0, _queue.SimpleQueue()
for i in range(20000):
    x = (i * 7919 % 1000) - 300
    own += -200 < x < 0
    queue.put(x)
print(own)
"""
# Of the number: its type, its sign and the count of its digits, the first digit.
IS_COUNTED = ("((long *)$rsi)[1] == (long)&PyLong_Type && ((long *)$rsi)[2] == -1 && "
              "((int *)$rsi)[6] < 200")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="numbers look otherwise in this Python")
def test_python(run_mtdb, tmp_path):
    (tmp_path / "own.py").write_text(PYTHON)
    done = run_mtdb("run", "--engine", "calls", "--modules", "python3*", "--modules",
                    "libpython3*", "--size", "16k", "-t", f"PyList_Append if {IS_COUNTED}",
                    "-o", tmp_path / "x.json", "--", sys.executable, "-S", tmp_path / "own.py")
    if "Function \"PyList_Append\" not defined" in done.stderr:
        pytest.skip("this Python does not tell where its functions are")
    assert done.returncode == 0 and "evaluated by mtdb" not in done.stderr, done.stderr
    assert int(done.stdout) == 3980
    assert len(hits_in(tmp_path / "x.json")) == 3980


def ask(server, *words):
    """A command of Redis's, whose answer is one line, or one with a length in front."""
    server.sendall(f"{' '.join(words)}\r\n".encode())
    answer = b""
    while not (match := re.match(rb"(?:\$(\d+)|.*)\r\n", answer)) or \
            len(answer) < match.end() + (int(match[1]) + 2 if match[1] else 0):
        part = server.recv(65536)
        assert part, answer
        answer += part
    return answer.decode()


def use(path, count):
    """A client of its own that sets so often: its number."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        number = int(ask(server, "CLIENT", "ID")[1:])
        for i in range(count):
            assert ask(server, "SET", f"key{i}", "x") == "+OK\r\n"
        return number


def is_there(path):
    with socket.socket(socket.AF_UNIX) as server:
        return server.connect_ex(path) == 0


def test_redis(mtdb, tmp_path):
    """The number of its client is the first thing of what a command is given."""
    redis, path = need_tool("redis-server"), str(tmp_path / "s")
    with subprocess.Popen([mtdb, "run", "--engine", "calls", "--modules", "redis-*", "--size",
                           "16k", "-t", "setCommand if *(long *)$rdi % 3 == 0", "-o",
                           tmp_path / "x.json", "--", redis, "--port", "0", "--unixsocket", path,
                           "--save", "", "--logfile", tmp_path / "log"], stderr=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, cwd=tmp_path) as run:
        wait_until(lambda: is_there(path) or run.poll() is not None)
        if run.poll() is not None and "not defined" in run.stderr.read():
            pytest.skip("this redis-server does not tell where its functions are")
        sets = {use(path, 100 + i): 100 + i for i in range(12)}
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(path)
            stats = ask(server, "INFO", "commandstats")
            server.sendall(b"SHUTDOWN NOSAVE\r\n")
        _, log = run.communicate(timeout=300)
    assert int(re.search(r"cmdstat_set:calls=(\d+)", stats)[1]) == sum(sets.values())
    expected = sum(count for number, count in sets.items() if number % 3 == 0)
    assert len(hits_in(tmp_path / "x.json")) == expected > 300, log
    assert "evaluated by mtdb" not in log
