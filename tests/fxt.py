# SPDX-License-Identifier: GPL-3.0-or-later
"""A strict reader of the Fuchsia trace format, for tests: whatever breaks a rule of the format, of
Perfetto's importer, or of our own writer raises FxtError.

    trace = fxt.read("out.fxt")                # .gz or not
    trace.processes[1230].name
    thread = trace.threads[1230, 1234]         # .name, .roots, .instants
    for piece in thread.slices():              # in the order of their beginnings
        piece.name, piece.begin, piece.end     # end: None where it never ended
        piece.depth, piece.args, piece.parent, piece.children, piece.instants

`python3 tests/fxt.py FILE` prints what is in a file.

Source of the format: Fuchsia, docs/reference/tracing/trace-format.md.
"""
import collections
import contextlib
import dataclasses
import gc
import gzip
import struct
import sys

MAGIC = 0x0016547846040010
LEVELS_MAX = 512  # that Perfetto's importer takes on a thread; an instant takes one too
TEXT_MAX = 32000
NS_PER_SECOND = 1_000_000_000


class FxtError(Exception):
    """A rule is broken; the message says which, and at what byte."""


class Pointer(int):
    """An argument that is an address."""


class Koid(int):
    """An argument that is a kernel object's number."""


@dataclasses.dataclass
class Process:
    """A process; its name is None where the file does not tell."""

    pid: int
    name: str | None = None


@dataclasses.dataclass(repr=False)
class Instant:
    """What happened at one moment, inside of the slice `parent` (None: outside of all)."""

    name: str
    category: str
    time: int
    depth: int
    args: dict
    parent: "Slice | None"

    def __repr__(self):
        return f"<instant {self.name} at {self.time} {self.args}>"


@dataclasses.dataclass(repr=False)
class Slice:
    """One call, or what stands in its place."""

    name: str
    category: str
    begin: int
    depth: int
    args: dict
    parent: "Slice | None"
    end: int | None = None
    children: list = dataclasses.field(default_factory=list)
    instants: list = dataclasses.field(default_factory=list)

    @property
    def duration(self):
        """In ns; None where it never ended."""
        return None if self.end is None else self.end - self.begin

    def path(self):
        """The names from the outermost slice to this one."""
        names = self.parent.path() if self.parent else []
        return [*names, self.name]

    def __repr__(self):
        return f"<slice {self.name} {self.begin}..{self.end} {self.args}>"


@dataclasses.dataclass(repr=False)
class Thread:
    """A thread and all that happened on it."""

    pid: int
    tid: int
    name: str | None = None
    roots: list = dataclasses.field(default_factory=list)
    instants: list = dataclasses.field(default_factory=list)
    all_slices: list = dataclasses.field(default_factory=list)
    open: list = dataclasses.field(default_factory=list)
    last_time: int = 0

    def slices(self):
        """All of them, in the order of their beginnings."""
        return self.all_slices

    def open_at_end(self):
        """The slices that never ended, outermost first."""
        return list(self.open)

    def find(self, name):
        """The slices of a name."""
        return [one for one in self.all_slices if one.name == name]

    def __repr__(self):
        return f"<thread {self.pid}/{self.tid} {self.name}: {len(self.all_slices)} slices>"


class Trace:
    """All that a file holds."""

    def __init__(self):
        self.processes = {}
        self.threads = {}
        self.counters = collections.defaultdict(list)  # by name: (time, value)
        self.flows = collections.defaultdict(dict)  # arrows: {7: {"from": slice, "to": slice}}
        self.records = collections.Counter()  # by the name of their type

    def thread(self, pid, tid):
        """The thread of these numbers, made if it is new."""
        self.processes.setdefault(pid, Process(pid))
        return self.threads.setdefault((pid, tid), Thread(pid, tid))

    def slices(self):
        """Of all threads."""
        return [one for thread in self.threads.values() for one in thread.slices()]

    def instants(self):
        """Of all threads."""
        return [one for thread in self.threads.values() for one in thread.instants]


def bits(word, low, high):
    """Bits LOW to HIGH, both included, as the format's tables count them."""
    return word >> low & (1 << high - low + 1) - 1


class Record:
    """One record's words, read from first to last.  DATA is WORDS as bytes."""

    __slots__ = "offset", "data", "all_words", "header", "type", "end", "at", "known"

    def __init__(self, data, words, offset):
        self.offset = offset
        self.data = data
        self.all_words = words
        self.header = header = words[offset >> 3]
        self.type = header & 15
        self.end = offset + (header >> 4 & 0xFFF) * 8
        self.at = offset + 8
        self.known = 0xFFFF  # bits of the header that have a meaning
        self.need(self.end > offset, "a record of size 0")
        self.need(self.end <= len(data), "the last record is cut off")

    def fail(self, rule):
        """A rule is broken."""
        raise FxtError(f"at byte {self.offset:#x}: {rule}")

    def need(self, condition, rule):
        """Raise unless the rule holds."""
        if not condition:
            self.fail(rule)

    def field(self, low, high):
        """A field of the header."""
        self.known |= (1 << high + 1) - (1 << low)
        return bits(self.header, low, high)

    def word(self):
        """The next word."""
        at = self.at
        if at >= self.end:
            self.fail("the record is shorter than its parts")
        self.at = at + 8
        return self.all_words[at >> 3]

    def text(self, length):
        """The next text: padded to whole words by zeros, in UTF-8."""
        padded = (length + 7) // 8 * 8
        self.need(self.at + padded <= self.end, "the record is shorter than its text")
        raw = self.data[self.at : self.at + length]
        padding = self.data[self.at + length : self.at + padded]
        self.need(not any(padding), "padding that is not zero")
        self.need(b"\0" not in raw, "a NUL in a text")
        self.at += padded
        try:
            return raw.decode("utf-8", "strict")
        except UnicodeDecodeError as error:
            raise FxtError(f"at byte {self.offset:#x}: a text is no UTF-8: {error}") from error

    def done(self):
        """All was read, and nothing else is set."""
        if self.at != self.end:
            self.fail(f"{self.end - self.at} bytes too many in the record")
        if self.header & ~self.known:
            self.fail(f"reserved bits are set: {self.header:#018x}")


def signed(word, size):
    """A number in two's complement."""
    return word - (1 << size) if word >> size - 1 else word


# By type: the bits of the header's upper half that have a meaning, and the value.
ARGUMENTS = {
    1: (0xFFFFFFFF, lambda reader, record, small: signed(small, 32)),
    2: (0xFFFFFFFF, lambda reader, record, small: small),
    3: (0, lambda reader, record, small: signed(record.word(), 64)),
    4: (0, lambda reader, record, small: record.word()),
    5: (0, lambda reader, record, small: struct.unpack("<d", struct.pack("<Q", record.word()))[0]),
    6: (0xFFFF, lambda reader, record, small: reader.ref(record, small & 0xFFFF)),
    7: (0, lambda reader, record, small: Pointer(record.word())),
    8: (0, lambda reader, record, small: Koid(record.word())),
    9: (1, lambda reader, record, small: bool(small)),
}


class Reader:
    """The state that records build on: tables of strings and threads."""

    def __init__(self, data):
        self.data = data
        self.trace = Trace()
        self.strings = {}
        self.threads = {}
        self.providers = {}
        self.section = None
        self.has_rate = False
        self.kinds = {0: self.metadata, 1: self.initialization, 2: self.string, 3: self.thread,
                      4: self.event, 7: self.kernel_object}
        self.events = {0: self.instant, 1: self.counter, 2: self.begin, 3: self.end,
                       8: self.flow_begin, 10: self.flow_end}

    def read(self):
        """The trace, or FxtError."""
        size = len(self.data)
        if size % 8:
            raise FxtError(f"the file is no whole number of words: {size} bytes")
        if size < 8 or struct.unpack_from("<Q", self.data)[0] != MAGIC:
            raise FxtError("the file does not begin with the magic number")
        offset, words = 8, struct.unpack(f"<{size // 8}Q", self.data)
        while offset < size:
            record = Record(self.data, words, offset)
            self.record(record)
            record.done()
            offset = record.end
        if self.section is None or not self.has_rate:
            raise FxtError("no provider section, or no initialization record")
        return self.trace

    def record(self, record):
        """One record by its type; those that we never write are wrong."""
        kind = self.kinds.get(record.type)
        if not kind:
            record.fail(f"a record of type {record.type} has no place here")
        self.trace.records[kind.__name__] += 1
        kind(record)

    def metadata(self, record):
        """Provider info and section."""
        kind = record.field(16, 19)
        record.need(kind in (1, 2), f"metadata of type {kind} has no place here")
        provider = record.field(20, 51)
        if kind == 1:
            record.need(provider not in self.providers, "the provider is told twice")
            self.providers[provider] = record.text(record.field(52, 59))
            record.need(self.providers[provider], "the provider has no name")
        else:
            record.need(provider in self.providers, "a section of a provider that is not known")
            self.section = provider

    def initialization(self, record):
        """Ticks per second: ours are nanoseconds."""
        record.need(self.section is not None, "initialization before the provider's section")
        record.need(not self.has_rate, "a second initialization record")
        record.need(record.word() == NS_PER_SECOND, "time is not in nanoseconds")
        self.has_rate = True

    def string(self, record):
        """A place in the table of strings."""
        index = record.field(16, 30)
        length = record.field(32, 46)
        record.need(self.has_rate, "a string before the initialization")
        record.need(index != 0, "the string index 0 is the empty string's")
        record.need(0 < length <= TEXT_MAX, f"a string of {length} bytes")
        self.strings[index] = record.text(length)

    def thread(self, record):
        """A place in the table of threads."""
        index = record.field(16, 23)
        record.need(self.has_rate, "a thread before the initialization")
        record.need(index != 0, "the thread index 0 is for inline threads")
        self.threads[index] = self.ids(record)

    @staticmethod
    def ids(record):
        """A process's and a thread's number."""
        pid, tid = record.word(), record.word()
        record.need(pid < 1 << 32 and tid < 1 << 32, "a pid or tid of more than 32 bits")
        record.need(tid != 0, "the thread has no number")
        return pid, tid

    def ref(self, record, value):
        """The string that a reference means."""
        if value & 0x8000:
            length = value & 0x7FFF
            record.need(0 < length <= TEXT_MAX, f"an inline string of {length} bytes")
            return record.text(length)
        text = self.strings.get(value) if value else ""
        if text is None:
            record.fail(f"string {value} is not defined")
        return text

    def args(self, record, count):
        """The arguments that follow."""
        args = {}
        for _ in range(count):
            name, value = self.arg(record)
            if name == "":
                record.fail("an argument without a name")
            if name in args:
                record.fail(f"the argument {name} stands twice")
            args[name] = value
        return args

    def arg(self, record):
        """One argument: its name and value."""
        start = record.at
        header = record.word()
        kind, words, small = header & 15, header >> 4 & 0xFFF, header >> 32
        name = self.ref(record, header >> 16 & 0xFFFF)
        if kind not in ARGUMENTS:
            record.fail(f"an argument of type {kind} has no place here")
        used, value_of = ARGUMENTS[kind]
        if small & ~used:
            record.fail(f"reserved bits of argument {name} are set")
        value = value_of(self, record, small)
        if kind == 4 and value >= 1 << 63:
            record.fail(f"{name} would be shown as negative")
        if record.at - start != words * 8:
            record.fail(f"the size of argument {name} is wrong")
        return name, value

    def kernel_object(self, record):
        """Names of processes and threads."""
        kind = record.field(16, 23)
        name_ref = record.field(24, 39)
        count = record.field(40, 43)
        koid = record.word()
        record.need(self.has_rate, "an object before the initialization")
        record.need(kind in (1, 2), f"a kernel object of type {kind} has no place here")
        record.need(koid < 1 << 32, "a koid of more than 32 bits")
        name = self.ref(record, name_ref)
        args = self.args(record, count)
        record.need(name, "a kernel object without a name")
        if kind == 1:
            self.trace.processes.setdefault(koid, Process(koid)).name = name
            return
        record.need("process" in args, "a thread object without its process")
        record.need(isinstance(args["process"], Koid), "a thread's process is no koid")
        self.trace.thread(int(args["process"]), koid).name = name

    def event(self, record):
        """Begin, end, instant, counter."""
        header = record.header
        record.known = ~0
        kind, count, index = header >> 16 & 15, header >> 20 & 15, header >> 24 & 0xFF
        category, name = header >> 32 & 0xFFFF, header >> 48
        record.need(self.has_rate, "an event before the initialization")
        time = record.word()
        record.need(time < 1 << 63, "a time that does not fit 63 bits")
        if index and index not in self.threads:
            record.fail(f"thread {index} is not defined")
        thread = self.trace.thread(*(self.threads[index] if index else self.ids(record)))
        category, name = self.ref(record, category), self.ref(record, name)
        args = self.args(record, count)
        if time < thread.last_time:
            record.fail(f"time runs backwards on {thread}: {time} after {thread.last_time}")
        thread.last_time = time
        if kind not in self.events:
            record.fail(f"an event of type {kind} has no place here")
        self.events[kind](record, thread, time, (name, category, args))

    def counter(self, record, thread, time, told):
        """A counter's value, and behind it the number that tells counters of a name apart."""
        name, _, args = told
        record.need(name != "" and list(args) == ["value"], "a counter without name or value")
        record.need(record.word() == thread.tid & (1 << 23) - 1, "not the thread's counter")
        self.trace.counters[name].append((time, args["value"]))

    def flow(self, record, thread, told, end):
        """One end of an arrow, at the slice that is open."""
        name, category, args = told
        number = record.word()
        record.need(name and category and not args and number, "an arrow without name or number")
        record.need(thread.open, "an arrow's end outside of all slices")
        record.need(end not in self.trace.flows[number], f"an arrow that is {end} two places")
        self.trace.flows[number][end] = thread.open[-1]

    def flow_begin(self, record, thread, _, told):
        """An arrow begins."""
        self.flow(record, thread, told, "from")

    def flow_end(self, record, thread, _, told):
        """An arrow ends."""
        self.flow(record, thread, told, "to")

    @staticmethod
    def instant(record, thread, time, told):
        """An instant, which takes a level of its own."""
        name, category, args = told
        record.need(name != "", "an instant without a name")
        record.need(len(thread.open) < LEVELS_MAX, "an instant below the last level")
        parent = thread.open[-1] if thread.open else None
        instant = Instant(name, category, time, len(thread.open), args, parent)
        thread.instants.append(instant)
        if parent:
            parent.instants.append(instant)

    @staticmethod
    def begin(record, thread, time, told):
        """A slice begins."""
        name, category, args = told
        record.need(name != "", "a slice without a name")
        record.need(len(thread.open) < LEVELS_MAX, "a slice below the last level")
        parent = thread.open[-1] if thread.open else None
        piece = Slice(name, category, time, len(thread.open), args, parent)
        (parent.children if parent else thread.roots).append(piece)
        thread.all_slices.append(piece)
        thread.open.append(piece)

    @staticmethod
    def end(record, thread, time, told):
        """The innermost slice ends; what the end tells goes to its arguments."""
        name, category, args = told
        record.need(thread.open, "an end without a beginning")
        piece = thread.open.pop()
        if name not in ("", piece.name):
            record.fail(f"{name} ends {piece.name}")
        if category not in ("", piece.category):
            record.fail(f"{category} ends {piece.category}")
        piece.end = time
        piece.args.update(args)


@contextlib.contextmanager
def without_collector():
    """Nothing is garbage of the millions of objects that a trace may consist of."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def read(path):
    """The trace in a file, gzip-ed or not."""
    with open(path, "rb") as file:
        data = file.read()
    return parse(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def parse(data):
    """The trace in bytes."""
    with without_collector():
        return Reader(data).read()


def show(trace, out=sys.stdout):
    """Print a trace, for people."""
    def put(piece):
        length = "open" if piece.end is None else f"{piece.duration} ns"
        print(f"  {piece.begin:>16} {length:>14} {'  ' * piece.depth}{piece.name} {piece.args}",
              file=out)

    for thread in trace.threads.values():
        process = trace.processes[thread.pid]
        print(f"thread {thread.tid} {thread.name!r} of process {process.pid} {process.name!r}",
              file=out)
        for piece in thread.slices():
            put(piece)
        for instant in thread.instants:
            print(f"  {instant.time:>16} {instant.name} {instant.args}", file=out)


if __name__ == "__main__":
    show(read(sys.argv[1]))
