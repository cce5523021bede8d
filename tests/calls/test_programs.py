# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of others do the same under the calls engine as without it, and what was recorded of
them can be read.

MTRACE_SOAK_SECONDS and MTRACE_SEED choose how long `make soak` goes on, and with which picks."""
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import stat
import subprocess
import time

import pytest

from calls.programs import PROGRAMS

ROUND = [["--size", "64k"], ["--timestamps", "full"], ["--follow-forks", "--size", "256k"],
         ["--size", "16k", "--timestamps", "full", "--follow-forks"], ["--modules", "libc.so*"],
         ["--functions", "*a*", "--size", "4M"], ["--no-functions", "*alloc*"],
         ["--modules", "*lib*", "--no-functions", "_*", "--size", "512k"]]
EVENT = re.compile(r'{"ph":"([BE])","pid":\d+,"tid":(\d+),"ts":[-\d.]+(?:,"name":"(..))?')
MOST_DEEP = 400
FOLDERS = ["/usr/bin", "/usr/sbin", "/usr/local/bin"]
# They end the system, or never themselves.
LEFT_ALONE = {"halt", "init", "poweroff", "reboot", "runlevel", "shutdown", "telinit", "yes"}


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PY", "MT"))}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home.parent / "cache"), "TZ": "UTC",
            "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}


def run(program, folder, *before):
    """(standard output, standard error, exit status) of it in a fresh folder."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    options = {"cwd": work, "env": environment(work), "stdin": subprocess.DEVNULL}
    if program.prepare:
        subprocess.run(["bash", "-ec", program.prepare], check=True, capture_output=True, **options)
    with subprocess.Popen([*before, *program.words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True, **options) as process:
        try:
            out, messages = process.communicate(timeout=program.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, messages = process.communicate()
            process.returncode = "hung"
    return (out.decode(errors="replace"), messages.decode(errors="replace"),
            process.returncode)


def seen(program, outcome):
    """What of it is the same each time."""
    out, messages, status = outcome
    messages = re.sub(r"mtdb: .*\n", "", messages)  # may stand within a line
    if isinstance(status, int) and status < 0:
        status = 128 - status
    return (re.sub(program.scrub, "~", out, flags=re.M) if program.stdout else "",
            re.sub(program.scrub, "~", messages, flags=re.M) if program.stderr else "", status)


def check_timeline(program, path):
    """Most functions have names, nothing is absurdly deep, and what ends has begun."""
    depths, calls, unnamed = collections.Counter(), 0, 0
    with path.open(errors="replace") as lines:
        for line in lines:
            match = EVENT.match(line)
            if not match:
                continue
            kind, thread, name = match.groups()
            depths[thread] += 1 if kind == "B" else -1
            calls += kind == "B"
            unnamed += name == "0x"
            assert 0 <= depths[thread] and (program.deep or depths[thread] < MOST_DEEP)
    assert calls and unnamed < calls / 2


def compare(program, folder, mtdb, *options):
    plain = seen(program, run(program, folder))
    traced = run(program, folder, mtdb, "run", "--engine", "calls", "--history=0", "-o",
                 folder / "trace.json", "-r", folder / "trace.perf", *options, "--")
    if seen(program, traced) != plain and seen(program, run(program, folder)) != plain:
        return
    assert seen(program, traced) == plain
    assert "mtdb: error" not in traced[1] and "the timeline of" in traced[1], traced[1]
    if "--modules" not in options and "--functions" not in options:
        check_timeline(program, folder / "trace.json")
    done = subprocess.run([mtdb, "history", "-n", "20", folder / "trace.perf"], check=False,
                          capture_output=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def rounds_of(program):
    return [options for options in ROUND if not program.traces or "--follow-forks" not in options]


def can_run(program):
    return all(shutil.which(word) for word in [program.words[0], *program.needs])


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    return pathlib.Path(tmp_path)


@pytest.mark.parametrize("at, program", enumerate(p for p in PROGRAMS if p.short),
                         ids=lambda value: getattr(value, "name", None))
def test_unchanged(at, program, folder, mtdb, need):
    for word in [program.words[0], *program.needs]:
        need(word)
    rounds = rounds_of(program)
    compare(program, folder, mtdb, *rounds[at % len(rounds)])


@pytest.mark.soak
def test_unchanged_for_minutes(folder, mtdb):
    seed = int(os.environ.get("MTRACE_SEED", time.time_ns() % 1000000))
    end = time.monotonic() + float(os.environ.get("MTRACE_SOAK_SECONDS", "600"))
    picks = random.Random(seed)
    there = [program for program in PROGRAMS if can_run(program)]
    print(f"\nMTRACE_SEED={seed}, {len(there)} of {len(PROGRAMS)} programs are here")
    while time.monotonic() < end:
        order = picks.sample(there, len(there))
        for program in order:
            options = picks.choice(rounds_of(program))
            print(program.name, *options)
            compare(program, folder, mtdb, *options)
            if time.monotonic() > end:
                break


def is_program(path):
    if path.name in LEFT_ALONE or not path.exists() or not os.access(path, os.X_OK):
        return False
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) or mode & (stat.S_ISUID | stat.S_ISGID):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def ask_version(path, folder, *before):
    """Its status, and what it says; both None: it does not end."""
    try:
        done = subprocess.run([*before, path, "--version"], cwd=folder, env=environment(folder), check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, start_new_session=True)
    except subprocess.TimeoutExpired:
        return None, None
    # Stripped of the symbols by which it is known, a module that checks its code is patched.
    if before and b"integrity test failed" in done.stderr:
        return ask_version(path, folder)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout


@pytest.mark.soak
def test_whatever_the_system_has(folder, mtdb):
    """Programs that nobody chose say the same of their version; those that say it each time."""
    seed = int(os.environ.get("MTRACE_SEED", time.time_ns() % 1000000))
    end = time.monotonic() + float(os.environ.get("MTRACE_SOAK_SECONDS", "600"))
    paths = sorted(filter(is_program, (path for one in FOLDERS for path in pathlib.Path(one).glob("*"))))
    random.Random(seed).shuffle(paths)
    print(f"\nMTRACE_SEED={seed}, {len(paths)} programs")
    differ = []
    for path in paths:
        if time.monotonic() > end:
            break
        alone = ask_version(path, folder)
        recorded = ask_version(path, folder, mtdb, "run", "--engine", "calls", "-o", "/dev/null", "--")
        if alone[1] is not None and recorded != alone == ask_version(path, folder):
            differ.append((path, alone, recorded))
    assert paths and not differ
