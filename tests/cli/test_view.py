# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb view hands a timeline to the Perfetto UI's page, once, and to nobody else."""
import fcntl
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import pytest

PORT = 9001
UI = "https://ui.perfetto.dev"


def is_free():
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", PORT)) != 0


@pytest.fixture(name="port")
def port_fixture():
    """The one port that the page may fetch from, for one test at a time; free again at the end."""
    with open(pathlib.Path(tempfile.gettempdir()) / "mtrace-test-port", "w",
              encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not becomes_free():
            pytest.skip(f"port {PORT} of 127.0.0.1 is in use")
        yield PORT
        assert becomes_free(), "the helper holds the port for ever"


def becomes_free():
    end = time.monotonic() + 60
    while not is_free():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def fetch(name):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/{name}", timeout=60) as answer:
        return answer.headers, answer.read()


def test_serves_the_latest_once(run_mtdb, tmp_path, port):
    for age, name in enumerate(["new.fxt", "old one.fxt"]):
        (tmp_path / name).write_bytes(name.encode() * 1000)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    done = run_mtdb("view", "--no-browser", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert f"{UI}/#!/?url=http://127.0.0.1:{port}/new.fxt" in done.stdout
    with pytest.raises(urllib.error.HTTPError):
        fetch("old%20one.fxt")
    headers, body = fetch("new.fxt")
    assert body == b"new.fxt" * 1000
    assert headers["Access-Control-Allow-Origin"] == UI


def test_opens_a_browser(run_mtdb, tmp_path, port):
    """What BROWSER names is called with the page's address, also for a name with a space."""
    (tmp_path / "my trace.fxt").write_bytes(b"timeline")
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" >{tmp_path}/called\n")
    browser.chmod(0o755)
    done = run_mtdb("view", tmp_path / "my trace.fxt", env={**os.environ, "BROWSER": str(browser)})
    assert done.returncode == 0 and "opening" in done.stdout
    assert fetch("my%20trace.fxt")[1] == b"timeline"
    called = (tmp_path / "called").read_text().strip()
    assert called == f"{UI}/#!/?url=http://127.0.0.1:{port}/my%20trace.fxt"


def test_a_port_in_use(run_mtdb, tmp_path, port):
    (tmp_path / "trace.fxt").write_bytes(b"timeline")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        done = run_mtdb("view", "--no-browser", tmp_path / "trace.fxt")
    assert done.returncode == 1 and done.stdout == ""
    assert "port 9001" in done.stderr and "in use" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("words, message", [
    (["nothing.fxt"], "cannot read nothing.fxt: No such file"),
    (["."], "is not a regular file"),
    ([], "no timeline"),
    (["a", "b"], "view"),
])
def test_what_cannot_be_shown(run_mtdb, tmp_path, words, message):
    done = run_mtdb("view", *words, cwd=tmp_path)
    assert done.returncode in (1, 2) and message in done.stderr and done.stdout == ""


def test_without_python(mtdb, tmp_path):
    """The helper's interpreter may be missing: a message, no crash."""
    (tmp_path / "trace.fxt").write_bytes(b"timeline")
    helper = mtdb.parent / "mtrace-view"
    assert helper.exists()
    copy = tmp_path / "bin"
    copy.mkdir()
    (copy / "mtdb").write_bytes(mtdb.read_bytes())
    (copy / "mtdb").chmod(0o755)
    done = subprocess.run([copy / "mtdb", "view", tmp_path / "trace.fxt"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "mtrace-view is missing beside" in done.stderr
