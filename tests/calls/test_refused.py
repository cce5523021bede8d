# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that cannot be recorded, or not all of them: privileges of their own, nothing that tells
of their functions, limits.  They run on, and a message says why."""
import os
import re
import shutil
import subprocess
import tempfile

import pytest

NOBODY = 65534


def count(path):
    return len(re.findall(r"^ .*  fib(?: |$)", path.read_text(), re.M))


@pytest.fixture(name="place")
def make_place(build, compile):
    """A folder in which nobody runs mtdb, with a program, and the same with root's privileges."""
    if os.geteuid():
        pytest.skip("only root can make set-user-ID programs of root's")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        shutil.copy(build / "mtdb", folder)
        for name in "plain", "privileged":
            shutil.copy(compile("calls_privileged.c", "-O1"), f"{folder}/{name}")
        os.chmod(f"{folder}/privileged", 0o4755)
        alone = as_nobody(folder, "./privileged")
        if alone.stdout != f"{NOBODY} 0 1 alone 55\n":
            pytest.skip("set-user-ID bits mean nothing in the directory of temporary files")
        yield folder


def as_nobody(folder, *command):
    return subprocess.run(command, cwd=folder, user=NOBODY, group=NOBODY, extra_groups=[],
                          text=True, capture_output=True, check=False, timeout=60,
                          env={**os.environ, "HOME": folder})


def record(folder, *options):
    return as_nobody(folder, "./mtdb", "run", "-e", "calls", "-o", "out.txt", *options)


def test_privileged(place):
    """Traced it would have no privileges: better not at all."""
    done = record(place, "./privileged")
    assert (done.stdout, done.returncode) == ("", 125)
    assert "set-user-ID" in done.stderr and "run mtdb as root" in done.stderr


def test_child_with_privileges(place):
    done = record(place, "sh", "-c", "./privileged; ./plain; exit 3")
    assert done.stdout == f"{NOBODY} 0 1 alone 55\n{NOBODY} {NOBODY} 0 alone 55\n"
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("words", [["./plain", "./privileged"],
                                   ["--follow-forks", "sh", "-c", "./privileged; exit 7"]])
def test_privileges_on_the_way(place, words):
    """The system gives it none.  It is recorded."""
    done = record(place, *words)
    assert done.stdout.endswith(f"{NOBODY} {NOBODY} 1 alone 55\n") and done.returncode == 7
    assert "not recorded" not in done.stderr


def test_attach_to_privileges(place):
    with subprocess.Popen(["./privileged"], cwd=place, user=NOBODY, group=NOBODY, extra_groups=[],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, "AWAIT": "1"}) as process:
        assert process.stdout.readline()
        done = as_nobody(place, "./mtdb", "attach", "-e", "calls", "--for=100ms", "-o", "out.txt",
                         "-p", str(process.pid))
        assert done.returncode == 1 and "permission denied" in done.stderr
        process.communicate(b"\n", timeout=60)
        assert process.returncode == 7


def strip_all(compile, need, tmp_path, *flags):
    program = tmp_path / "stripped"
    subprocess.run([need("objcopy", "binutils"), "--strip-all", "-R", ".eh_frame", "-R",
                    ".eh_frame_hdr", compile("calls_privileged.c", "-O1", *flags), program],
                   check=True)
    return program


def test_nothing_tells_of_functions(compile, need, run_mtdb, tmp_path):
    program = strip_all(compile, need, tmp_path)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", program)
    assert done.returncode == 7 and "alone 55" in done.stdout
    assert f"calls in {program} are not recorded: it has neither symbols nor" in done.stderr
    assert "printf" in (tmp_path / "out.txt").read_text()


def test_a_library_of_data_alone_is_not_told_of(compile, need, run_mtdb, tmp_path):
    """Its code is the linker's."""
    (tmp_path / "data.c").write_text("int numbers[] = {1, 2, 3};\n")
    (tmp_path / "program.c").write_text("extern int numbers[];\nint main(void) { return numbers[2]; }\n")
    library = compile(tmp_path / "data.c", "-shared", "-fPIC", output="libdata.so")
    subprocess.run([need("strip"), library], check=True)
    program = compile(tmp_path / "program.c", "-O1", library)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", program)
    assert done.returncode == 3 and "libdata.so" not in done.stderr, done.stderr


def test_mono_reads_its_code(compile, run_mtdb, tmp_path):
    """As a library of code that Mono compiled ahead of time, which it looks into at run time."""
    source = tmp_path / "mono.c"
    source.write_text("#include <stdio.h>\nint mono_aot_file_info = 1;\n"
                      "int main(void) { puts(\"read\"); return 7; }\n")
    program = compile(source, "-O1")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", program)
    assert done.returncode == 7 and done.stdout == "read\n"
    assert f"calls in {program} are not recorded: Mono compiled it" in done.stderr
    assert "puts" in (tmp_path / "out.txt").read_text()


@pytest.mark.parametrize("kind", ["-static", "-static-pie"])
def test_nothing_at_all(compile, need, run_mtdb, tmp_path, kind):
    program = strip_all(compile, need, tmp_path, kind)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", program)
    assert done.returncode == 7 and "alone 55" in done.stdout
    assert f"calls in {program} are not recorded: it has neither symbols nor" in done.stderr


# What the shell sets before the program, or before mtdb, and whether there is a history then.
LIMITS = [("ulimit -l 0", True), ("ulimit -n 12", True), ("ulimit -s 256", True),
          ("unset HOME XDG_CACHE_HOME", True), ("ulimit -c 0", True), ("ulimit -f 200", False)]


@pytest.mark.parametrize("limit, recorded", LIMITS)
def test_limits_of_the_program(compile, run_mtdb, tmp_path, limit, recorded):
    program = compile("calls_privileged.c", "-O1")
    out = tmp_path / "out.txt"
    done = run_mtdb("run", "-e", "calls", "-o", out, "--", "sh", "-c", f"{limit}; exec {program}")
    assert done.returncode == 7 and "alone 55" in done.stdout, done.stderr
    assert count(out) == 177 or not recorded


@pytest.mark.parametrize("limit, recorded", LIMITS)
def test_our_own_limits(compile, mtdb, tmp_path, limit, recorded):
    program = compile("calls_privileged.c", "-O1")
    out = tmp_path / "out.txt"
    done = subprocess.run(["sh", "-c", f"{limit}; exec {mtdb} run -e calls -o {out} {program}"],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 7 and "alone 55" in done.stdout, done.stderr
    if recorded:
        assert count(out) == 177
    else:
        assert "ulimit -f" in done.stderr


@pytest.mark.parametrize("kib", [60000, 80000, 120000])
def test_rings_leave_room_for_stacks(compile, run_mtdb, tmp_path, kib):
    """Under a limit on addresses."""
    program = compile("calls_stacks.c", "-pthread")
    command = ["bash", "-c", f"ulimit -s 8192; ulimit -v {kib}; exec {program}"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 4
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--", *command)
    assert (done.stdout, done.returncode) == ("4 threads\n", 4), done.stderr


# write(1, "hello\\n", 6); exit(7)
SMALL = """.globl _start
_start: mov $4, %eax
        mov $1, %ebx
        mov $text, %ecx
        mov $6, %edx
        int $0x80
        mov $1, %eax
        mov $7, %ebx
        int $0x80
text:   .ascii "hello\\n"
"""


@pytest.mark.parametrize("engine", ["calls", "step"])
@pytest.mark.parametrize("by", ["itself", "exec"])
def test_32_bit(need, compile, run_mtdb, tmp_path, engine, by):
    """It runs on, and a message says why nothing is recorded."""
    program = tmp_path / "small"
    subprocess.run([need("as", "binutils"), "--32", "-o", tmp_path / "small.o"], input=SMALL,
                   text=True, check=True)
    subprocess.run([need("ld", "binutils"), "-m", "elf_i386", "-o", program, tmp_path / "small.o"],
                   check=True)
    try:
        assert subprocess.run([program], capture_output=True, check=False).returncode == 7
    except OSError:
        pytest.skip("the kernel here runs no 32-bit programs")
    (tmp_path / "execs.c").write_text("int execv(const char *, char **);\n"
                                      "int main(int count, char **words) { return execv(words[1], words + count - 1); }\n")
    command = [program] if by == "itself" else [compile(tmp_path / "execs.c", "-static"), program]
    done = run_mtdb("run", "-e", engine, "-o", tmp_path / "out.txt", "--", *command)
    assert (done.stdout, done.returncode) == ("hello\n", 7), done.stderr
    assert "runs on untraced: it" in done.stderr and "a 32-bit program" in done.stderr
