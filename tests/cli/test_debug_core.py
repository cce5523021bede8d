# SPDX-License-Identifier: GPL-3.0-or-later
"""Core files at mtdb's prompt: as GDB shows them, cut off, garbled, of other programs, and with a
recording beside them."""
import pathlib
import random
import resource
import shutil
import struct
import subprocess

import pytest

from tests.cli.same import same

LOOK = [
    "bt", "info locals", "p *item", "p items", "p &total", "up", "info locals", "down", "frame 1", "list", "info frame",
    "x/2i $pc", "x/s items[0].name", "x/4xw &total", "x/2xg 8", "info registers rip rsp", "info registers eflags", "p $st0", "p $xmm0",
    "info symbol sum_up", "info line crash", "ptype item", "info program", "info inferiors", "p $_exitsignal", "p $_thread",
    "info threads", "thread", "thread 1", "thread 2", "thread apply all bt", "info sharedlibrary",
]
# Frames in the C library depend on debug files, which GDB may name otherwise.
THREADS = ["info threads", "bt", "p signal", "thread 2", "thread 3", "thread 9", "info threads", "thread apply all p $_thread",
           "thread apply 1 2 p 1", "p $_thread", "thread 1", "frame 1"]
REFUSED = [
    "continue", "step", "next", "stepi", "finish", "until", "advance main", "jump main", "return", "signal 0", "set var $rax = 1",
    "p total", "info proc cwd",
]
FILES = ["core-file /no/such.core", "core-file", "bt", "info threads", "p total", "core-file", "detach"]


@pytest.fixture(name="core", scope="module", params=["gdb", "kernel"])
def make_core(request, need, compile, tmp_path_factory):
    """(program, core) of a crash."""
    program = compile("gdb_session.c", "-pthread", "-O0", "-g")
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "gdb":
        core = by_gdb(need("gdb"), program, folder / "crash.core", "handle SIGUSR1 nostop", "run crash")
    else:
        core = by_kernel([program, "crash"], folder)
    return program, core


def by_gdb(gdb, program, core, *commands):
    words = [word for command in [*commands, f"generate-core-file {core}"] for word in ("-ex", command)]
    subprocess.run([gdb, "-nx", "-batch", *words, program], capture_output=True, check=False, timeout=120,
                   stdin=subprocess.DEVNULL)
    assert core.exists()
    return core


def by_kernel(words, folder):
    """Skips where the system has the cores, or the limit is a hard one."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if "/" in pattern or pattern.startswith("|") or hard != resource.RLIM_INFINITY:
        pytest.skip(f"core files are not written here: the pattern is {pattern}, the hard limit {hard}")
    subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", *words], cwd=folder, check=False, timeout=120,
                   capture_output=True)
    [core] = folder.glob("core*")
    return core


def words_for(commands):
    return [word for command in commands for word in ("-ex", command)]


@pytest.mark.parametrize("commands", [LOOK, REFUSED, FILES], ids=["look", "refused", "files"])
def test_same_as_gdb(need, mtdb, core, commands):
    # Of a processor's registers that this GDB does not know.
    xstate = ["warning: Section `.reg-xstate/", "warning: Unexpected size of section `.reg-xstate/"]
    lines = same(need("gdb"), mtdb, [*words_for(commands), *core], xstate)
    assert any("Program terminated with signal SIGSEGV" in line for line in lines)


def test_several_threads(need, mtdb, compile, tmp_path):
    """generate-core-file of a process that did not die; the threads wait in the C library."""
    program = compile("gdb_session.c", "-pthread", "-O0", "-g")
    core = by_gdb(need("gdb"), program, tmp_path / "core", "handle SIGUSR1 nostop noprint", "break handler", "run")
    lines = same(need("gdb"), mtdb, [*words_for(THREADS), program, core])
    assert "Unknown thread 9." not in lines and sum("(LWP N)" in line for line in lines) > 4


@pytest.fixture(name="look")
def run_commands(run_mtdb):
    def run(core, *commands, program=None):
        done = run_mtdb("-batch", "-c", core, *words_for(commands), *([program] if program else []), errors="replace")
        assert done.returncode in (0, 1), done.stderr
        return done
    return run


def test_the_program_is_the_one_that_ran(look, core):
    done = look(core[1], "bt", "info proc", "info proc mappings", "core-file", "info locals")
    assert "in crash (item=" in done.stdout or "crash (item=" in done.stdout
    assert f"{core[0]}\n" in done.stdout and "exe = '" in done.stdout
    assert done.stderr == "No frame selected.\n"


def test_a_process_is_run_after_a_core_file(run_mtdb, core):
    done = run_mtdb("-batch", *words_for(["break sum_up", "run", "bt 1", "kill", "info threads", f"core-file {core[1]}",
                                          "run", "core-file " + str(core[1]), "bt 1", "p $_exitsignal"]), *core)
    assert done.stdout.count("Program terminated with signal SIGSEGV") == 3
    assert done.stdout.count("Breakpoint 1, sum_up") == 2
    assert "No threads." in done.stdout and done.stdout.endswith("$1 = 11\n")


def test_another_program_is_loaded_later(run_mtdb, core):
    done = run_mtdb("-batch", *words_for([f"core-file {core[1]}", f"file {core[0]}", "bt 1", "info locals"]), "-c", core[1])
    assert done.stdout.count("crash (item=") >= 3 and not done.stderr


def test_arguments_that_are_core_files(run_mtdb, core):
    done = run_mtdb("-batch", "-ex", "show args", "--args", *core)
    assert str(core[1]) in done.stdout and "terminated" not in done.stdout
    done = run_mtdb("-batch", "-ex", "show args", core[0], "some", core[1])
    assert f"some {core[1]}" in done.stdout


def test_another_build_is_told(look, core, compile, tmp_path):
    rebuilt = tmp_path / core[0].name
    shutil.copy(compile("gdb_session.c", "-pthread", "-O1", "-g"), rebuilt)
    warning = f"warning: core file may not match specified executable file: the build ID of {rebuilt} is another one"
    assert warning in look(core[1], "info threads", program=rebuilt).stderr
    assert not look(core[1], "info threads", program=core[0]).stderr


def test_missing_files_are_told(look, need, compile, tmp_path):
    """Their pages that were not dumped cannot be read; the rest can."""
    program = tmp_path / "gone"
    shutil.copy(compile("gdb_session.c", "-pthread", "-O0", "-g"), program)
    core = by_gdb(need("gdb"), program, tmp_path / "core", "handle SIGUSR1 nostop", "run crash")
    program.unlink()
    done = look(core, "bt 1", "x/i $pc", "info registers rip", "x/2xg $sp")
    assert f"warning: no symbols of {program}: " in done.stderr and "No such file" in done.stderr
    assert "rip " in done.stdout and "?? ()" in done.stdout


def test_nothing_in_it_can_be_changed(look, core):
    done = look(core[1], "p total = 7", "set var argc = 7", "up", "set var argc = 7", "p $st0 = 1.5", "p $rip = 7", "p argc",
                "mtrace info")
    assert done.stderr.count("You can't do that without a process to debug.\n") == 4
    assert "$1 = 2\n" in done.stdout and "Nothing is being recorded" in done.stdout


COMMANDS = ["bt", "info threads", "info locals", "x/4xg $sp", "x/2i $pc", "info registers", "info sharedlibrary",
            "info proc mappings", "thread apply all p $xmm1"]


def test_cut_off_anywhere(look, core, tmp_path):
    whole = core[1].read_bytes()
    end = end_of_segments(whole)
    chance = random.Random(7)
    cut = tmp_path / "cut"
    sizes = [0, 1, 63, 64, 100, 120, 700, 1600, 2900, 4096, *(chance.randrange(end) for _ in range(6)), end - 1]
    for size in sizes:
        cut.write_bytes(whole[:size])
        errors = look(cut, *COMMANDS, program=core[0]).stderr
        assert any(words in errors for words in (
            f'"{cut}" is not a core dump: file format not recognized',
            f'"{cut}" has no registers of a thread: it is truncated or damaged',
            f"warning: {cut} is truncated: expected core file size >= {end}, found: {size}.")), (size, errors)


def end_of_segments(core):
    """elf(5): e_phoff, e_phnum; p_offset and p_filesz."""
    first, count = struct.unpack_from("<Q", core, 32)[0], struct.unpack_from("<H", core, 56)[0]
    headers = [struct.unpack_from("<IIQQQQQQ", core, first + 56 * i) for i in range(count)]
    return max(header[2] + header[5] for header in headers)


def test_garbled(look, core, tmp_path):
    """No crash, and it ends."""
    whole = core[1].read_bytes()
    chance = random.Random(8)
    garbled = tmp_path / "garbled"
    for among in [64, 64, 1500, 1500, 3000, 3000, len(whole), len(whole)]:
        data = bytearray(whole)
        for _ in range(chance.choice([1, 5, 50, 1000])):
            data[chance.randrange(among)] = chance.randrange(256)
        garbled.write_bytes(data)
        look(garbled, *COMMANDS, program=core[0])


def test_what_is_no_core_file(run_mtdb, compile, tmp_path):
    program = compile("crash.c")
    text = tmp_path / "text"
    text.write_text("no core file")
    for path, words in [(program, "is not a core dump: file format not recognized"), (text, "is not a core dump"),
                        (tmp_path, "is not a core dump"), (tmp_path / "none", "none: No such file or directory.")]:
        done = run_mtdb("-batch", "-c", path, program)
        assert words in done.stderr and done.returncode == 1


def test_history_of_a_recording_beside_it(run_mtdb, compile, need, tmp_path):
    """CORE.perf, or what --recording names."""
    program = compile("crash.c")
    done = run_mtdb("run", "-o", tmp_path / "trace.txt", "--record", tmp_path / "kept", "--", program)
    assert done.returncode == 139
    core = by_gdb(need("gdb"), program, tmp_path / "core", "run")
    # Its thread has another number, since it is of another run.
    tid = next(line.split()[1] for line in run_mtdb("history", tmp_path / "kept").stdout.splitlines()
               if line.startswith("Thread "))
    done = run_mtdb("-batch", "-ex", "mtrace history", "-ex", "mtrace snapshot", program, core)
    assert f"there is no recording of the core file: {core}.perf does not exist" in done.stderr
    number_in_core(core, int(tid))
    done = run_mtdb("-batch", "-ex", "mtrace history 4", "-ex", "mtrace save x", "-ex", "mtrace context 5",
                    "--recording", tmp_path / "kept", program, core)
    assert f'Thread {tid} "crash"' in done.stdout and "*** SIGSEGV" in done.stdout and "price_of" in done.stdout
    assert "find_article" in done.stdout
    assert f"is in a file already: {tmp_path}/kept" in done.stderr
    (tmp_path / "kept").rename(tmp_path / "core.perf")
    assert "price_of" in run_mtdb("-batch", "-ex", "mtrace history price_of", program, core).stdout.split("mtdb")[-1]


def number_in_core(core, number):
    """Sets pr_pid in NT_PRSTATUS and NT_PRPSINFO: core(5), sys/procfs.h."""
    data = bytearray(core.read_bytes())
    for kind, size, at in [(1, 336, 32), (3, 136, 24)]:
        note = (5).to_bytes(4, "little") + size.to_bytes(4, "little") + kind.to_bytes(4, "little") + b"CORE\0\0\0\0"
        place = data.index(note) + len(note) + at
        data[place : place + 4] = number.to_bytes(4, "little")
    core.write_bytes(data)
