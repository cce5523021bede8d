# SPDX-License-Identifier: GPL-3.0-or-later
"""mtrace.h's files for other languages: what a program says by them is on its timeline, the same as C's
(test_mtrace_h.py), and it runs the same when nobody records."""
import re
import shutil
import subprocess

import pytest

import fxt
from conftest import FIXTURES, ROOT, go_environment
from own_words import ROUNDS, check_numbers, check_spans, expected, marks_of

INCLUDE = ROOT / "include"


def marks(trace):
    """Go's runtime sends its threads SIGURG when it likes."""
    return {name: count for name, count in marks_of(trace).items() if name != "SIGURG"}


def run(*words, **options):
    done = subprocess.run(words, text=True, capture_output=True, check=False, timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rust(folder, compiler, *flags, change=lambda text: text):
    """FOLDER/words, by a module beside it."""
    (folder / "mtrace.rs").write_text(change((INCLUDE / "rust" / "mtrace.rs").read_text()))
    shutil.copy(FIXTURES / "mtrace_words.rs", folder / "words.rs")
    run(compiler, "-D", "warnings", *flags, folder / "words.rs", "-o", folder / "words")
    return folder / "words"


def go(folder, compiler, *flags):
    """FOLDER/words, whose module has a package as it is installed."""
    shutil.copytree(INCLUDE / "go", folder / "mtrace")
    (folder / "words.go").write_text((FIXTURES / "mtrace_words.go").read_text())
    (folder / "go.mod").write_text("module words\n\ngo 1.16\n\nrequire mtrace v0.0.0\n\n"
                                   "replace mtrace => ./mtrace\n")
    run(compiler, "build", *flags, "-o", folder / "words", ".", cwd=folder,
        env={**go_environment(), "GO111MODULE": "on", "CGO_ENABLED": "0"})
    return folder / "words"


def ocaml(folder, compiler, *flags):
    for name in ("mtrace.ml", "mtrace_stubs.c"):
        shutil.copy(INCLUDE / "ocaml" / name, folder)
    shutil.copy(FIXTURES / "mtrace_words.ml", folder / "words.ml")
    run(compiler, *flags, "-I", "+unix", "-I", "+threads", "unix.cmxa", "threads.cmxa", "-ccopt", f"-I{INCLUDE}",
        "-ccopt", "-Wall -Wextra -Werror", "mtrace_stubs.c", "mtrace.ml", "words.ml", "-o", "words", cwd=folder)
    return folder / "words"


def check(mtdb, program, *options):
    """All that is said is recorded; and all that can be counted, when nobody records."""
    assert run(program, str(ROUNDS)) == f"{4 * ROUNDS}\n"
    output = program.with_suffix(".fxt")
    run(mtdb, "run", "-o", output, *options, "--", program, str(ROUNDS))
    trace = fxt.read(output)
    assert marks(trace) == expected()
    check_spans(trace)
    check_numbers(trace.counters)
    hits = [(one.name, one.args["location"]) for thread in trace.threads.values() for one in thread.instants
            if "location" in one.args]
    assert hits == [("snapshot: all is done", "mtrace_snapshot")]


def version_of(rustc):
    return tuple(int(part) for part in re.search(r" (\d+)\.(\d+)", run(rustc, "--version")).groups())


@pytest.fixture(name="rustc", scope="module", params=["rustc", "/usr/bin/rustc"])
def rustc_fixture(request, need):
    """The first one, and the distribution's, which is older."""
    path = need(request.param, "rustc")
    if request.param != "rustc" and shutil.which("rustc") == path:
        pytest.skip("there is one rustc alone")
    return path


@pytest.mark.parametrize("flags", [("-O", "--edition", "2018"), ("-C", "opt-level=0", "-g", "--edition", "2021"),
                                   ("-O", "-C", "lto", "--edition", "2024")], ids=" ".join)
def test_rust(mtdb, rustc, tmp_path, flags):
    if flags[-1] == "2024" and version_of(rustc) < (1, 85):
        pytest.skip("this rustc does not know the edition 2024")
    check(mtdb, rust(tmp_path, rustc, *flags), "-e", "calls")


def test_rust_elsewhere(rustc, tmp_path):
    """What the functions are where mtdb records nothing."""
    program = rust(tmp_path, rustc, "-O", "--edition", "2021",
                   change=lambda text: text.replace('target_arch = "x86_64"', 'target_arch = "none"'))
    assert b"mtrace_mark" not in program.read_bytes()
    assert run(program, str(ROUNDS)) == f"{4 * ROUNDS}\n"


def test_rust_step(mtdb, need, tmp_path):
    """Texts that have a length are read where they are said, too."""
    check(mtdb, rust(tmp_path, need("rustc"), "-O", "--edition", "2021"), "-e", "step")


@pytest.mark.parametrize("flags", [(), ("-buildmode=pie",), ("-ldflags=-s -w",)], ids=" ".join)
def test_go(mtdb, need, tmp_path, flags):
    """Also without symbols: its runtime has the names."""
    check(mtdb, go(tmp_path, need("go", "golang-go"), *flags), "-e", "calls")


@pytest.mark.parametrize("flags", [(), ("-g", "-ccopt", "-static")], ids=" ".join)
def test_ocaml(mtdb, need, tmp_path, flags):
    check(mtdb, ocaml(tmp_path, need("ocamlopt", "ocaml-nox"), *flags), "-e", "calls")


@pytest.mark.parametrize("language", ["rust", "go"])
def test_in_a_debugger(mtdb, need, tmp_path, language):
    program = rust(tmp_path, need("rustc"), "-g") if language == "rust" else go(tmp_path, need("go", "golang-go"))
    said = run(mtdb, "-batch", "-ex", "mtrace start", "-ex", f"run {ROUNDS}", "-ex",
               f"mtrace snapshot {tmp_path}/all.fxt", program, cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert said.count("[mtrace: snapshot: all is done, in thread ") == 1
    trace = fxt.read(tmp_path / "all.fxt")
    assert marks(trace) == expected()
    check_spans(trace)
    check_numbers(trace.counters)
