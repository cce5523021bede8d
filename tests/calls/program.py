# SPDX-License-Identifier: GPL-3.0-or-later
"""A program of others that is run with and without the calls engine.

Each runs in a fresh folder, which `prepare`, a shell script, fills.  What a program prints must be
the same each time; `scrub` are regular expressions of what is not, times mostly."""
import dataclasses
import re

TIMES = r"in \d+\.\d+s|\d+\.\d+ ?m?s\b"


@dataclasses.dataclass(frozen=True)
class Program:
    words: list
    prepare: str = ""
    needs: tuple = ()    # other tools than the first word
    scrub: str = TIMES
    stdout: bool = True  # whether it is compared
    stderr: bool = True
    deep: bool = False   # it recurses thousands of levels
    traces: bool = False  # it traces its children, which only one can do
    short: bool = False  # for every run of the tests
    seconds: int = 120   # it is hung after so many

    @property
    def name(self):
        return re.sub(r"[^-\w./]+", " ", " ".join(self.words))[:50].strip()
