# SPDX-License-Identifier: GPL-3.0-or-later
"""The tracks beside the calls, as one recording has them."""
import dataclasses
import subprocess

import pytest

import fxt


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
