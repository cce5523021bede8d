# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the function calls of the program that GDB debugs.  Failures raise mtrace.Error."""
from typing import Callable, Iterator, List, NamedTuple, Optional

import gdb

class Error(gdb.GdbError, gdb.error):
    """A failure of mtrace.  Commands print it as a line."""

class Slice(NamedTuple):
    """A call: its thread (the system's thread ID), its depth in the stack, where its function begins
    and where it was called, its times, and what was recorded of its values."""
    thread: int
    depth: int
    function: str
    file: Optional[str]
    line: Optional[int]
    begin_ns: int
    end_ns: Optional[int]
    """None if it did not return, as duration_ns."""
    duration_ns: Optional[int]
    thread_name: Optional[str]
    call_file: Optional[str]
    call_line: Optional[int]
    arguments: Optional[str]
    """As "name=0x4006b4, count=2"."""
    result: Optional[str]

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
    def slices(self, function: Optional[str] = None, thread: Optional[int] = None,
               begin_ns: Optional[int] = None, end_ns: Optional[int] = None) -> Iterator[Slice]:
        """An iterator over the slices of FUNCTION, whose name may be a glob and may lack parameters
        and namespaces, of THREAD, and of those that ran between the times BEGIN_NS and END_NS.  No
        objects are made of others."""

class EventRegistry:
    """Functions that are called when something has happened, as those of gdb.events are."""
    def connect(self, function: Callable[[Snapshot], object]) -> None:
        """Have FUNCTION called from now on."""
    def disconnect(self, function: Callable[[Snapshot], object]) -> None:
        """Have it called no more."""

class events:
    """Registries of events."""
    snapshot: EventRegistry
    """A snapshot was taken: by whatever, but not by a function that is connected.  Functions are
    called with the Snapshot, where gdb.Breakpoint.stop() would be, if a trigger took it."""

class Trigger:
    """A trigger, of the words SPEC as the command "mtrace trigger" takes them, "if CONDITION" among
    them or not.  At each hit that counts, CALLBACK is called with the trigger and the Snapshot,
    None if nothing is recorded, where the selected thread stands at the hit.  If it returns
    something true, or raises, the program stops there.  What gdb.Breakpoint.stop() must not do, it
    must not do either, except that it may delete triggers."""
    def __init__(self, spec: str, condition: Optional[str] = None,
                 callback: Optional[Callable[["Trigger", Optional[Snapshot]], object]] = None
                 ) -> None: ...
    @property
    def number(self) -> int:
        """The number of the trigger."""
    @property
    def location(self) -> str:
        """Where it is, as it was written."""
    @property
    def condition(self) -> Optional[str]:
        """Its condition; None if it has none."""
    @property
    def hits(self) -> int:
        """How many of its hits counted."""
    @property
    def callback(self) -> Optional[Callable[["Trigger", Optional[Snapshot]], object]]:
        """What is called at each of them."""
    def is_valid(self) -> bool:
        """Whether it is there: neither it nor its breakpoint was deleted."""
    def delete(self) -> None:
        """Delete it."""

def start(engine: Optional[str] = None, size: Optional[str] = None,
          timestamps: Optional[str] = None, threads: Optional[str] = None,
          python_calls: bool = False) -> None:
    """Start recording, now or when the program runs, like the command "mtrace start"."""

def stop() -> None:
    """Stop recording."""

def values(function: str, results: bool = False) -> None:
    """Record arguments, or results, with the calls of a function, like the command
    "mtrace values"."""

def snapshot(path: Optional[str] = None) -> Snapshot:
    """Write what was recorded so far as a timeline, and return it."""

def history(n: Optional[int] = None, function: Optional[str] = None,
            thread: Optional[int] = None, unfold: bool = False) -> List[Slice]:
    """Return the last N calls of the selected thread, or of the goroutine that it runs, or of
    THREAD, as a list of Slice, without writing a file.  Like the command "mtrace history" it takes
    "set mtrace history-size" for N (0: all calls), shows all threads of a program that ended, and
    leaves out what libraries called because it ended, unless UNFOLD; with FUNCTION, only its calls
    are returned."""

def triggers() -> List[Trigger]:
    """Return the triggers."""
