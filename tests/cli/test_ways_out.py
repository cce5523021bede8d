# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever ends mtdb, but SIGKILL and crashes: what it was attached to runs on as before, with nothing of ours in it;
what it launched ends with it, or is let go; no unfinished file is left.  And mtdb waits for nothing without a bound."""
import contextlib
import os
import pathlib
import re
import resource
import select
import signal
import subprocess
import time

import pytest

from conftest import wait_until
from tests.calls.code import changed
from tests.processes import state_of, ticks_of

PATIENCE = 120
SENT_CRASHES = ["SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS"]
NAMES = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGVTALRM",
         "SIGPROF", "SIGIO", "SIGPWR", "SIGXCPU", "SIGXFSZ", "SIGRTMIN", "SIGRTMAX", *SENT_CRASHES]
# SIGUSR1 takes a snapshot.
ENDING = pytest.mark.parametrize("number", [getattr(signal, name) for name in NAMES if name != "SIGUSR1"],
                                 ids=[name for name in NAMES if name != "SIGUSR1"])


def status_of(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return line.split(None, 1)[1]
    raise KeyError(key)


def check_clean(process):
    """Its text is that of the files, nothing of ours is mapped, nobody traces it, and it runs on."""
    assert changed(process.pid) == []
    maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
    assert "/memfd:mtrace" not in maps, maps
    assert status_of(process.pid, "TracerPid") == "0"
    before = sum(ticks_of(process.pid))
    wait_until(lambda: sum(ticks_of(process.pid)) > before)
    assert process.poll() is None


def runs(pid):
    """Whether it comes along within a moment."""
    before = sum(ticks_of(pid))
    time.sleep(0.1)
    return sum(ticks_of(pid)) > before


@pytest.fixture(name="program")
def path_of_program(compile):
    return compile("debugged_threads.c", "-O1", "-pthread", "-DTHREADS=2")


@pytest.fixture(name="busy")
def start_busy(program):
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 3)
        yield process
        assert process.poll() is None
        process.send_signal(signal.SIGUSR1)
        out, _ = process.communicate(timeout=PATIENCE)
        assert (out, process.returncode) == ("3 of 3 sums are right\n", 0)


@contextlib.contextmanager
def recording(mtdb, verb, *words, **options):
    """mtdb VERB … once it records."""
    ours, its = os.pipe()
    with subprocess.Popen([mtdb, verb, f"--ready-fd={its}", "-e", "calls", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, pass_fds=[its], **options) as process:
        os.close(its)
        try:
            with os.fdopen(ours) as pipe:
                assert pipe.read() == "recording\n", process.communicate()
            yield process
        finally:
            process.kill()


def check_files(folder, *expected):
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected)


@ENDING
def test_attach(mtdb, busy, tmp_path, number):
    with recording(mtdb, "attach", "-o", tmp_path / "out.fxt", "-p", str(busy.pid)) as process:
        process.send_signal(number)
        _, messages = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, messages
    check_clean(busy)
    check_files(tmp_path, "out.fxt")


@ENDING
def test_run(mtdb, program, tmp_path, number):
    """The program gets the signal, as if mtdb were not there."""
    expected = (128 + number, "")
    with recording(mtdb, "run", "-o", tmp_path / "out.fxt", program) as process:
        started = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().strip()
        wait_until(lambda: len(os.listdir(f"/proc/{started}/task")) == 3)
        process.send_signal(number)
        out, messages = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == expected, messages
    check_files(tmp_path, "out.fxt")


@contextlib.contextmanager
def at_prompt(mtdb, busy, tmp_path, *lines):
    """Has gone through LINES, and waits for one, or for the program; in a pipe, and attached."""
    with open(tmp_path / "told", "w", encoding="utf-8") as told, subprocess.Popen(
            [mtdb, "-nx", "-p", str(busy.pid)], stdin=subprocess.PIPE, stdout=told, stderr=told, text=True) as process:
        try:
            process.stdin.write("".join(f"{line}\n" for line in ["echo begun\\n", *lines]))
            process.stdin.flush()
            yield process, lambda: (tmp_path / "told").read_text()
        finally:
            process.kill()


def end_prompt(process, told, number):
    process.send_signal(number)
    process.wait(timeout=PATIENCE)
    # At the prompt Ctrl-C ends a command only.
    assert process.returncode == 128 + number, told()


PROMPT_SIGNALS = pytest.mark.parametrize("number", [getattr(signal, name) for name in NAMES if name != "SIGINT"],
                                         ids=[name for name in NAMES if name != "SIGINT"])


@PROMPT_SIGNALS
@pytest.mark.parametrize("records", [False, True], ids=["plain", "records"])
@pytest.mark.parametrize("runs", [False, True], ids=["stopped", "running"])
def test_prompt(mtdb, busy, tmp_path, number, records, runs):
    lines = ["break leaf if x == 1 && x == 2"]
    lines += ["mtrace start"] if records else []
    lines += ["echo there\\n", *(["continue"] if runs else [])]
    with at_prompt(mtdb, busy, tmp_path, *lines) as (process, told):
        wait_until(lambda: "there" in told() and (not runs or changed(busy.pid)))
        end_prompt(process, told, number)
    check_clean(busy)


def test_in_a_shell_of_the_prompt(mtdb, busy, tmp_path):
    with at_prompt(mtdb, busy, tmp_path, "shell echo there; exec sleep 1000") as (process, told):
        wait_until(lambda: "there" in told())
        shell = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        end_prompt(process, told, signal.SIGTERM)
    check_clean(busy)
    for pid in shell:
        os.kill(int(pid), signal.SIGKILL)


# ---- What cannot be written ----

def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


@pytest.mark.parametrize("options", [["-o", "/dev/full"], ["-o", "out.fxt"], ["-o", "out.json", "-f", "json"],
                                     ["-o", "out.fxt", "--record=out.data"]], ids=["full", "fxt", "json", "recording"])
def test_no_room(mtdb, busy, tmp_path, options):
    """The disk is full while we are attached, or when the timeline is written: what was recorded by then stays."""
    process = subprocess.run([mtdb, "attach", "-e", "calls", "--for=300ms", *options, "-p", str(busy.pid)], cwd=tmp_path,
                             capture_output=True, text=True, check=False, timeout=PATIENCE,
                             preexec_fn=None if "/dev/full" in options else limited)
    assert process.returncode == 1 and "cannot" in process.stderr, process.stderr
    check_clean(busy)
    kept = re.search(r"what was recorded is in (\S+):", process.stderr)
    check_files(tmp_path, *([pathlib.Path(kept[1]).name] if kept else []))


@pytest.mark.parametrize("size", ["0", "64k", "1m"])
def test_temporary_files(mtdb, busy, tmp_path, need, size):
    """A file system without room for the recording, which is a temporary file."""
    if os.geteuid():
        pytest.skip("only root mounts file systems")
    small = tmp_path / "small"
    small.mkdir()
    script = f"""mount -t tmpfs -o size={size if size != "0" else "4k"},nr_inodes={3 if size != "0" else 1} none {small} &&
        TMPDIR={small} {mtdb} attach -e calls --for=500ms -o {tmp_path}/out.fxt -p {busy.pid}"""
    process = subprocess.run([need("unshare"), "-m", "sh", "-c", script], capture_output=True, text=True, check=False,
                             timeout=PATIENCE)
    assert "cannot" in process.stderr if process.returncode else (tmp_path / "out.fxt").exists(), process.stderr
    check_clean(busy)


# ---- Waiting ----

def test_little_address_space(mtdb, tmp_path):
    """The program is killed where it cannot be recorded, at any point."""
    for kilobytes in (14000, 16000, 18000, 20000, 22000, 25000):
        done = subprocess.run(["sh", "-c", f"ulimit -v {kilobytes}; exec {mtdb} run -e calls -o {tmp_path}/out.fxt true"],
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode in (0, 1, 125, 127), done.stderr


def test_orphans(mtdb, tmp_path):
    """It says for whom it waits; asked to end, it lets them go, and writes what there is."""
    script = "sleep 1000 <&- >&- 2>&- & echo $!; exec true"
    with subprocess.Popen([mtdb, "run", "-e", "calls", "--follow-forks", "-o", tmp_path / "out.fxt", "sh", "-c", script],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        orphan = int(process.stdout.readline())
        lines = iter(process.stderr.readline, "")
        told = next(line for line in lines if "waiting for" in line)
        assert f"process {orphan} (sleep)" in told
        process.terminate()
        _, rest = process.communicate(timeout=PATIENCE)
    try:
        assert process.returncode == 0 and "out.fxt: the timeline" in rest, rest
        assert status_of(orphan, "TracerPid") == "0" and changed(orphan) == []
        assert "/memfd:mtrace" not in pathlib.Path(f"/proc/{orphan}/maps").read_text()
        assert state_of(orphan) == "S"
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_output_that_nobody_reads(mtdb, program, tmp_path):
    """Nothing is held any more: the signal takes its default action at once."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with open(os.open(fifo, os.O_RDWR), "rb"), recording(mtdb, "run", "-f", "text", "-o", fifo, program) as process:
        started = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().strip()
        wait_until(lambda: len(os.listdir(f"/proc/{started}/task")) == 3 and sum(ticks_of(started)) > 20)
        os.kill(int(started), signal.SIGUSR1)
        wait_until(lambda: "pipe" in pathlib.Path(f"/proc/{process.pid}/wchan").read_text())
        process.terminate()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGTERM


@pytest.fixture(name="freezer")
def make_freezer():
    """A cgroup that can be frozen so that no signal wakes what is in it: version 1."""
    folder = pathlib.Path(f"/sys/fs/cgroup/freezer/mtrace-test-{os.getpid()}")
    try:
        folder.mkdir()
        (folder / "freezer.state").read_text()
    except OSError as error:
        pytest.skip(f"no freezer cgroup of version 1 here: {error}")
    yield folder
    (folder / "freezer.state").write_text("THAWED")
    wait_until(lambda: not (folder / "cgroup.procs").read_text())
    folder.rmdir()


@pytest.mark.parametrize("command", ["attach", "prompt"])
def test_frozen(mtdb, busy, tmp_path, freezer, command):
    """It says why it cannot attach, and is not heard of again when the process thaws."""
    words = {"attach": ["attach", "-o", str(tmp_path / "out.fxt"), "-p", str(busy.pid)],
             "prompt": ["-nx", "-batch", "-p", str(busy.pid)]}[command]
    (freezer / "cgroup.procs").write_text(str(busy.pid))
    (freezer / "freezer.state").write_text("FROZEN")
    wait_until(lambda: (freezer / "freezer.state").read_text() == "FROZEN\n")
    try:
        done = subprocess.run([mtdb, *words], capture_output=True, text=True, check=False, timeout=PATIENCE)
    finally:
        (freezer / "freezer.state").write_text("THAWED")
        pathlib.Path("/sys/fs/cgroup/freezer/cgroup.procs").write_text(str(busy.pid))
    assert done.returncode == 1 and "does not stop: it sleeps in the kernel" in done.stderr, done.stderr
    check_clean(busy)


def test_frozen_while_it_is_recorded(mtdb, busy, tmp_path, freezer):
    """It is let go when it thaws; what was recorded is written."""
    with recording(mtdb, "attach", "-o", tmp_path / "out.fxt", "-p", str(busy.pid)) as process:
        (freezer / "cgroup.procs").write_text(str(busy.pid))
        (freezer / "freezer.state").write_text("FROZEN")
        wait_until(lambda: (freezer / "freezer.state").read_text() == "FROZEN\n")
        try:
            process.terminate()
            _, messages = process.communicate(timeout=PATIENCE)
        finally:
            (freezer / "freezer.state").write_text("THAWED")
            pathlib.Path("/sys/fs/cgroup/freezer/cgroup.procs").write_text(str(busy.pid))
    assert process.returncode == 0, messages
    told = re.search(r'does not stop: .* \("mtdb (attach --for=1ms [0-9]+)" restores it', messages)
    assert told, messages
    subprocess.run([mtdb, *told[1].split()], cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE)
    assert changed(busy.pid) == []


def test_vfork(mtdb, tmp_path):
    """Who waits in vfork() for its child does not stop."""
    source = tmp_path / "vforks.c"
    source.write_text("#include <unistd.h>\nint main(void) { if (vfork() == 0) { pause(); _exit(0); } return 0; }\n")
    subprocess.run(["gcc", "-w", "-o", tmp_path / "vforks", source], check=True)
    with subprocess.Popen([tmp_path / "vforks"], start_new_session=True) as process:
        wait_until(lambda: state_of(process.pid) == "D")
        done = subprocess.run([mtdb, "attach", "--for=100ms", "-o", tmp_path / "out.fxt", "-p", str(process.pid)],
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 1 and "vfork()" in done.stderr, done.stderr
        assert status_of(process.pid, "TracerPid") == "0"
        os.killpg(process.pid, signal.SIGKILL)


def test_leader_that_has_ended(mtdb, tmp_path):
    """A process whose first thread has ended, and others have not."""
    source = tmp_path / "ends.c"
    source.write_text("#include <pthread.h>\n#include <unistd.h>\n"
                      "static void *rest(void *u) { for (;;) usleep(1000); return u; }\n"
                      "int main(void) { pthread_t t; pthread_create(&t, 0, rest, 0); pthread_exit(0); }\n")
    subprocess.run(["gcc", "-pthread", "-o", tmp_path / "ends", source], check=True)
    with subprocess.Popen([tmp_path / "ends"]) as process:
        wait_until(lambda: state_of(process.pid) == "Z")
        done = subprocess.run([mtdb, "attach", "--for=100ms", "-o", tmp_path / "out.fxt", "-p", str(process.pid)],
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 1 and "has ended" in done.stderr, done.stderr
        process.kill()


def test_stopped(mtdb, busy, tmp_path):
    """By SIGSTOP: it stays stopped."""
    busy.send_signal(signal.SIGSTOP)
    wait_until(lambda: state_of(busy.pid) == "T")
    done = subprocess.run([mtdb, "attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "out.fxt", "-p", str(busy.pid)],
                          capture_output=True, text=True, check=False, timeout=PATIENCE)
    wait_until(lambda: state_of(busy.pid) == "T")
    busy.send_signal(signal.SIGCONT)
    assert done.returncode == 1
    assert re.search(rf'thread \d+ is stopped \(continue it by "kill -CONT {busy.pid}"\)$', done.stderr), done.stderr
    check_clean(busy)


def test_stopped_meanwhile(mtdb, busy, tmp_path):
    """What is mapped into it stays until somebody comes again, and it is said why."""
    with recording(mtdb, "attach", "--size=64k", "-o", tmp_path / "out.json", "-p", str(busy.pid)) as process:
        wait_until(lambda: changed(busy.pid))
        busy.send_signal(signal.SIGSTOP)
        wait_until(lambda: not runs(busy.pid))
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and f'is stopped (continue it by "kill -CONT {busy.pid}")' in messages, messages
    assert state_of(busy.pid) == "T" and changed(busy.pid) == []
    busy.send_signal(signal.SIGCONT)
    subprocess.run([mtdb, "attach", "-e", "calls", "--for=1ms", "-o", tmp_path / "out.json", "-p", str(busy.pid)],
                   capture_output=True, check=False, timeout=PATIENCE)
    check_clean(busy)


def test_first_process_of_a_namespace(mtdb, tmp_path, need):
    """It ends when all others in the namespace were waited for, by us."""
    if os.geteuid():
        pytest.skip("only root makes namespaces")
    script = "sleep 1000 & (while :; do :; done) & while :; do true; /bin/true; done"
    with subprocess.Popen([mtdb, "run", "-e", "calls", "--size=64k", "--follow-forks", "-o", tmp_path / "out.fxt",
                           need("unshare"), "-pf", "--mount-proc", "sh", "-c", script],
                          stderr=subprocess.PIPE, text=True) as process:
        def children(pid):
            return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        wait_until(lambda: children(process.pid) and children(children(process.pid)[0]))
        first = children(children(process.pid)[0])[0]
        wait_until(lambda: len(children(first)) > 2)
        os.kill(int(first), signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode in (1, 128 + signal.SIGKILL)  # as its releases of unshare report that


def test_a_program_that_ignores_the_signal(mtdb, tmp_path):
    """It goes on as it would alone; who asks again is told what there is to do."""
    out = tmp_path / "x.json"
    with recording(mtdb, "run", "-o", out, "--", "/bin/sh", "-c",
                   "trap '' TERM; echo ready; while :; do :; done") as process:
        assert process.stdout.readline() == "ready\n"
        assert process.stderr.readline().startswith("mtdb: recording with")
        # Two that come at once are one.
        while not select.select([process.stderr], [], [], 0.1)[0]:
            process.terminate()
        told = process.stderr.readline()
        number = int(re.fullmatch(r'mtdb: SIGTERM was passed on, and process (\d+) goes on: "kill -KILL \1" ends it, '
                                  r"and its last calls are written\n", told).group(1))
        assert process.poll() is None
        os.kill(number, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + signal.SIGKILL
    assert out.stat().st_size > 1000
