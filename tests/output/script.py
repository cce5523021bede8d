# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts of slices for make_trace.c, and what they mean: the same calls write the script and keep
what every format must tell."""
import codecs
import dataclasses
import subprocess
import urllib.parse

CALL, INLINED, SYSCALL, UNTRACED, GAP = range(5)
INFERRED, TIME_ESTIMATED, TAIL_CALL, HANDLER = 1, 2, 4, 8
END_OPEN, END_UNWOUND, END_TIME_ESTIMATED, END_LOST = 1, 2, 4, 8
SIGNAL, GAP_INSTANT, TRIGGER, EXIT, EXEC, TX_ABORT = range(6)
AUX_LOST, EVENTS_LOST = 1, 4
FIRST_TRACK, SCHED, FAULTS, COUNTERS = 1 << 22, 1 << 23, 3 << 23, 5 << 23
SIGSEGV = 11

codecs.register_error("each byte", lambda error: ("\ufffd" * (error.end - error.start), error.end))


def clean(name):
    """What a writer makes of a name: each byte that is no UTF-8 is U+FFFD."""
    return name.decode("utf-8", "each byte") if isinstance(name, bytes) else name


def encode(text):
    """A field of a script."""
    if text is None:
        return "-"
    if isinstance(text, str):
        text = text.encode()
    return urllib.parse.quote_from_bytes(text, safe="").replace("-", "%2D")


@dataclasses.dataclass
class Piece:
    """A slice as a format must tell it."""

    name: str
    begin: int
    depth: int
    end: int | None = None
    is_open: bool = False  # and no later segment ended it


@dataclasses.dataclass
class ThreadModel:
    """What must be told of a thread."""

    name: str | None
    process: str | None
    pieces: list = dataclasses.field(default_factory=list)
    instants: list = dataclasses.field(default_factory=list)  # (name, time, depth)
    segments: int = 0
    last_open: list = dataclasses.field(default_factory=list)  # of the last segment


class Script:
    """Lines for make_trace, and the model of what they say."""

    def __init__(self):
        self.lines = []
        self.threads = {}
        self.current = None
        self.open = []
        self.segment_bounds = None

    def put(self, word, *fields):
        """One line."""
        self.lines.append("\t".join([word, *(str(field) for field in fields)]))

    def thread(self, pid, tid, name=None, process=None):
        """What follows is of this thread."""
        self.put("thread", pid, tid, encode(name), encode(process))
        model = self.threads.setdefault((pid, tid), ThreadModel(None, None))
        model.name = clean(name) or model.name
        model.process = clean(process) or model.process
        self.current = model

    def segment(self, begin, end, snapshot=0):
        """A segment begins; what the one before left open has ended with it."""
        self.put("segment_begin", begin, end, self.current.segments, snapshot)
        self.current.segments += 1
        for piece in self.current.last_open:
            piece.is_open = False
        self.current.last_open = []
        self.segment_bounds = (begin, end, snapshot)

    def begin(self, time, name, kind=CALL, flags=0, *, address=0, site=0, call=None, cause=0,
              lost=0, module="/bin/x", source=None, told=None):
        """A slice begins; CALL and SOURCE are (file, line)."""
        file, line = source or (None, 0)
        call_file, call_line = call or (None, 0)
        self.put("begin", time, kind, flags, address, site, encode(call_file), call_line, cause,
                 lost, encode(name), encode(module), encode(file), line, len(self.open))
        piece = Piece(told or clean(name), time, len(self.open))
        self.current.pieces.append(piece)
        self.open.append(piece)

    def end(self, time, flags=0):
        """The innermost slice ends."""
        piece = self.open.pop()
        piece.end = time
        piece.is_open = bool(flags & END_OPEN)
        if piece.is_open:
            self.current.last_open.append(piece)
        self.put("end", time, flags, len(self.open))

    def call(self, time, name, end, **details):
        """A slice without children."""
        self.begin(time, name, **details)
        self.end(end)

    def instant(self, time, kind, detail=0, value=0, *, address=0, source=None, function=None,
                told):
        """Something happens."""
        file, line = source or (None, 0)
        self.put("instant", time, kind, detail, value, address, encode(file), line,
                 encode(function), "-", "-", 0)
        self.current.instants.append((told, time, len(self.open)))

    def side(self, time, name, category, end, *, arguments=None, result=None, reason=None):
        """A slice of a side track."""
        self.put("side_begin", time, len(self.open), encode(name), encode(category), encode(arguments),
                 encode(result), encode(reason))
        self.current.pieces.append(Piece(clean(name), time, len(self.open)))
        self.open.append(self.current.pieces[-1])
        self.end(end)

    def fault(self, time, address):
        """A page fault."""
        self.put("fault", time, address, encode("page fault"), encode("fault"))
        self.current.instants.append(("page fault", time, len(self.open)))

    def counter(self, time, name, value, tid=0):
        """A counter's value, an integer or a float."""
        is_real = isinstance(value, float)
        self.put("counter", time, encode(name), tid, 0 if is_real else value, int(is_real), value)

    def segment_end(self):
        """What is still open is ended, innermost first."""
        _, end, snapshot = self.segment_bounds
        if snapshot:
            self.current.instants.append(("snapshot", end, len(self.open)))
        while self.open:
            self.end(end, END_OPEN)
        self.put("segment_end")

    def text(self):
        """The whole script."""
        return "".join(line + "\n" for line in self.lines)


class Writer:
    """Runs make_trace."""

    def __init__(self, program):
        self.program = program

    def run(self, script, path, file_format="-", last=0, colour=0, command="-", **options):
        """The CompletedProcess, in bytes."""
        text = script.text() if isinstance(script, Script) else script
        words = [self.program, path, file_format, last, colour, command]
        return subprocess.run([str(word) for word in words], input=text.encode(), timeout=120,
                              capture_output=True, check=False, **options)

    def write(self, script, path, *args, **options):
        """Run it; it must work.  Returns the path."""
        done = self.run(script, path, *args, **options)
        assert done.returncode == 0, done.stderr.decode()
        return path

    def history(self, script, *args, **options):
        """The text for people."""
        done = self.run(script, "-", "text", *args, **options)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()
