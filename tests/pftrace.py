# SPDX-License-Identifier: GPL-3.0-or-later
"""A strict reader of Perfetto's protobuf format, for tests: the same kind of trace as tests/fxt.py
gives.  Whatever breaks a rule of the encoding, of Perfetto's importer, or of our own writer raises
PftraceError.

Source of the format: https://github.com/google/perfetto, protos/perfetto/trace/.
"""
import gzip
import struct

import fxt

VARINT, DOUBLE, BYTES = 0, 1, 2
CLEARED, NEEDS_STATE = 1, 2
BEGIN, END, INSTANT, COUNTER = range(1, 5)
CATEGORIES, NAMES, ARG_NAMES, LOCATIONS, STRINGS = 1, 2, 3, 4, 29
PACKET = {8: "time", 10: "sequence", 11: "event", 12: "interned", 13: "flags", 60: "track"}
EVENT = {3: "category", 4: "args", 9: "type", 10: "name", 11: "track", 30: "value", 34: "location", 44: "real",
         47: "from", 48: "to"}
ARGUMENT = {1: "name", 2: "bool", 3: "number", 7: "pointer", 17: "string"}
VALUES = {"bool": bool, "number": int, "pointer": fxt.Pointer}


class PftraceError(Exception):
    """A rule is broken."""


def fail(rule):
    """A rule is broken."""
    raise PftraceError(rule)


def need(condition, rule):
    """Raise unless the rule holds."""
    if not condition:
        fail(rule)


def varint(data, at):
    """A number, in as few bytes as it takes, and the place behind it."""
    value = shift = 0
    while True:
        need(at < len(data), "a number is cut off")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            need((byte or shift == 7) and value < 1 << 64, "a number that is too long")
            return value, at


def fields(data):
    """Each field of a message: its number, and its value, a number or bytes."""
    at, size = 0, len(data)
    while at < size:
        tag = data[at]
        if tag < 0x80:
            at += 1
        else:
            tag, at = varint(data, at)
        kind = tag & 7
        if kind not in (VARINT, DOUBLE, BYTES):
            fail(f"wire type {kind} has no place here")
        if kind == DOUBLE:
            need(at + 8 <= size, "a field is cut off")
            yield tag >> 3, struct.unpack_from("<d", data, at)[0]
            at += 8
            continue
        if at < size and data[at] < 0x80:
            value = data[at]
            at += 1
        else:
            value, at = varint(data, at)
        if kind == BYTES:
            end = at + value
            if end > size:
                fail("a field is cut off")
            value, at = data[at:end], end
        yield tag >> 3, value


def message(data, known, repeated=()):
    """A message's fields by the names that KNOWN gives their numbers; `repeated` ones as lists."""
    found = {name: [] for name in repeated}
    for number, value in fields(data):
        name = known.get(number)
        if name is None:
            fail(f"field {number} has no place beside {sorted(known)}")
        if name in repeated:
            found[name].append(value)
            continue
        if name in found:
            fail(f"{name} stands twice")
        found[name] = value
    return found


def text(raw):
    """A text, in UTF-8."""
    need(b"\0" not in raw and len(raw) <= fxt.TEXT_MAX, "a text with a NUL, or too long")
    return raw.decode("utf-8", "strict")


class Reader:
    """The state that packets build on."""

    def __init__(self):
        self.trace = fxt.Trace()
        self.interned = None
        self.given = set()  # all numbers ever given: none has two meanings
        self.threads, self.counters, self.tracks = {}, {}, {}

    def packet(self, data):
        """One TracePacket."""
        packet = message(data, PACKET)
        need(packet.get("sequence") == 1, "a packet without its sequence")
        flags = packet.get("flags", 0)
        if flags & CLEARED:
            self.interned = {kind: {} for kind in (CATEGORIES, NAMES, ARG_NAMES, LOCATIONS, STRINGS)}
            self.trace.records["cleared"] += 1
        need(self.interned is not None, "the first packet does not begin the sequence's state")
        kinds = [kind for kind in ("event", "track", "interned") if kind in packet]
        if len(kinds) != 1:
            fail(f"a packet of {kinds}")
        self.trace.records[kinds[0]] += 1
        need(kinds == ["track"] or flags & NEEDS_STATE, "a packet that needs no state, but does")
        need(("time" in packet) == (kinds == ["event"]), "times stand on events")
        if kinds == ["event"]:
            self.event(packet["event"], packet["time"])
        elif kinds == ["track"]:
            self.track(packet["track"])
        else:
            for kind, entry in fields(packet["interned"]):
                self.intern(kind, entry)

    def intern(self, kind, entry):
        """What a number means from here on."""
        need(kind in self.interned, f"nothing is interned as {kind}")
        known = {1: "iid", 2: "text"}
        if kind == LOCATIONS:
            known |= {3: "function", 4: "line"}
        told = message(entry, known)
        iid = told.pop("iid")
        need(iid and iid not in self.interned[kind], "a number is told twice")
        if kind != ARG_NAMES:
            need((kind, iid) not in self.given, "a number has a second meaning")
            self.given.add((kind, iid))
        told = {name: text(value) if isinstance(value, bytes) else value for name, value in told.items()}
        self.interned[kind][iid] = told if kind == LOCATIONS else told["text"]

    def track(self, data):
        """A process, thread or counter; told again when it gets a name."""
        track = message(data, {1: "uuid", 2: "name", 3: "process", 4: "thread", 5: "parent", 8: "counter"})
        uuid, kinds = track["uuid"], track.keys() & {"process", "thread", "counter"}
        need(uuid and len(kinds) == 1, f"a track of {kinds}")
        if "process" in kinds:
            told = message(track["process"], {1: "pid", 6: "name"})
            key = told["pid"]
            one = self.trace.processes.setdefault(key, fxt.Process(key))
        elif "thread" in kinds:
            told = message(track["thread"], {1: "pid", 2: "tid", 5: "name"})
            key = told["pid"], told["tid"]
            one = self.threads[uuid] = self.trace.thread(*key)
        else:
            need(track["counter"] == b"" and track["parent"] in self.threads, "a strange counter")
            key = track["parent"], track["name"]
            self.counters[uuid] = self.threads[track["parent"]], text(track["name"])
            told, one = {}, None
        need(self.tracks.setdefault(uuid, (kinds.copy().pop(), key)) == (kinds.pop(), key),
             "a track becomes another")
        if "name" in told:
            one.name = text(told["name"])

    def event(self, data, time):
        """A TrackEvent."""
        event = message(data, EVENT, repeated=["args"])
        if "real" in event:
            event["value"] = event.pop("real")
        need(time < 1 << 63, "a time that does not fit 63 bits")
        if event["type"] == COUNTER:
            need(set(event) == {"type", "track", "value", "args"} and not event["args"], "a strange value")
            thread, name = self.counters[event["track"]]
            self.trace.counters[name].append((time, event["value"]))
            return
        thread = self.threads[event["track"]]
        if time < thread.last_time:
            fail(f"time runs backwards on {thread}")
        thread.last_time = time
        args = dict(map(self.arg, event["args"]))
        need(len(args) == len(event["args"]), "an argument stands twice")
        if "location" in event:
            args |= self.location(self.interned[LOCATIONS][event["location"]])
        if event["type"] == END:
            need("name" not in event and thread.open, "an end with a name, or without a beginning")
            piece = thread.open.pop()
            piece.end = time
            piece.args.update(args)
            return
        self.put(event, thread, time, args)

    def put(self, event, thread, time, args):
        """A beginning, or an instant, which takes a level of its own."""
        if event["type"] not in (BEGIN, INSTANT):
            fail(f"an event of type {event['type']}")
        need(len(thread.open) < fxt.LEVELS_MAX, "it lies below the last level")
        parent = thread.open[-1] if thread.open else None
        told = (self.interned[NAMES][event["name"]], self.interned[CATEGORIES][event["category"]], time,
                len(thread.open), args, parent)
        if event["type"] == INSTANT:
            instant = fxt.Instant(*told)
            thread.instants.append(instant)
            if parent:
                parent.instants.append(instant)
            self.flow(event, "from", parent)
            return
        piece = fxt.Slice(*told)
        self.flow(event, "to", piece)
        (parent.children if parent else thread.roots).append(piece)
        thread.all_slices.append(piece)
        thread.open.append(piece)

    def flow(self, event, end, piece):
        """An arrow goes from an instant, here its slice, to where a slice begins."""
        need(("to" if end == "from" else "from") not in event, "an arrow at the wrong end")
        if end in event:
            number = struct.unpack("<Q", struct.pack("<d", event[end]))[0]
            need(number and end not in self.trace.flows[number], f"an arrow that is {end} two places")
            self.trace.flows[number][end] = piece

    @staticmethod
    def location(told):
        """A source location, as the arguments that other formats have of it."""
        args = {"file": told["text"]}
        if "line" in told:
            args["line"] = told["line"]
        return args

    def arg(self, data):
        """A DebugAnnotation: its name and value."""
        told = message(data, ARGUMENT)
        name = self.interned[ARG_NAMES][told.pop("name")]
        (kind, value), = told.items()
        if kind == "number" and value >= 1 << 63:
            fail(f"{name} would be shown as negative")
        return name, self.interned[STRINGS][value] if kind == "string" else VALUES[kind](value)


def parse(data):
    """The trace in bytes."""
    reader = Reader()
    with fxt.without_collector():
        for number, value in fields(data):
            need(number == 1 and isinstance(value, bytes), "something else than a packet")
            reader.packet(value)
    return reader.trace


def read(path):
    """The trace in a file, gzip-ed or not."""
    with open(path, "rb") as file:
        data = file.read()
    return parse(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
