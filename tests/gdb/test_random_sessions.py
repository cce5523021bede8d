# SPDX-License-Identifier: GPL-3.0-or-later
"""Sessions of commands by chance (tests/random_sessions.py): a GDB that records says what a plain one says, the program
does what it does there, and nothing of ours fails, or warns of what is not so.

Threads and children run beside each other, so that a session may say one thing or another by itself.  One that differs
is repeated: the difference counts if nothing that was said in one way was ever said in the other.
"""
import difflib
import os
import re
import subprocess

import pytest

from random_sessions import Session
from sanitizers import is_of_ours, reports_by_place
from valgrind import reports_of_ours

SECONDS = 60
ROUNDS = 4
ENDLESS = "GDB does not end by itself"

# A GDB that is built with ASan writes of its own errors, too, and goes on (HACKING.md).
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0:halt_on_error=0:log_path=asan", "UBSAN_OPTIONS": "print_stacktrace=1"}

# What the plugin is asked goes to a file of its own: errors, too.
BEGIN = """
import gdb, re, traceback
def quiet(command):
    try:
        gdb.execute(command, to_string=True)
    except gdb.error:
        pass
def ours(command):
    with open("ours", "a") as file:
        print(">", command, file=file)
        try:
            said = gdb.execute(command, to_string=True)
            print(said, file=file)
            # A trigger's breakpoint may not be the last that was made for it.
            for number in re.findall(r"^Breakpoint (\\d+) ", said, re.M):
                gdb.execute(f"set $bpnum = {number}")
        except gdb.error as error:
            print("error:", error, file=file)
        except BaseException:
            print(traceback.format_exc(), file=file)
"""

# Threads come and go when they do.
NOISE = re.compile(r"^(\[mtrace: .*|  \d = \d|Trigger \d+ (is|sees) .*|The program's calls will be recorded when it runs\."
                   r"|mtrace: (calls are not recorded while a local variable is watched"
                   r"|calls for the trigger .* are not measured|the recording contains no calls).*"
                   r"|\[(New|Thread|Switching to Thread) .*\]|\[(Attaching|Detaching) (after|.* from).*|Saved corefile .*)$")
NORMAL = [
    (re.compile(r"\b0x[0-9a-f]+\b"), "ADDRESS"),
    (re.compile(r"\b(LWP|process|Process) \d+"), r"\1 N"),
    (re.compile(r"-?\b\d{4,}\b"), "N"),  # processes, and what the stack held
    (re.compile(r"((?:[Bb]reak|[Ww]atch|[Cc]atch)point(?: number)?) \d+"), r"\1 N"),
    # Before its prologue a function's parameters are what the stack held.
    (re.compile(r"^((?:#0 .*|[^#]*)\S+ )\(\w+=.*\)( at |$)"), r"\1(ARGUMENTS)\2"),
    (re.compile(r"^( Arglist at ADDRESS, args:).*"), r"\1 ARGUMENTS"),
    (re.compile(r"(ADDRESS )? +"), " "),
]
FAILURES = re.compile(r"Traceback|Python Exception|Fatal signal|internal-error|Recursive internal|A problem internal|"
                      r"Segmentation fault\)|AddressSanitizer|runtime error:|Error while executing|"
                      + ENDLESS)


def normal(text):
    """Lines without what differs by itself."""
    lines = [line for line in text.splitlines() if line.strip() and not NOISE.match(line)]
    for pattern, replacement in NORMAL:
        lines = [pattern.sub(replacement, line) for line in lines]
    return lines


@pytest.fixture(name="hold")
def hold_fixture(plugin, need, compile, tmp_path):
    """hold(session, recorded=True): what GDB said, what the program wrote, how GDB ended, as lines."""
    library = compile("debug_library.c", "-shared", "-fPIC", output="library.so")

    def run(session, recorded, wrapper=(), seconds=SECONDS):
        # Of one length, as the program's stack holds it.
        place = tmp_path / ("recorded" if recorded else "ordinary")
        place.mkdir(exist_ok=True)
        for left in place.iterdir():
            left.unlink()
        for function in session.program.functions:
            (place / f"commands-{function}").write_text(f"break {function}\ncommands\nbt 2\ncontinue\nend\n")
        (place / "begin.py").write_text(BEGIN)
        program = compile(session.program.source, "-O0", *session.program.flags)
        first = ["set confirm off", "set width 0", "set height 0", "set print thread-events off", "set debuginfod enabled off",
                 "source begin.py", f"set args {session.program.arguments.format(library=library)} >> written"]
        if recorded:
            first += [f"source {plugin}", "mtrace start"]
        words = [word for text in first for word in ("-ex", text)]
        for number, command in enumerate(session.commands):
            text = (command.recorded if recorded else command.plain).format(program=program)
            if text:
                words += ["-ex", f"echo \\n{number}> {text}\\n", "-ex", text]
        with subprocess.Popen([*wrapper, need("gdb"), "-nx", "-batch", *words, program], cwd=place, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "PYTHONMALLOC": "malloc", **SANITIZERS}) as gdb:
            try:
                out, error = gdb.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                gdb.terminate()
                out, error = gdb.communicate()
                error += f"\n{ENDLESS}\n"
        (place / "out").write_text(out)
        (place / "error").write_text(error)
        written = (place / "written").read_text(errors="replace") if (place / "written").exists() else ""
        if recorded and (place / "ours").exists():
            assert not FAILURES.search((place / "ours").read_text())
        for log in [error, *(path.read_text(errors="replace") for path in place.glob("asan.*"))]:
            run.reports[recorded].update(reports_by_place(log))
        return [*(line for line in normal(out) if not re.match(r"\d+> python (ours|quiet)", line)), *normal(error),
                "The program:", *written.splitlines(), f"GDB ended with {gdb.returncode}"]

    run.reports = {False: {}, True: {}}
    return run


def check(hold, session):
    """Fails if what is said when recording is never said otherwise, or a sanitizer has an error then alone."""
    plain, recorded = [], []
    for _ in range(ROUNDS):
        plain.append(hold(session, False))
        if any(FAILURES.search(line) for line in plain[-1]):
            pytest.skip("a plain GDB fails, too, or does not end")
        recorded.append(hold(session, True))
        if any(said in plain for said in recorded):
            break
    else:
        assert False, "\n".join(["session %d" % session.number, *difflib.unified_diff(
            plain[0], recorded[0], "plain", "recorded", lineterm="")])
    # What GDB reads behind an error of its own may be anything.
    theirs = hold.reports[False]
    ours = [report for place, report in hold.reports[True].items() if not theirs or is_of_ours(place)]
    assert not ours, "\n".join(ours)


@pytest.mark.parametrize("number", range(1, 9))
def test_random_session(hold, number):
    check(hold, Session(number))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(9, 1000))
def test_many_random_sessions(hold, number):
    check(hold, Session(number))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(1000, 1004))
def test_random_sessions_under_valgrind(hold, need, tmp_path, number):
    log = tmp_path / "log"
    said = hold(Session(number), True, [need("valgrind"), "--num-callers=40", f"--log-file={log}"], 1800)
    # A child in which GDB tries what a jump to data does dies there, and says so.
    assert said[-1] in ("GDB ended with 0", "GDB ended with 1") and ENDLESS not in said, "\n".join(said)
    assert "ERROR SUMMARY" in log.read_text()
    assert not reports_of_ours(log.read_text())
