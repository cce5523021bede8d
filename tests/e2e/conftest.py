# SPDX-License-Identifier: GPL-3.0-or-later
"""A program run under mtdb, and what its timeline says."""
import dataclasses
import pathlib

import pytest

import fxt


@dataclasses.dataclass
class Traced:
    """What came of `mtdb run`."""

    status: int
    stdout: str
    stderr: str
    output: pathlib.Path
    recording: pathlib.Path
    trace: fxt.Trace

    @property
    def main(self):
        """The thread that began."""
        return next(one for one in self.trace.threads.values() if one.pid == one.tid)

    @property
    def others(self):
        """The threads that it made, in their order."""
        threads = sorted(self.trace.threads.values(), key=lambda one: one.tid)
        return [one for one in threads if one is not self.main]

    def open_names(self):
        """What the first thread had not returned from, from main() on."""
        names = [piece.name for piece in self.main.open_at_end()]
        return names[names.index("main"):]

    def instants(self, name):
        """Of all threads."""
        return [one for one in self.trace.instants() if one.name == name]



@pytest.fixture
def traced(run_mtdb, tmp_path):
    """traced(program, arg, …, options=[…]) -> Traced."""

    def run(*words, options=(), **more):
        output, recording = tmp_path / "out.fxt", tmp_path / "out.perf"
        done = run_mtdb("run", "--engine=step", "-o", output, "--record", recording, *options,
                        "--", *words, **more)
        assert output.exists(), done.stderr
        return Traced(done.returncode, done.stdout, done.stderr, output, recording,
                      fxt.read(output))

    return run
