# SPDX-License-Identifier: GPL-3.0-or-later
"""A test that hangs fails, instead of holding up all others: what it started is killed."""
import contextlib
import os
import signal
import threading

from tests.processes import all_processes


def descendants(pid):
    """The processes below one, which may come and go meanwhile."""
    parents = {child: int(fields[1]) for child, _, fields in all_processes()}
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


class Watchdog:
    """Bites after that many seconds, unless it is called off."""

    def __init__(self, seconds):
        self.bit = threading.Event()
        self.timer = threading.Timer(seconds, self.bite)
        self.timer.daemon = True
        self.timer.start()

    def bite(self):
        self.bit.set()
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def call_off(self):
        """Whether the test ended by itself."""
        self.timer.cancel()
        return not self.bit.is_set()


def hear_signals():
    """What is ignored, as under nohup, programs that we start would ignore too.  A handler is not
    handed on."""
    if threading.current_thread() is not threading.main_thread():
        return  # only that one may; another process of the run has done so before
    for number in signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
