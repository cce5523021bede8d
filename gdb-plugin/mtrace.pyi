# SPDX-License-Identifier: GPL-3.0-or-later
"""The function calls of the program that GDB debugs.  Failures are gdb.GdbError."""
from typing import Iterator, List, NamedTuple, Optional, TypedDict

class Slice(NamedTuple):
    """A call: the thread's number (of the system), how deep it lies, and its times."""
    thread: int
    depth: int
    function: str
    file: Optional[str]
    line: Optional[int]
    begin_ns: int
    end_ns: Optional[int]
    """None: it did not return."""

class Snapshot:
    """What was recorded up to a moment.  Iterating gives its slices (Slice), by thread, and in the
    order in which they began."""
    @property
    def path(self) -> str:
        """The file of its timeline."""
    @property
    def number(self) -> int:
        """Counted from 1."""
    def __iter__(self) -> Iterator[Slice]: ...

class Trigger(TypedDict):
    number: int
    location: str
    condition: Optional[str]
    hits: int

def start(engine: Optional[str] = None, size: Optional[str] = None,
          timestamps: Optional[str] = None, threads: Optional[str] = None) -> None:
    """Record the program, from now on or when it runs; as the command "mtrace start"."""

def stop() -> None:
    """Stop recording."""

def snapshot(path: Optional[str] = None) -> Snapshot:
    """Write what was recorded so far as a timeline, and return it as a Snapshot."""

def triggers() -> List[Trigger]:
    """The triggers, each a dict of number, location, condition (or None), hits."""
