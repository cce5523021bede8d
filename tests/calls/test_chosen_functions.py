# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers at functions of which one implementation is chosen when the program begins (ifuncs):
calls of it hit them, and not the choosing."""
import pytest

from tests.calls.hits import hits_in


@pytest.fixture(name="record")
def make_record(run_mtdb, tmp_path):
    def record(program, trigger, engine="calls"):
        done = run_mtdb("run", "--engine", engine, "--size", "64k", "-t", trigger, "-o", tmp_path / "x.json", program)
        assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
        return done, [hit["args"]["function"] for hit in hits_in(tmp_path / "x.json")]

    return record


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O2", "-no-pie"], ["-O1", "-static"]],
                         ids="".join)
@pytest.mark.parametrize("name, count, hits", [("sum_of", 7, 100), ("sum_below", 17, 50)])
def test_implementations(record, compile, flags, name, count, hits):
    """sum_below() is chosen by a function that the resolver calls."""
    program = compile("calls_ifunc.c", *flags)
    done, functions = record(program, f"{name} if count == {count}")
    assert functions == ["sum_fast"] * hits, done.stderr
    assert "evaluated by mtdb" not in done.stderr


def test_the_librarys_own(record, compile):
    """Its implementations are visible to others, so it reads their addresses from a table."""
    library = compile("calls_ifunc.c", "-O1", "-DLIBRARY", "-shared", "-fPIC", output="sums.so")
    program = compile("calls_ifunc.c", "-O1", "-DUSER", library, f"-Wl,-rpath,{library.parent}")
    _, functions = record(program, "sum_of if count == 7")
    assert functions == ["sum_fast"] * 100


def test_another_engine(record, compile):
    _, functions = record(compile("calls_ifunc.c", "-O1", "-static", "-DROUNDS=100"), "sum_of if count == 7", "step")
    assert functions == ["sum_fast"] * 10


def test_of_libc(record, compile):
    """Nobody but the program calls it with a word of that."""
    done, functions = record(compile("calls_ifunc.c", "-O1"), "strlen return if $rax == 7")
    assert len(functions) >= 100 and len(set(functions)) == 1, done.stderr


def test_of_two_files(record, compile):
    """The dynamic loader has a function of that name, too, and of its calls none are recorded."""
    done, functions = record(compile("calls_ifunc.c", "-O1"), "strlen if $rdi == 1")
    assert not functions
    for line in done.stderr.splitlines():
        if "evaluated by mtdb" in line:
            assert "no calls are recorded in ld-" in line


def test_the_resolver_itself(record, compile):
    _, functions = record(compile("calls_ifunc.c", "-O1"), "choose_by_number")
    assert len(functions) == 1


def test_what_the_code_does_not_tell(record, compile):
    done, functions = record(compile("calls_ifunc.c", "-O1"), "sum_by_number")
    assert "does not tell which" in done.stderr
    assert len(functions) == 1
