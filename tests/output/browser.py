# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium, spoken to by pipes in its DevTools protocol."""
import json
import os
import shutil
import subprocess

import pytest

NAMES = ["chromium-headless-shell", "chromium", "google-chrome"]


class Browser:
    """One page; `requests` has the address of each request that it made."""

    def __init__(self, profile):
        program = next((path for path in map(shutil.which, NAMES) if path), None)
        if not program:
            pytest.skip("no chromium here (package chromium-headless-shell)")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                 "--window-size=1200,800", f"--user-data-dir={profile}"]
        script = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", script, "-", *words], pass_fds=(theirs_in, theirs_out),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.reader, self.writer = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self.session, self.number, self.buffer = None, 0, b""
        self.requests, self.errors, self.is_loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def receive(self):
        """The next message."""
        while b"\0" not in self.buffer:
            piece = self.reader.read1(65536)
            assert piece, "the browser has ended"
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        method = message.get("method")
        if method == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"])
        elif method == "Page.loadEventFired":
            self.is_loaded = True
        return message

    def call(self, method, **params):
        """The result of a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        self.writer.flush()
        while (answer := self.receive()).get("id") != self.number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, url):
        """Returns when the page is loaded."""
        self.is_loaded = False
        self.call("Page.navigate", url=url)
        while not self.is_loaded:
            self.receive()

    def run(self, expression):
        """The value of an expression of JavaScript."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key, text=""):
        """A key, down and up."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, x, y):
        """The left button."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=1,
                      button="none" if kind == "mouseMoved" else "left")

    def close(self):
        """Ends it."""
        self.process.kill()
        self.process.wait()
        self.reader.close()
        self.writer.close()
