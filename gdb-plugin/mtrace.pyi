# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the function calls of the program that GDB debugs.  Failures raise mtrace.Error."""
from typing import Iterator, List, NamedTuple, Optional, TypedDict

import gdb

class Error(gdb.GdbError, gdb.error):
    """A failure of mtrace.  Commands print it as a line."""

class Slice(NamedTuple):
    """A call: its thread (the system's thread ID), its depth in the stack, and its times."""
    thread: int
    depth: int
    function: str
    file: Optional[str]
    line: Optional[int]
    begin_ns: int
    end_ns: Optional[int]
    """None if it did not return."""

class Snapshot:
    """What was recorded up to a given time.  Iterating yields its slices (Slice) by thread, in the
    order in which they began."""
    @property
    def path(self) -> str:
        """The path of its timeline."""
    @property
    def number(self) -> int:
        """The number of the snapshot, from 1."""
    def __iter__(self) -> Iterator[Slice]: ...

class Trigger(TypedDict):
    number: int
    location: str
    condition: Optional[str]
    hits: int

def start(engine: Optional[str] = None, size: Optional[str] = None,
          timestamps: Optional[str] = None, threads: Optional[str] = None) -> None:
    """Start recording, now or when the program runs, like the command "mtrace start"."""

def stop() -> None:
    """Stop recording."""

def values(function: str, results: bool = False) -> None:
    """Record arguments, or results, with the calls of a function, like the command
    "mtrace values"."""

def snapshot(path: Optional[str] = None) -> Snapshot:
    """Write what was recorded so far as a timeline, and return it."""

def triggers() -> List[Trigger]:
    """Return the triggers."""
