# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot be attached to is refused in clear words, and runs on."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import come_along, wait_until
from tests.processes import state_of


@pytest.fixture(name="start")
def start_program():
    """start(command…) -> a program that said "ready"."""
    started = []

    def start(*command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        come_along(process.pid)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def refuse(run_mtdb, tmp_path, pid, message, engine="calls", status=1):
    done = run_mtdb("attach", "-e", engine, "--for=100ms", "-o", tmp_path / "out.txt", "-p", pid)
    assert done.returncode == status and message in done.stderr, done.stderr


def check_it_goes_on(process):
    assert process.poll() is None
    process.communicate(b"\n", timeout=60)
    assert process.returncode == 7


def test_seccomp(compile, start, run_mtdb, tmp_path):
    process = start(compile("attach_refused.c"), "strict")
    refuse(run_mtdb, tmp_path, process.pid, "seccomp")
    check_it_goes_on(process)


def test_no_memory_near(compile, start, run_mtdb, tmp_path):
    process = start(compile("attach_refused.c"), "memory")
    refuse(run_mtdb, tmp_path, process.pid, "no free memory within 2 GiB", status=0)
    check_it_goes_on(process)


@pytest.mark.sanitize
@pytest.mark.parametrize("how", ["memory", "name"])
def test_replaced(compile, start, run_mtdb, tmp_path, how):
    """The file is no longer what the process runs: for its bytes, or since its name is gone."""
    program = tmp_path / "program"
    shutil.copy(compile("attach_refused.c", "-O1"), program)
    process = start(program, "another" if how == "memory" else "")
    if how == "name":
        shutil.copy(program, tmp_path / "new")
        os.rename(tmp_path / "new", program)
    for _ in range(2):
        refuse(run_mtdb, tmp_path, process.pid, "restart the program", status=0)
    assert not re.search(r"^ .*  count(?: |$)", (tmp_path / "out.txt").read_text(), re.M)
    check_it_goes_on(process)


def test_traced_by_another(compile, start, mtdb, run_mtdb, tmp_path):
    process = start(compile("attach_refused.c"))
    ours, its = os.pipe()
    with subprocess.Popen([mtdb, "attach", "-e", "calls", f"--ready-fd={its}", "-o",
                           tmp_path / "first.txt", "-p", str(process.pid)],
                          pass_fds=[its]) as first:
        os.close(its)
        with os.fdopen(ours) as pipe:
            assert pipe.read()
        refuse(run_mtdb, tmp_path, process.pid, f"process {first.pid} is already tracing it")
        check_it_goes_on(process)


@pytest.mark.usefixtures("runs_32_bit")
def test_32_bit(tmp_path, run_mtdb):
    source = tmp_path / "small.c"
    source.write_text("void _start(void) { for (;;) __asm__ volatile (\"pause\"); }\n")
    program = tmp_path / "small"
    command = ["gcc", "-m32", "-nostdlib", "-static", "-ffreestanding", "-o", program, source]
    subprocess.run(command, check=True)
    with subprocess.Popen([program]) as process:
        refuse(run_mtdb, tmp_path, process.pid, "runs a 32-bit program")
        assert process.poll() is None
        process.kill()


def test_kernel_thread(run_mtdb, tmp_path):
    refuse(run_mtdb, tmp_path, 2, "kernel")


def test_zombie(run_mtdb, tmp_path):
    with subprocess.Popen(["true"]) as process:
        wait_until(lambda: state_of(process.pid) == "Z")
        refuse(run_mtdb, tmp_path, process.pid, f"process {process.pid} has ended")


def test_nobody(run_mtdb, tmp_path):
    refuse(run_mtdb, tmp_path, 2**22 + 1, "no process")


def test_itself(mtdb):
    done = subprocess.run(["sh", "-c", "exec \"$0\" attach -p $$", mtdb], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 2 and "cannot attach to mtdb itself" in done.stderr


@contextlib.contextmanager
def readable_by_all(*paths):
    """Copies in a directory that any user can reach, as the build directory may not be."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for path in paths:
            shutil.copy(path, folder)
        yield pathlib.Path(folder)


def attach_as_nobody(mtdb, pid):
    return subprocess.run([mtdb, "attach", "-o", "/dev/null", "-f", "text", "-p", str(pid)],
                          check=False, capture_output=True, text=True, user=65534, group=65534,
                          extra_groups=[])


def test_not_permitted(start, compile, mtdb):
    if os.geteuid():
        pytest.skip("only root can become somebody else")
    process = start(compile("attach_refused.c"))
    with readable_by_all(mtdb) as folder:
        done = attach_as_nobody(folder / "mtdb", process.pid)
    assert done.returncode == 1 and "permission denied" in done.stderr
    check_it_goes_on(process)
