# SPDX-License-Identifier: GPL-3.0-or-later
"""The same `mtrace …` commands, given to GDB and to mtdb's prompt, are answered in the same words."""
import difflib
import re
import subprocess

import pytest

# Printed by GDB or by both about the program, not about recording.
NOISE = re.compile(r"^(Breakpoint \d+( at|,)|\[Thread debugging|Using host|\[Inferior|\[Switching|"
                   r"warning: |mtdb: |Undefined command|\d+\t|Program |Usage: mtrace help|none: total|$|"
                   r".* at \S+\.c:\d+$|__pthread|#)")
NORMAL = [
    (re.compile(r"[Pp]rocess \d+"), "process N"),
    (re.compile(r"(in thread|LWP|^Thread) \d+"), r"\1 N"),
    (re.compile(r"~?-?\d+(\.\d+)? (ns|µs|ms|s)\b"), "TIME"),
    (re.compile(r"\(\d+\)(?= +\S+ >)"), "(N)"),
    (re.compile(r"(?<= )\d+% of"), "PERCENT of"),
    (re.compile(r"0x7f[0-9a-f]{10}\b"), "STACK"),  # GDB and mtdb give it environments of their own
    (re.compile(r"(?<=\S) +"), " "),
]


def normalized(text):
    lines = []
    for line in text.splitlines():
        if NOISE.match(line):
            continue
        for pattern, replacement in NORMAL:
            line = pattern.sub(replacement, line)
        # What called the C library's start is found where the thread was unwound before it.
        line = line.strip().replace("open __libc_start_main debug_steps", "open __libc_start_main")
        # Where a hit stands among calls whose times are estimates is for the clock to say.
        if not line.startswith("TIME *** trigger") and line != "TIME open _start (inferred)":
            lines.append(line)
    return lines


@pytest.fixture(name="same")
def same_fixture(gdb, mtdb, compile, tmp_path):
    """same(commands, arguments): what both print; it is the same."""
    program = compile("debug_steps.c", "-O0")
    place = tmp_path / "mtdb"  # where GDB has left no timelines
    place.mkdir()

    def run(commands, *arguments):
        for left in tmp_path.rglob("trace-*.fxt"):
            left.unlink()
        theirs = gdb(None, f"file {program}", f"set args {' '.join(arguments)}", *commands)
        words = [word for command in commands for word in ("-ex", command)]
        ours = subprocess.run([mtdb, "-batch", *words, "--args", program, *arguments], cwd=place,
                              text=True, capture_output=True, check=False, timeout=120,
                              stdin=subprocess.DEVNULL)
        both = [normalized(theirs.output) + normalized(theirs.errors),
                normalized(ours.stdout) + normalized(ours.stderr)]
        run.outputs = theirs.output, ours.stdout
        differences = "\n".join(difflib.unified_diff(*both, "gdb", "mtdb", lineterm=""))
        assert not differences, differences
        return both[1]

    return run


REFUSED = [
    ("mtrace stop", "nothing is being recorded"),
    ("mtrace stop now", "mtrace stop takes no arguments"),
    ("mtrace start now", "takes options only"),
    ("mtrace start -engine step", "does not work in this debugger"),
    ("mtrace start -size", "-size requires a value"),
    ("mtrace start -size 3x", "is not a size"),
    ("mtrace start -size 1", "too small"),
    ("mtrace start -nothing 1", "unknown option: -nothing"),
    ("mtrace start -t all", "-t: ambiguous option: -threads or -timestamps"),
    ("mtrace start -threads some", "must be all or current"),
    ("mtrace start -timestamps never", "must be sampled or full"),
    ("mtrace trigger", "requires a location"),
    ("mtrace trigger -stop", "requires a location"),
    ("mtrace trigger if 1 == 1", "requires a location"),
    ("mtrace trigger -max 0 main", "number of snapshots"),
    ("mtrace trigger -print", "-print requires a value"),
    ("mtrace trigger add if", 'no condition after "if"'),
    ("mtrace trigger add if  ", 'no condition after "if"'),
    ("mtrace trigger add -stop", "precede the location"),
    ("mtrace trigger add -max 3 if a > 1", "precede the location"),
    ("mtrace trigger add if nosuch > 4", 'No symbol "nosuch" in current context.'),
    ("mtrace delete", "requires a trigger number"),
    ("mtrace delete 1 2", "requires a trigger number"),
    ("mtrace delete x", "trigger"),
    ("mtrace delete 3", "No trigger number 3."),
    ("mtrace values -return", "-return requires a function"),
    ("mtrace values -x add", "unknown option: -x"),
    ("mtrace values ''", "must be FUNCTION or FUNCTION(NAME, ...)"),
    ("mtrace values -delete", "-delete requires a number of values"),
    ("mtrace values -delete 3", "No values number 3."),
    ("mtrace values -delete x", "number of values"),
    ("mtrace history", "nothing was recorded yet"),
    ("mtrace history 3 add b", '"b" is one word too many'),
    ("mtrace history -thread", "-thread requires a value"),
    ("mtrace history -th 7", "Unknown thread 7."),
    ("mtrace stats", "nothing was recorded yet"),
    ("mtrace stats -by x", "choose one of function, thread, process, caller"),
    ("mtrace grep f", "nothing was recorded yet"),
    ("mtrace grep 'f(x >)'", "is no expression"),
    ("mtrace explain f", "nothing was recorded yet"),
    ("mtrace explain -lines x f", "number of calls"),
    ("mtrace snapshot", "nothing was recorded yet"),
    ("mtrace snapshot a b", 'takes one file: "b"'),
    ("mtrace save", "requires a file name"),
    ("mtrace save ''", "not the name of a file"),
    ("mtrace save -", "not the name of a file"),
    ("mtrace save x.perf", "nothing was recorded yet"),
    ("mtrace info x", "takes no arguments"),
    ("mtrace info functions", "no process is being recorded"),
    ("mtrace info functions a b", "one word too many"),
    ("mtrace view /no/such", "cannot read /no/such"),
]


def test_what_is_refused(same):
    lines = same([command for command, _ in REFUSED])
    assert len(lines) == len(REFUSED), "\n".join(lines)
    for line, (command, expected) in zip(lines, REFUSED):
        assert expected in line, command


def test_values(same):
    """Arguments and results: asked for before the program runs, and at a stop."""
    lines = same([
        "mtrace values", "mtrace start", "mtrace values add (a, a + 1) 'squ*'",
        "mtrace values -return factorial", "mtrace values add(nosuch) nosuch", "mtrace values",
        "break square", "run", "mtrace values", "mtrace values -delete 2 3 4", "delete",
        "mtrace values factorial(missing)", "mtrace values factorial", "mtrace values -ret add",
        "continue", "mtrace history 100 add", "mtrace history 100 square",
        "mtrace history 3 factorial", "mtrace values -delete 1", "mtrace info"])
    text = "\n".join(lines)
    assert "No values are recorded with calls." in lines
    assert 'invalid values "add(nosuch)": No symbol "nosuch" in current context.' in text
    assert "Values 5 are not recorded: Function \"nosuch\" not defined." in lines
    assert 'invalid values "factorial(missing)": No symbol "missing" in current context.' in lines
    # What was asked for when it was called.
    assert re.search(r"\badd\(a=(-?\d+), a \+ 1=\d+\) = \d+ ", text)
    assert re.search(r"\bsquare\(v=\d+\) ", text) and re.search(r"\bsquare (?!\()", text)
    assert re.search(r"\bfactorial\(n=1\) ", text)
    assert "Values 1: add (a, a + 1)" not in lines[lines.index("Snapshots: 0"):]


def test_statistics(gdb, mtdb, compile, tmp_path):
    """At a stop, and when the program has ended: the same counts, which are the program's."""
    program = compile("debug_steps.c", "-O0")
    commands = ["mtrace start", "break compare", "run", "mtrace stats -csv -lines 0", "delete", "continue",
                "mtrace stats -sort name -csv -lines 0", "mtrace stats -by caller factorial"]
    theirs = gdb(program, *commands).output
    words = [word for command in commands for word in ("-ex", command)]
    ours = subprocess.run([mtdb, "-batch", *words, program], cwd=tmp_path, text=True, capture_output=True,
                          check=True, timeout=120, stdin=subprocess.DEVNULL).stdout
    counts = []
    for output in (theirs, ours):
        found = re.findall(r'^"(\w+)","[^"]*/debug_steps","[^"]*",\d+,\d+,\d+,(\d+),', output, re.M)
        counts.append(sorted(found))
        assert "Durations of its calls:" in output and re.search(r" factorial: factorial \(debug_steps", output)
    assert counts[0] == counts[1] and counts[0].count(("compare", "1")) == 1
    assert len([count for name, count in counts[0] if name == "factorial" and int(count) > 1]) == 2


def test_grep(same):
    text = "\n".join(same(["mtrace start", "mtrace values factorial", "break compare", "run",
                           "mtrace grep 'factorial(n < 2)'", "mtrace grep -last 1 factorial",
                           "mtrace grep nosuch", "mtrace grep 'factorial(m < 2)'"]))
    lines = [line for line in text.splitlines() if "> factorial(n=" in line]
    assert len(lines) == 2 and all("> factorial(n=1)" in line for line in lines), text
    assert 'contains no call of "nosuch"' in text and '"m" was not recorded' in text


def test_explain(gdb, mtdb, compile, tmp_path):
    program = compile("debug_steps.c", "-O0")
    commands = ["mtrace start", "break compare", "run", "mtrace explain -lines 1 factorial"]
    words = [word for command in commands for word in ("-ex", command)]
    ours = subprocess.run([mtdb, "-batch", *words, program], cwd=tmp_path, text=True, capture_output=True,
                          check=True, timeout=120, stdin=subprocess.DEVNULL).stdout
    for output in (gdb(program, *commands).output, ours):
        assert re.search(r"^factorial: 1 calls? w\w+ seen whole", output, re.M), output
        assert "So few calls have no median" in output and re.search(r" times the median: factorial\b", output)


def test_explain_a_lock(gdb, mtdb, compile, tmp_path):
    """The history is looked at once more for the thread that held it."""
    program = compile("explain_locks.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    commands = ["set args lock", "break main", "run", "mtrace start", "mtrace values pthread_mutex_lock",
                "mtrace values pthread_mutex_unlock", "break exit", "continue", "mtrace explain -lines 1 handle"]
    words = [word for command in commands for word in ("-ex", command)]
    ours = subprocess.run([mtdb, "-batch", *words, program], cwd=tmp_path, text=True, capture_output=True,
                          check=True, timeout=120, stdin=subprocess.DEVNULL).stdout
    for output in (gdb(program, *commands).output, ours):
        assert re.search(r"^Waited [\d.]+ ms in update \(explain_locks.c:\d+\) for a lock that \S+ \(\d+\) "
                         r"held for [\d.]+ ms, from refill \(", output, re.M), output


def test_a_session(same, tmp_path):
    lines = same([
        "mtrace info", "mtrace start -si 64k", "mtrace info",
        'mtrace trigger -print a -print "a + b" -print nosuch add if a > 0',
        "mtrace trigger -max 1 -stop square if v == 2 && -max != 7 || v == 2",
        "mtrace trigger -stop -max 1 factorial if n == 3 || -n > 7", "mtrace trigger main", "mtrace delete 3",
        "run", "mtrace info", "mtrace start", 'mtrace snapshot "a b.txt"', "mtrace save x.perf",
        "mtrace history 4", "mtrace history -t 1 2 factorial", "mtrace history 3 nosuch",
        "mtrace stop", "mtrace stop", "mtrace info", "mtrace history 1", "continue", "mtrace info"])
    text = "\n".join(lines)
    assert all("*** trigger 2 in factorial" in output for output in same.outputs)
    assert "Trigger 1: add if a > 0: 2 hits" in lines and "Trigger 2: factorial if" in text
    assert "a + b = 2" in lines and 'nosuch: No symbol "nosuch" in current context.' in lines
    assert "process N is already being recorded" in lines and "Recording stopped." in lines
    assert "Snapshot 4 is in a b.txt." in lines and (tmp_path / "mtdb" / "a b.txt").stat().st_size
    assert sum(" factorial " in line for line in lines) >= 4


def test_a_crash_and_an_end(same, tmp_path):
    """A snapshot at the one, unless nothing ran since the last one, and none at the other."""
    commands = ["mtrace start", "handle SIGUSR1 nostop noprint pass", "run", "mtrace history 2", "mtrace info",
                "mtrace stop", "run", "mtrace info"]
    lines = same(commands, "a", "b")
    assert '[mtrace: the calls up to SIGABRT are in trace-1.fxt; "mtrace history" shows the last]' in lines
    lines = same(["mtrace start", "run", "mtrace history 1", "mtrace history -un 1", "mtrace info",
                  "mtrace snapshot",
                  "mtrace snapshot x.foo", "run", "mtrace stop", "run", "mtrace info"])
    assert lines.count("Snapshots: 0") == 1 and "Snapshots: 1" in lines
    assert sum("exit with status" in line for line in lines) == 2
    folded = [i for i, line in enumerate(lines) if re.search(r"calls in exit are not shown", line)]
    assert len(folded) == 1 and " exit " in lines[folded[0] - 1]
    assert sum(re.search(r" _exit ", line) is not None for line in lines) == 1
    assert "x.foo: the ending selects the format: .fxt, .pftrace, .json, .speedscope.json, .html, .txt or " \
        ".folded, each also with .gz or .zst behind it" \
        in lines
    assert [path.name for path in tmp_path.rglob("*.f[xo]*")] == ["trace-1.fxt"] * 2


def test_which_functions_are_recorded(same, need):
    """As the plan of the file says."""
    lines = same(["mtrace start", "break square", "run", "mtrace info functions add",
                  "mtrace info fun _start", "mtrace info functions 'squ*e'",
                  "mtrace info functions nosuch"], "a")
    add, start, square, nosuch = lines[-4:]
    assert re.fullmatch(r"add in /\S+: recorded", add)
    assert re.search(r": not recorded: entry point of the program$", start)
    assert re.fullmatch(r"square in /\S+: recorded", square)
    assert nosuch == 'no function "nosuch" in what process N has mapped'


def test_code_that_is_not_the_files(gdb, mtdb, compile):
    with subprocess.Popen([compile("not_recorded.c", "-O1")], stdout=subprocess.PIPE, text=True) as program:
        try:
            program.stdout.readline()
            commands = [f"attach {program.pid}", "mtrace start", "tbreak unchanged", "continue",
                        "mtrace info functions changed", "mtrace info functions unchanged", "detach"]
            theirs = gdb(None, *commands).output
            ours = subprocess.run([mtdb, "-batch", *(word for one in commands for word in ("-ex", one))], text=True,
                                  capture_output=True, check=True, timeout=120, stdin=subprocess.DEVNULL).stdout
        finally:
            program.kill()
    for told in theirs, ours:
        assert re.search(r"^changed in \S+: not recorded: its code in memory differs from the file's$", told, re.M)
        assert re.search(r"^unchanged in \S+: recorded$", told, re.M), told
