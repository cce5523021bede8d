# SPDX-License-Identifier: GPL-3.0-or-later
"""Inside of GDB: stop the program COUNT times, whenever, and follow each thread's stack to its end.
Prints how many stacks did not reach one."""
import os
import random
import signal
import threading
import time

import gdb

ENDS = {"main", "clone3", "__clone3", "clone", "start_thread", "_start"}


def interrupt(pid):
    time.sleep(random.uniform(0.0005, 0.006))
    os.kill(pid, signal.SIGINT)


def names(thread):
    thread.switch()
    frame, found = gdb.newest_frame(), []
    while frame is not None:
        found.append(frame.name())
        frame = frame.older()
    return found


def storm(count, seed):
    random.seed(seed)
    bad = stacks = 0
    for _ in range(count):
        pid = gdb.selected_inferior().pid
        timer = threading.Thread(target=interrupt, args=(pid,))
        timer.start()
        gdb.execute("continue", to_string=True)
        timer.join()
        for thread in gdb.selected_inferior().threads():
            stack = names(thread)
            stacks += 1
            if stack[-1] not in ENDS and stack[0] != "clone3":  # just born: GDB is lost too
                bad += 1
                print("lost:", stack)
    print(f"{stacks} stacks, {bad} lost")


storm(int(os.environ["COUNT"]), 1)
