# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian's redis-server, which counts its commands itself: stats counts the same calls of their functions."""
import csv
import io
import re
import socket
import subprocess

import pytest

from tests.conftest import need_tool, wait_until

# As different as they can be: a count that belongs to another function shows.
COMMANDS = {
    "SET k v": 31, "GET k": 37, "INCR n": 41, "LPUSH l a b": 43, "LRANGE l 0 9": 47, "SADD s x": 53,
    "HSET h f v": 59, "ZADD z 1 m": 61, "MSET a 1 b 2": 67, "CONFIG GET maxmemory": 3, "PING": 71,
    "EXPIRE k 1000": 73,
}


def ask_often(server, command, count):
    """All at once, and waits for the answers, behind which that of an ECHO is."""
    server.sendall((command + "\r\n").encode() * count + b"ECHO done\r\n")
    said = b""
    while not said.endswith(b"$4\r\ndone\r\n"):
        part = server.recv(1 << 16)
        assert part, said
        said += part
    assert b"-ERR" not in said, said
    return said.decode()


def is_there(path):
    with socket.socket(socket.AF_UNIX) as server:
        return server.connect_ex(path) == 0


def function_of(command):
    """Of "config|get" it is configGetCommand."""
    first, *rest = command.split("|")
    return first + "".join(word.capitalize() for word in rest) + "Command"


def test_as_many_calls_as_the_server_counts(mtdb, run_mtdb, tmp_path):
    redis, path = need_tool("redis-server"), str(tmp_path / "s")
    with subprocess.Popen([mtdb, "run", "--engine", "calls", "--modules", "redis-*", "--size", "64M", "-r", "x.perf", "-o",
                           "x.fxt", "--", redis, "--port", "0", "--unixsocket", path, "--save", "", "--logfile",
                           tmp_path / "log"], stderr=subprocess.PIPE, text=True, cwd=tmp_path) as run:
        wait_until(lambda: is_there(path) or run.poll() is not None)
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(path)
            for command, count in COMMANDS.items():
                ask_often(server, command, count)
            said = ask_often(server, "INFO commandstats", 1)
            server.sendall(b"SHUTDOWN NOSAVE\r\n")
        _, log = run.communicate(timeout=300)
    assert run.returncode == 0, log
    theirs = {function_of(name): int(calls) for name, calls in re.findall(r"cmdstat_([\w|]+):calls=(\d+)", said)}
    assert len(theirs) == len(COMMANDS) + 1 and theirs["zaddCommand"] == 61, "and ECHO"
    theirs["echoCommand"] += 1  # the one behind INFO

    table = run_mtdb("stats", "--csv", "-n", "0", "x.perf", cwd=tmp_path)
    assert table.returncode == 0, table.stderr
    ours = {row["name"]: int(row["calls"]) for row in csv.DictReader(io.StringIO(table.stdout))}
    if "processCommand" not in ours:
        pytest.skip("this redis-server does not tell where its functions are")
    assert {name: ours.get(name) for name in theirs} == theirs
    assert ours["infoCommand"] == ours["shutdownCommand"] == 1
    assert ours["processCommand"] == sum(theirs.values()) + 2
