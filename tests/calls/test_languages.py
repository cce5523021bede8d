# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of other languages, with stacks, threads and collectors of their own: they do the same
when they are recorded."""
import collections
import re
import subprocess

import pytest

from tests import conftest


@pytest.fixture(name="ocaml")
def build_ocaml(need, tmp_path):
    """ocaml("languages.ml", "stub.c") -> an OCaml program."""

    def build(*names):
        sources = [tmp_path / name for name in names]
        for source in sources:
            source.write_text((conftest.FIXTURES / source.name).read_text())
        program = sources[0].with_suffix("")
        subprocess.run([need("ocamlopt", "ocaml-nox"), "-g", "-o", program, *reversed(sources)],
                       check=True, cwd=tmp_path)
        return program

    return build


def check_same(run_mtdb, program, out, size="512k"):
    """The standard error of mtdb."""
    alone = subprocess.run([program], text=True, capture_output=True, check=False)
    done = run_mtdb("run", "-o", out, "--size", size, "--", program)
    assert (done.stdout, done.returncode) == (alone.stdout, alone.returncode), done.stderr
    assert alone.stdout
    return done.stderr


def count(path, name):
    return len(re.findall(rf"^ .*  (?:\+\d+ )?{name}(?: |$)", path.read_text(), re.M))


def test_go(go, run_mtdb, tmp_path):
    program = go("go-dynamic", "-buildmode=pie", "-ldflags=-linkmode=external")
    for _ in range(3):
        check_same(run_mtdb, program, tmp_path / "out.txt")
    assert count(tmp_path / "out.txt", "runtime.memmove") > 0


@pytest.mark.parametrize("way, flags", [("cgo", ["-buildmode=pie", "-ldflags=-linkmode=external"]),
                                        ("static", []), ("stripped", ["-ldflags=-s -w"])])
def test_go_counts_its_calls(go, run_mtdb, tmp_path, way, flags):
    """Goroutines whose stacks are copied while they grow, on several threads: each call is there
    once, and frames do not pile up."""
    program = go(f"go-grow-{way}", *flags, source="calls_grow.go")
    done = run_mtdb("run", "-e", "calls", "--timestamps=full", "-o", tmp_path / "out.txt",
                    "--size", "128m", "--", program, "60")
    counts = dict(re.findall(r"^(main\.\w+) (\d+)$", done.stdout, re.M))
    assert len(counts) == 5, done.stderr
    text = (tmp_path / "out.txt").read_text()
    shown = collections.Counter(
        name for name, notes in re.findall(r"^ .*  (?:\+\d+ )?(main\.\w+)(?: \((.*?)\))?(?: |$)",
                                           text, re.M) if "inferred" not in (notes or ""))
    assert {name: str(shown[name]) for name in counts} == counts
    assert max(map(int, re.findall(r" \+(\d+) ", text))) < 400  # descend() makes 140 of it
    # After the stack was copied its outer frames are still there, and return.
    assert not re.search(r"^ .* main\.\w+ \((?:inferred|.*unwound)", text, re.M)


def test_static_go(go, run_mtdb, tmp_path):
    # One thread may run all goroutines.
    check_same(run_mtdb, go("go-static"), tmp_path / "out.txt", size="16m")
    assert count(tmp_path / "out.txt", "main.deep") > 0


@pytest.mark.parametrize("version", [b"go1.99", b"go1.25-"], ids=["later", "unreleased"])
def test_go_of_a_version_that_is_not_known(go, run_mtdb, tmp_path, version):
    """Stripped, it does not say where its goroutines' numbers lie: they are not told apart."""
    program = go("go-stripped", "-ldflags=-s -w")
    code = program.read_bytes()
    at = code.index(b"\xff Go buildinf:")
    at = code.index(b"go1.", at)
    other = tmp_path / "other"
    other.write_bytes(code[:at] + version + code[at + len(version):])
    other.chmod(0o755)
    said = check_same(run_mtdb, other, tmp_path / "out.txt", size="16m")
    assert said.count("goroutines are not told apart") == 1
    assert count(tmp_path / "out.txt", "main.deep") > 0


def test_ocaml(ocaml, run_mtdb, tmp_path):
    check_same(run_mtdb, ocaml("languages.ml"), tmp_path / "out.txt")
    assert count(tmp_path / "out.txt", r"Languages\.fib") == 1973


def test_ocaml_exceptions(ocaml, run_mtdb, tmp_path):
    """Calls are there once, and frames do not pile up."""
    program = ocaml("ocaml_raises.ml", "ocaml_raises_stub.c")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--size", "16m",
                    "-t", "Ocaml_raises.leap", "--", program)
    counts = dict(re.findall(r"^(\w+) (\d+)$", done.stdout, re.M))
    assert len(counts) == 5, done.stderr
    text = (tmp_path / "out.txt").read_text()
    assert {name: str(count(tmp_path / "out.txt", rf"Ocaml_raises\.{name}"))
            for name in counts} == counts
    assert not re.search(r"Ocaml_raises\.\w+ \(inferred", text)
    assert text.count("*** trigger 1 in Ocaml_raises.leap") == int(counts["leap"])
    [depth] = {len(line) for line in re.findall(r"  ( *)Ocaml_raises\.work ", text)}
    assert depth < 40


@pytest.mark.parametrize("stamps", ["sampled", "full"])
def test_ocaml_effects(ocaml, need, run_mtdb, tmp_path, stamps):
    """OCaml 5 has stacks of its own: C lies on its callers, and a fiber has a track.  What is called as
    many times as the program counts, is one slice, and only what an exception leaves is unwound."""
    version = subprocess.run([need("ocamlopt", "ocaml-nox"), "-version"], text=True, capture_output=True, check=True)
    if int(version.stdout.split(".")[0]) < 5:
        pytest.skip(f"ocamlopt {version.stdout.strip()} has no effects: OCaml 5 has")
    program = ocaml("ocaml_effects.ml", "ocaml_effects_stub.c")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--size", "64m",
                    f"--timestamps={stamps}", "--", program)
    counts = dict(re.findall(r"^(\w+) (\d+)$", done.stdout, re.M))
    assert len(counts) == 8, done.stderr
    text = (tmp_path / "out.txt").read_text()
    assert {name: str(count(tmp_path / "out.txt", rf"Ocaml_effects\.{name}")) for name in counts} == counts
    assert not re.search(r"Ocaml_effects\.\w+ \([^)]*inferred", text)
    left = set(re.findall(r"Ocaml_effects\.(\w+) \([^)]*unwound", text))
    assert {re.sub(r"\d+$", "", name) for name in left} <= {"inner", "back", "fun_"}  # compilers number the last
    fibers = re.findall(r'^Coroutine "coroutine \d+ \(Ocaml_effects\.(\w+)\)"', text, re.M)
    assert len(fibers) == text.count("\nCoroutine ") == int(counts["task"]) + 2
    assert fibers.count("asks") == 1  # five times, one after the other


def count_fib(n):
    return 1 if n < 2 else 1 + count_fib(n - 1) + count_fib(n - 2)


@pytest.mark.parametrize("level", ["-Copt-level=0", "-Copt-level=2"])
def test_rust(compile, run_mtdb, tmp_path, level):
    check_same(run_mtdb, compile("languages.rs", level), tmp_path / "out.txt")
    calls = sum(count_fib(n) for n in [5, *range(10, 18)])
    if level == "-Copt-level=2":  # every other one became a loop
        calls = (calls + 9) // 2
    assert abs(count(tmp_path / "out.txt", "languages::fib") - calls) <= 9


def test_return_behind_a_nop(compile, run_mtdb, tmp_path):
    """As goroutines end; without Go."""
    program = compile("calls_returned_to.S")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--", program)
    assert done.returncode == 7, done.stderr
    assert count(tmp_path / "out.txt", "last") == 1


@pytest.mark.parametrize("flags", [[], ["-buildmode=pie", "-ldflags=-linkmode=external -s -w"]],
                         ids=["static", "cgo"])
def test_stripped_go(go, run_mtdb, tmp_path, flags):
    """Its functions are found, and triggers at them, by names quoted as GDB wants them."""
    program = go("names-s" + "-cgo" * bool(flags), *(flags or ["-ldflags=-s -w"]),
                 source="go_names.go")
    line = conftest.line_of("go_names.go", "// the closure")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--size", "64m",
                    "-t", "'main.(*T).Method'", "-t", "go_names.go:'main.T.Value'",
                    "-t", f"go_names.go:{line}", "--", program, "7")
    counts = dict(re.findall(r"^(main\.\S+) (\d+)$", done.stdout, re.M))
    assert counts["main.(*T).Method"] == "7", done.stderr
    for name in ("main.(*T).Method", "main.T.Value", "main.main.func1"):
        assert count(tmp_path / "out.txt", re.escape(name)) == int(counts[name])
    text = (tmp_path / "out.txt").read_text()
    for number, name in ((1, "main.(*T).Method"), (2, "main.T.Value"), (3, "main.main.func1")):
        assert len(re.findall(rf"\*\*\* trigger {number}: .* in {re.escape(name)} .*go_names.go:",
                              text)) == 7


def test_stripped_go_frames(go, run_mtdb):
    """At each instruction, those before and behind which the frame pointer is the caller's too."""
    program = go("names-s", "-ldflags=-s -w", source="go_names.go")
    callers = {"main.(*T).Method": ["main.main"], "main.apply[...]": ["main.main"],
               "main.main.func1": ["main.apply[...]", "main.main"], "main.main": []}
    stops = list(callers)[:3]
    words = [word for name in stops for word in ("-ex", f"break '{name}'")]
    look = ["-ex", "bt", "-ex", "up 9", "-ex", "info registers rbp", "-ex", "stepi"]
    done = run_mtdb("-batch", *words, "-ex", "run", *look * 4, *["-ex", "continue", *look * 8] * 4,
                    "--args", program, "1")
    pointers, met = set(), set()
    for trace in re.findall(r"^#0 .*?^rbp +0x\w+", done.stdout, re.M | re.S):
        trace, _, pointer = trace.rpartition(" ")
        names = re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) \(", trace.partition("\nrbp")[0], re.M)
        if names[0] not in callers:  # the runtime came in between, to preempt
            continue
        assert names[1:1 + len(callers[names[0]])] == callers[names[0]], trace
        met.add(names[0])
        pointers.add(pointer)
    assert set(stops) <= met, done.stdout + done.stderr
    assert len(pointers) == 1, done.stdout  # main.main()'s


def test_preempted_go(go, run_mtdb):
    """Code is made to call asyncPreempt() where it was interrupted, with its flags in use."""
    done = run_mtdb("plan", "-v", go("go-static"))
    assert re.search(r"runtime\.asyncPreempt(\.abi0)?\b.*its callers' flags are in use", done.stdout)


def test_go_compares_before_it_clears(go, run_mtdb, tmp_path):
    """Its compiler has flags in use across a call of duffzero(), which is entered in its midst."""
    program = go("go-flags", source="calls_flags.go")
    check_same(run_mtdb, program, tmp_path / "out.txt", size="16m")
    assert count(tmp_path / "out.txt", "main.count") == 100
    left = run_mtdb("plan", "-v", program).stdout
    for name in ["duffzero", "duffcopy"]:
        assert re.search(rf"entry +runtime\.{name}: its callers' flags are in use", left)
