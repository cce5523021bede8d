# SPDX-License-Identifier: GPL-3.0-or-later
"""What all Python tests share: where mtdb is, how a test's programs are compiled, and how a test
says what this machine lacks."""
import contextlib
import hashlib
import math
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest

from tests import watchdog
from tests.processes import state_of, ticks_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
BUILD = pathlib.Path(os.environ.get("MTRACE_BUILD", ROOT / "build")).resolve()
PATIENCE = 900  # seconds; on a busy machine no test takes a tenth of it

COMPILERS = {
    ".c": ("gcc", ["-g", "-std=gnu11"], "gcc"),
    ".S": ("gcc", ["-g"], "gcc"),
    ".cpp": ("g++", ["-g", "-std=c++17"], "g++"),
    ".rs": ("rustc", ["-g", "--edition=2021"], "rustc"),
}


def pytest_configure():
    watchdog.hear_signals()


def pytest_runtest_logreport(report):
    """What failed is told at once: a run that is cut off never comes to its summary."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.nodeid}: {report.when} failed", flush=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Those that tests/long.txt lists; before -m deselects."""
    lines = (ROOT / "tests" / "long.txt").read_text().splitlines()
    expressions = [line for line in lines if line and not line.startswith("#")]
    listed = re.compile("|".join(f"(?:{expression})" for expression in expressions))
    for item in items:
        if listed.search(item.nodeid):
            item.add_marker(pytest.mark.long)


@pytest.fixture(autouse=True)
def fail_if_it_hangs(request):
    """First to begin and last to end, so it sees what other fixtures wait for as well."""
    if request.node.get_closest_marker("soak"):
        yield
        return
    dog = watchdog.Watchdog(PATIENCE)
    yield
    assert dog.call_off(), f"took longer than {PATIENCE} s: what it started was killed"


def line_of(source, text):
    """The number of the first line of a fixture's source that holds a text."""
    lines = (FIXTURES / source).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def wait_until(condition):
    """Looks again and again, as long as a test may take."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come about"
        time.sleep(0.01)


def come_along(pid):
    """Waits until a program sleeps, or has worked for another tenth of a second."""
    def worked():
        return math.inf if state_of(pid) == "S" else sum(ticks_of(pid))
    until = worked() + os.sysconf("SC_CLK_TCK") / 10
    wait_until(lambda: worked() >= until)


def need_tool(name, package=None):
    """The path of a program, or a skip that says which package has it; MTRACE_GDB names another GDB."""
    path = shutil.which(os.environ.get("MTRACE_GDB", name) if name == "gdb" else name)
    if not path:
        pytest.skip(f"no {name} here (package {package or name})")
    return path


@pytest.fixture(scope="session")
def need():
    """need("perf", "linux-perf") -> path of the program; skips where it is missing."""
    return need_tool


@pytest.fixture(scope="session")
def build():
    """The build directory; MTRACE_BUILD names another."""
    return BUILD


@pytest.fixture(scope="session")
def mtdb():
    """The path of the mtdb under test."""
    path = BUILD / "mtdb"
    assert path.exists(), f"{path} is not built: run make"
    return path


@pytest.fixture(scope="session")
def run_mtdb(mtdb):
    """run_mtdb("decode", path) -> CompletedProcess with text; never raises for a status."""

    def run(*args, timeout=120, **options):
        options = {"text": True, "capture_output": True, **options}
        if "stdout" in options or "stderr" in options:
            options.pop("capture_output")
        command = [str(mtdb), *(str(arg) for arg in args)]
        return subprocess.run(command, timeout=timeout, check=False, **options)

    return run


@pytest.fixture(scope="session")
def root():
    """Skips where we are not."""
    if os.geteuid():
        pytest.skip("needs root")


@pytest.fixture(scope="session")
def with_tracefs(root, need):
    """Words before a command that give it a tracefs, which nobody else sees, where there is none."""
    if os.access("/sys/kernel/tracing/events", os.R_OK):
        return []
    words = [need("unshare", "util-linux"), "-m", "sh", "-c",
             "mount -t tracefs nodev /sys/kernel/tracing || exit 77; exec \"$@\"", "-"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("tracefs cannot be mounted here")
    return words


@pytest.fixture(scope="session")
def perf_events(run_mtdb):
    """Skips where the kernel gives none, as in many containers; with mtdb's own words."""
    refused = re.search(r"^faults +no +(.*)", run_mtdb("doctor").stdout, re.M)
    if refused:
        pytest.skip(refused[1])


@pytest.fixture(scope="session")
def gdb_writes_registers(need, compile):
    """Skips where GDB calls no function in the program, and starts no recording in its midst."""
    done = subprocess.run([need("gdb"), "-nx", "-batch", "-ex", "break main", "-ex", "run",
                           "-ex", 'print *"abc"', compile("crash.c")], text=True,
                          capture_output=True, check=False, timeout=120)
    if "write extended state" in done.stderr:
        pytest.skip("GDB before 14 writes no registers of a processor that has AMX")


@pytest.fixture(scope="session")
def debug_registers_hit(compile):
    """Whether one stops a program here: there are hypervisors that let them be set, and do nothing."""
    return subprocess.run([compile("debug_registers.c")], check=False).returncode == 0


@pytest.fixture(scope="session")
def debug_registers(debug_registers_hit):
    """Skips where none stops a program."""
    if not debug_registers_hit:
        pytest.skip("no debug register stops a program here, though they can be set")


@pytest.fixture(scope="session")
def runs_32_bit(tmp_path_factory):
    """Skips where no program of 32 bits can be made, or run."""
    program = tmp_path_factory.mktemp("small") / "small"
    command = ["gcc", "-m32", "-nostdlib", "-static", "-x", "assembler", "-o", program, "-"]
    source = ".globl _start\n_start: mov $1, %eax\nxor %ebx, %ebx\nint $0x80\n"
    if subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode:
        pytest.skip("gcc here makes no programs of 32 bits")
    try:
        subprocess.run([program], check=True)
    except OSError:
        pytest.skip("the kernel here runs no programs of 32 bits")


@pytest.fixture(scope="session")
def recordings():
    """Recordings from real hardware, which are not part of the project."""
    folder = ROOT.parent / "shared" / "recordings"
    if not folder.is_dir():
        pytest.skip("no recordings of real hardware, which are not part of the project")
    return folder


def linked_for(engine):
    """Flags: what is stepped has its libraries in it, as most steps would be the dynamic loader's."""
    return ["-static"] if engine == "step" else []


def digest(source, command):
    """What a compiled program depends on."""
    state = hashlib.sha256()
    for path in [source, *sorted(FIXTURES.glob("*.h"))]:
        state.update(path.read_bytes())
    for word in command:
        state.update(word.encode() + b"\0")
        if os.path.isfile(word):
            state.update(str(os.stat(word).st_mtime_ns).encode())
    return state.hexdigest()[:16]


def build_apart(compiler, source, flags, target, **options):
    """Compile in a directory of its own, since other processes may make the same program now."""
    target.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent.parent) as folder:
        command = [*compiler, "-o", f"{folder}/{target.name}", str(source), *flags]
        done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        target.parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):  # another worker's, which may run by now
            os.link(f"{folder}/{target.name}", target)


def go_environment():
    """One cache for all that Go compiles, its own libraries among them."""
    return {**os.environ, "GOCACHE": str(ROOT / "build" / "fixtures" / "go-cache"), "GOPROXY": "off",
            "GOFLAGS": "", "GO111MODULE": "off"}


@pytest.fixture(scope="session", name="go")
def build_go():
    """go("program", "-buildmode=pie", source="languages.go") -> the path of a Go program.

    It is built once, as by compile()."""

    def build(name, *flags, source="languages.go"):
        source = FIXTURES / source
        words = [need_tool("go", "golang-go"), "build", *flags]
        target = ROOT / "build" / "fixtures" / digest(source, words) / name
        if not target.exists():
            build_apart(words, source, [], target, env=go_environment())
        return target

    return build


@pytest.fixture(scope="session", name="compile")
def compile_fixture():
    """compile("crash.c", "-O2", …) -> path of the program.

    The source stands in tests/fixtures, or is a path.  All other words go to the compiler as they
    are (paths too: libraries, further sources); `output` names the result.  What is compiled stays
    in build/fixtures under the digest of source and command, so it is compiled once.
    """

    def compile_program(source, *flags, output=None, compiler=None):
        source = FIXTURES / source
        tool, defaults, package = COMPILERS[source.suffix]
        tool = need_tool(compiler or tool, package if compiler is None else compiler)
        words = [tool, *defaults, *(str(flag) for flag in flags)]
        target = ROOT / "build" / "fixtures" / digest(source, words) / (output or source.stem)
        if not target.exists():
            build_apart(words[: 1 + len(defaults)], source, words[1 + len(defaults) :], target)
        elif target.stat().st_mtime < source.stat().st_mtime:
            os.utime(target)  # the same text: else GDB warns of it
        return target

    return compile_program
