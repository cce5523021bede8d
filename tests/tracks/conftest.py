# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb in a place of its own, where tracefs is mounted as the tests want it."""
import dataclasses
import os
import subprocess

import pytest

import fxt

MOUNT = "mount -t tracefs nodev /sys/kernel/tracing || exit 77; exec \"$@\""


@dataclasses.dataclass
class Run:
    """What came of it."""

    status: int
    stdout: str
    stderr: str
    trace: fxt.Trace | None

    def track(self, what, tid):
        """The track of a thread, such as "page faults"."""
        return next(one for one in self.trace.threads.values()
                    if one.name and one.name.startswith(what) and one.name.endswith(f"({tid})"))

    def has_track(self, what):
        """Of any thread."""
        return any(one.name and one.name.startswith(what) for one in self.trace.threads.values())

    def calls(self, tid):
        """The thread's own track."""
        return next(one for one in self.trace.threads.values() if one.tid == tid)


@pytest.fixture(scope="session", autouse=True)
def always(perf_events):
    """All tests here are of perf events."""


@pytest.fixture(scope="session")
def root():
    """Skips where we are not."""
    if os.geteuid():
        pytest.skip("needs root")


@pytest.fixture(scope="session")
def with_tracefs(root, need):
    """Words before a command that give it a tracefs, which nobody else sees."""
    words = [need("unshare", "util-linux"), "-m", "sh", "-c", MOUNT, "-"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("tracefs cannot be mounted here")
    return words


@pytest.fixture(scope="session")
def record(mtdb, tmp_path_factory):
    """record(options, program, …, before=[…]) -> Run."""

    def run(options, *words, before=(), **more):
        output = tmp_path_factory.mktemp("tracks") / "out.fxt"
        command = [*before, mtdb, "run", "-o", output, *options, "--", *words]
        done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                              check=False, timeout=300, **more)
        trace = fxt.read(output) if output.exists() else None
        return Run(done.returncode, done.stdout, done.stderr, trace)

    return run
