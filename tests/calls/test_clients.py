# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that is attached to, recorded and left over and over: its clients get their answers, and
nothing of ours stays in it."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from tests.bench import client
from tests.calls.code import changed
from tests.conftest import wait_until

PROTOCOL = client.Protocol(question=b"q", begin=b"55", end=b"\n", rare=b"r")


@pytest.fixture(name="server")
def start_server(compile, tmp_path):
    program = compile("calls_serves.c", "-O1", "-pthread")
    address = os.path.relpath(tmp_path / "socket")
    with subprocess.Popen([program, address]) as process:
        wait_until(pathlib.Path(address).exists)
        clients = [client.Client(address, PROTOCOL, pause) for pause in (0, 1e-3)]
        wait_until(lambda: all(one.look().asked for one in clients))
        yield process.pid, clients
        for one in clients:
            one.end()
        process.kill()


def left_in(pid):
    """Its mappings, and how many files it has opened."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return re.sub(r" +", " ", maps), len(os.listdir(f"/proc/{pid}/fd"))


def record(mtdb, out, pid, clients):
    with subprocess.Popen([mtdb, "attach", "--engine", "calls", "--size", "64k", "--trigger",
                           "rarely", "--max", "1", "-o", out, str(pid)],
                          text=True, stderr=subprocess.PIPE) as tracer:
        for line in tracer.stderr:
            if ": recording process" in line:
                break
        while tracer.poll() is None:
            clients[1].ask_rarely()
        assert tracer.returncode == 0, tracer.stderr.read()


def go_round(server, mtdb, tmp_path, count):
    pid, clients = server
    record(mtdb, tmp_path / "out.fxt", pid, clients)
    before = left_in(pid)
    for _ in range(count):
        record(mtdb, tmp_path / "out.fxt", pid, clients)
    assert left_in(pid) == before and not changed(pid)
    for one in clients:
        seen = one.look()
        assert seen.asked and not seen.failed


def test_clients(server, mtdb, tmp_path):
    go_round(server, mtdb, tmp_path, 3)


@pytest.mark.soak
def test_clients_for_long(server, mtdb, tmp_path):
    go_round(server, mtdb, tmp_path, 100)
