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
import dataclasses
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
    """One record's words, read from first to last."""

    def __init__(self, data, offset):
        self.offset = offset
        self.data = data
        self.header = struct.unpack_from("<Q", data, offset)[0]
        self.type = bits(self.header, 0, 3)
        self.words = bits(self.header, 4, 15)
        self.end = offset + self.words * 8
        self.at = offset + 8
        self.known = 0xFFFF  # bits of the header that have a meaning
        self.need(self.words > 0, "a record of size 0")
        self.need(self.end <= len(data), "the last record is cut off")

    def need(self, condition, rule):
        """Raise unless the rule holds."""
        if not condition:
            raise FxtError(f"at byte {self.offset:#x}: {rule}")

    def field(self, low, high):
        """A field of the header."""
        self.known |= (1 << high + 1) - (1 << low)
        return bits(self.header, low, high)

    def word(self):
        """The next word."""
        self.need(self.at + 8 <= self.end, "the record is shorter than its parts")
        self.at += 8
        return struct.unpack_from("<Q", self.data, self.at - 8)[0]

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
        self.need(self.at == self.end, f"{self.end - self.at} bytes too many in the record")
        self.need(self.header & ~self.known == 0, f"reserved bits are set: {self.header:#018x}")


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

    def read(self):
        """The trace, or FxtError."""
        size = len(self.data)
        if size % 8:
            raise FxtError(f"the file is no whole number of words: {size} bytes")
        if size < 8 or struct.unpack_from("<Q", self.data)[0] != MAGIC:
            raise FxtError("the file does not begin with the magic number")
        offset = 8
        while offset < size:
            record = Record(self.data, offset)
            self.record(record)
            record.done()
            offset = record.end
        if self.section is None or not self.has_rate:
            raise FxtError("no provider section, or no initialization record")
        return self.trace

    def record(self, record):
        """One record by its type; those that we never write are wrong."""
        kinds = {0: self.metadata, 1: self.initialization, 2: self.string, 3: self.thread,
                 4: self.event, 7: self.kernel_object}
        record.need(record.type in kinds, f"a record of type {record.type} has no place here")
        kind = kinds[record.type]
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
        record.need(value == 0 or value in self.strings, f"string {value} is not defined")
        return self.strings[value] if value else ""

    def args(self, record, count):
        """The arguments that follow."""
        args = {}
        for _ in range(count):
            name, value = self.arg(record)
            record.need(name != "", "an argument without a name")
            record.need(name not in args, f"the argument {name} stands twice")
            args[name] = value
        return args

    def arg(self, record):
        """One argument: its name and value."""
        start = record.at
        header = record.word()
        kind, words = bits(header, 0, 3), bits(header, 4, 15)
        small = bits(header, 32, 63)
        name = self.ref(record, bits(header, 16, 31))
        readers = {
            1: lambda: struct.unpack("<i", struct.pack("<I", small))[0],
            2: lambda: small,
            3: lambda: struct.unpack("<q", struct.pack("<Q", record.word()))[0],
            4: record.word,
            5: lambda: struct.unpack("<d", struct.pack("<Q", record.word()))[0],
            6: lambda: self.ref(record, small & 0xFFFF),
            7: lambda: Pointer(record.word()),
            8: lambda: Koid(record.word()),
            9: lambda: bool(small),
        }
        used = {1: 0xFFFFFFFF, 2: 0xFFFFFFFF, 6: 0xFFFF, 9: 1}.get(kind, 0)
        record.need(kind in readers, f"an argument of type {kind} has no place here")
        record.need(small & ~used == 0, f"reserved bits of argument {name} are set")
        value = readers[kind]()
        record.need(kind != 4 or value < 1 << 63, f"{name} would be shown as negative")
        record.need(record.at - start == words * 8, f"the size of argument {name} is wrong")
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
        kind = record.field(16, 19)
        count = record.field(20, 23)
        index = record.field(24, 31)
        category, name = record.field(32, 47), record.field(48, 63)
        record.need(self.has_rate, "an event before the initialization")
        time = record.word()
        record.need(time < 1 << 63, "a time that does not fit 63 bits")
        record.need(index == 0 or index in self.threads, f"thread {index} is not defined")
        thread = self.trace.thread(*(self.threads[index] if index else self.ids(record)))
        category, name = self.ref(record, category), self.ref(record, name)
        args = self.args(record, count)
        record.need(time >= thread.last_time,
                    f"time runs backwards on {thread}: {time} after {thread.last_time}")
        thread.last_time = time
        kinds = {0: self.instant, 1: self.counter, 2: self.begin, 3: self.end,
                 8: self.flow_begin, 10: self.flow_end}
        record.need(kind in kinds, f"an event of type {kind} has no place here")
        kinds[kind](record, thread, time, (name, category, args))

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
        record.need(name in ("", piece.name), f"{name} ends {piece.name}")
        record.need(category in ("", piece.category), f"{category} ends {piece.category}")
        piece.end = time
        piece.args.update(args)


def read(path):
    """The trace in a file, gzip-ed or not."""
    with open(path, "rb") as file:
        data = file.read()
    return parse(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def parse(data):
    """The trace in bytes."""
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
