# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of a server: it asks one thing after the other, and tells how long it waited."""
import gc
import multiprocessing
import os
import socket
import time
from dataclasses import dataclass

PATIENCE = 60


@dataclass
class Protocol:
    question: bytes
    begin: object           # of each right answer: bytes, or several of them
    end: bytes
    rare: bytes             # a question for which the server calls the function with the trigger
    hello: bytes = b""      # to be said first


@dataclass
class Seen:
    """Since the last look: the longest wait, in milliseconds."""
    longest: float
    asked: int
    failed: int


def connect(address):
    one = socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX)
    one.settimeout(PATIENCE)
    one.connect(address)
    return one


def ask(one, protocol, question):
    """Whether it was answered as it should be."""
    one.sendall(question)
    answer = b""
    while not answer.endswith(protocol.end):
        more = one.recv(65536)
        if not more:
            return False
        answer += more
    return answer.startswith(protocol.begin)


def go_on(address, protocol, pause, pipe):
    gc.disable()
    one = connect(address)
    if protocol.hello:
        ask(one, protocol, protocol.hello)
    seen, question = Seen(0, 0, 0), protocol.question
    while True:
        if pipe.poll():
            word = pipe.recv()
            if word == "end":
                break
            if word == "look":
                pipe.send(seen)
                seen = Seen(0, 0, 0)
            question = protocol.rare if word == "rare" else protocol.question
        began = time.monotonic()
        try:
            right = ask(one, protocol, question)
        except OSError:
            right = False
        seen.longest = max(seen.longest, (time.monotonic() - began) * 1e3)
        seen.asked += 1
        if not right:
            seen.failed += 1
            one.close()
            one = connect(address)
        if question is protocol.rare:
            pipe.send(None)
            question = protocol.question
        if pause:
            time.sleep(pause)


class Client:
    """One in a process of its own."""

    def __init__(self, address, protocol, pause):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=go_on, daemon=True,
                                               args=(address, protocol, pause, other))
        self.process.start()

    def look(self):
        self.pipe.send("look")
        return self.pipe.recv()

    def ask_rarely(self):
        self.pipe.send("rare")
        self.pipe.recv()

    def end(self):
        self.pipe.send("end")
        self.process.join(PATIENCE)


def take_priority():
    """Stops are to be seen, not waits for a processor: before other work, where that is allowed."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    except PermissionError:
        pass
