# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb view hands a timeline to the Perfetto UI's page, once, and to nobody else."""
import fcntl
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import pytest

from conftest import need_tool, wait_until
from output.browser import Browser

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


def address_in(text):
    return re.search(rf"/#!/\?url=(http://127\.0\.0\.1:{PORT}/[\w-]{{20,}}/\S+)", text)[1]


def fetch(address, **headers):
    request = urllib.request.Request(address, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers, answer.read()


def is_refused(address, status, **headers):
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetch(address, **headers)
    return refused.value.code == status


@pytest.mark.parametrize("ending", ["fxt", "pftrace", "fxt.gz"])
def test_serves_the_latest_once(run_mtdb, tmp_path, port, ending):
    for age, name in enumerate([f"new.{ending}", "old one.fxt", "old.pftrace"]):
        (tmp_path / name).write_bytes(name.encode() * 1000)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    done = run_mtdb("view", "--no-browser", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    address = address_in(done.stdout)
    assert f"{UI}/#!/?url={address}" in done.stdout and address.endswith(f"/new.{ending}")
    assert is_refused(address.replace(f"new.{ending}", "old%20one.fxt"), 404)
    headers, body = fetch(address, Origin=UI)
    assert body == f"new.{ending}".encode() * 1000
    assert headers["Access-Control-Allow-Origin"] == UI


def test_opens_a_browser(run_mtdb, tmp_path, port):
    """What BROWSER names is called with the page's address, also for a name with a space."""
    (tmp_path / "my trace.fxt").write_bytes(b"timeline")
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" >{tmp_path}/called\n")
    browser.chmod(0o755)
    done = run_mtdb("view", tmp_path / "my trace.fxt", env={**os.environ, "BROWSER": str(browser)})
    assert done.returncode == 0 and "opening" in done.stdout
    address = address_in(done.stdout)
    assert fetch(address)[1] == b"timeline" and address.endswith("/my%20trace.fxt")
    assert (tmp_path / "called").read_text().strip() == f"{UI}/#!/?url={address}"


def test_others_get_nothing(run_mtdb, tmp_path, port):
    """Other pages, names that lead here, and users without the secret; none takes the owner's turn,
    nor does one who connects and says nothing."""
    (tmp_path / "trace.fxt").write_bytes(b"timeline" * 100000)
    addresses = []
    for _ in range(2):
        done = run_mtdb("view", "--no-browser", tmp_path / "trace.fxt")
        address = address_in(done.stdout)
        addresses.append(address)
        with socket.create_connection(("127.0.0.1", port)), \
             socket.create_connection(("127.0.0.1", port)) as cut:
            cut.sendall(f"GET {address.split(str(port))[1]} HTTP/1.0\r\n".encode())
            assert is_refused(address, 403, Host="evil.example")
            assert is_refused(address, 403, Host=f"evil.example:{port}")
            assert is_refused(address, 403, Origin="https://evil.example")
            assert is_refused(address, 403, Origin="null")
            assert is_refused(f"http://127.0.0.1:{port}/trace.fxt", 404)
            assert is_refused(f"http://127.0.0.1:{port}/", 404)
            assert fetch(address, Origin=UI)[1] == b"timeline" * 100000
        assert becomes_free()
    assert addresses[0] != addresses[1]


def test_another_user_gets_nothing(mtdb, tmp_path, port):
    """Who sees the address among the browser's arguments, too."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    file = tmp_path / "trace.fxt"
    file.write_bytes(b"timeline")
    for part in [file, *file.parents][:-1]:
        part.chmod(part.stat().st_mode | 0o055)
    helper = [need_tool("setpriv"), "--reuid=1234", "--clear-groups", sys.executable, "-I",
              mtdb.parent / "mtrace-view", "--no-browser", file]
    done = subprocess.run(helper, text=True, capture_output=True, check=False, timeout=60)
    if done.returncode:
        pytest.skip("another user cannot read here")
    address = address_in(done.stdout)
    assert is_refused(address, 403)
    with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0)) as roundabout:
        roundabout.sendall(f"GET /{address.split('/', 3)[3]} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert roundabout.makefile("rb").readline().split()[1] == b"403"
    program = f"import urllib.request; print(urllib.request.urlopen({address!r}).read())"
    own = subprocess.run([*helper[:3], sys.executable, "-I", "-c", program], text=True,
                         capture_output=True, check=False, timeout=60)
    assert own.stdout.strip() == "b'timeline'"


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


@pytest.fixture(name="recording", scope="module")
def recording_fixture(compile, run_mtdb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("offline")
    done = run_mtdb("run", "-e", "calls", "-r", folder / "x y.perf", "-o", folder / "x.fxt", "--",
                    compile("deep.c", "-O0"))
    assert (folder / "x y.perf").exists(), done.stderr
    return folder / "x y.perf"


def offline(run_mtdb, *words, **options):
    """The address of the page: anywhere on this machine."""
    done = run_mtdb("view", "--offline", "--no-browser", *words, **options)
    assert done.returncode == 0, done.stderr
    assert UI not in done.stdout
    return re.search(r"(http://127\.0\.0\.1:\d+/[\w-]{20,}/\S+\.html)\n", done.stdout)[1]


def is_over(address):
    """Nobody serves it any more, at the latest after a while."""
    port = int(re.search(r":(\d+)/", address)[1])
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return True
        time.sleep(0.1)
    return False


def test_offline_shows_a_recording(run_mtdb, recording, tmp_path):
    """The page that decode writes, once, to nobody else; nothing of it stays in a file."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    address = offline(run_mtdb, recording, env={**os.environ, "TMPDIR": str(folder)})
    assert list(folder.iterdir()) == [] and address.endswith("/x%20y.html")
    assert is_refused(address, 403, Origin="https://evil.example")
    assert is_refused(address, 403, Origin=UI)
    assert is_refused(address, 403, Host="evil.example")
    assert is_refused(address.rsplit("/", 2)[0] + "/x%20y.html", 404)
    headers, body = fetch(address)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Access-Control-Allow-Origin" not in headers
    assert run_mtdb("decode", "-o", tmp_path / "x.html", recording).returncode == 0
    assert body == (tmp_path / "x.html").read_bytes()
    assert is_over(address)


def test_offline_in_a_browser(run_mtdb, recording, tmp_path):
    """It asks for nothing but the page."""
    browser = Browser(tmp_path / "profile")
    try:
        address = offline(run_mtdb, recording)
        browser.open(address)
        assert browser.run("document.getElementById('message').textContent") == ""
        assert browser.run("mtrace.data.names.includes('main')") and not browser.errors
        others = [one for one in browser.requests if one != address and not one.startswith("data:")]
        assert not others
    finally:
        browser.close()
    assert is_over(address)


def test_offline_opens_a_browser(run_mtdb, recording, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" >{tmp_path}/part\nmv {tmp_path}/part {tmp_path}/called\n")
    browser.chmod(0o755)
    done = run_mtdb("view", "--offline", recording, env={**os.environ, "BROWSER": str(browser)})
    assert done.returncode == 0 and "opening http://127.0.0.1:" in done.stdout, done.stderr
    wait_until((tmp_path / "called").exists)
    assert fetch((tmp_path / "called").read_text().strip())[1].startswith(b"<!doctype html>")


def test_offline_takes_the_latest(run_mtdb, recording, tmp_path):
    """A recording or a page; and a page is shown as it is."""
    for age, name in enumerate(["new.html", "x.perf", "newer.fxt"]):
        (tmp_path / name).write_bytes(recording.read_bytes() if name == "x.perf" else name.encode())
        os.utime(tmp_path / name, (1000 - age % 2, 1000 - age % 2))
    assert fetch(offline(run_mtdb, cwd=tmp_path))[1] == b"new.html"
    os.utime(tmp_path / "x.perf", (2000, 2000))
    address = offline(run_mtdb, cwd=tmp_path)
    assert address.endswith("/x.html") and b"class=\"rows\"" in fetch(address)[1]


@pytest.mark.parametrize("words, message", [
    (["x.fxt"], "--offline shows recordings and pages (*.html): x.fxt is not a recording"),
    (["nothing.perf"], "nothing.perf: No such file"),
    (["nothing.html"], "cannot read nothing.html: No such file"),
    ([], "no recording (*.perf) or page (*.html) in this directory"),
])
def test_what_cannot_be_shown_offline(run_mtdb, tmp_path, words, message):
    (tmp_path / "x.fxt").write_bytes(b"timeline")
    done = run_mtdb("view", "--offline", *words, cwd=tmp_path)
    assert done.returncode == 1 and message in done.stderr and done.stdout == ""


def test_offline_without_a_place(run_mtdb, recording, tmp_path):
    done = run_mtdb("view", "--offline", recording, env={**os.environ, "TMPDIR": str(tmp_path / "none")})
    assert done.returncode == 1 and done.stdout == ""
    assert f"cannot create a directory for the page in {tmp_path}/none: No such file" in done.stderr
