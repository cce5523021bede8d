# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals, threads, shared libraries: what the timeline makes of them."""
import pytest

from conftest import FIXTURES

STATIC = ["-O1", "-fPIE", "-static-pie"]


@pytest.fixture(name="events")
def events_program(compile):
    return compile("events.c", *STATIC)


def check_depths(run):
    """After all that happened, after() is called by main()."""
    main, = run.main.find("main")
    after, = run.main.find("after")
    assert after.parent is main
    assert run.status == 4


def test_a_handled_signal(traced, events):
    run = traced(events, "handled")
    check_depths(run)
    signal, = run.instants("SIGUSR1")
    handler, = run.main.find("inner")
    assert signal.time <= handler.begin
    work, = run.main.find("work")
    assert "work" in handler.path() and handler.end < work.end
    assert [piece.name for piece in work.children].count("leaf") == 2


def test_a_signal_in_a_handler(traced, events):
    run = traced(events, "nested")
    check_depths(run)
    assert [one.name for one in run.main.instants][:2] == ["SIGUSR1", "SIGUSR2"]
    outer, = run.main.find("outer")
    inner, = run.main.find("inner")
    assert outer in [piece for piece in run.main.slices() if piece.name in inner.path()]
    assert outer.begin < inner.begin and inner.end < outer.end
    assert [piece.name for piece in outer.children].count("leaf") == 2


def test_threads_have_names(traced, events):
    run = traced(events, "threads")
    check_depths(run)
    assert [thread.name for thread in run.others] == ["first worker", "second worker"]
    assert len(run.trace.processes) == 1
    for thread in run.others:
        body, = thread.find("body")
        assert [piece.name for piece in body.children][-3:] == ["hit"] * 3


def check_library(run, library):
    assert run.status == 6
    part = run.main.find("part")[0]
    inner = run.main.find("part_inner")[0]
    assert inner.parent is part and part.parent.name == "main"
    assert part.args["module"].endswith(library)
    assert part.args["file"] == f"{FIXTURES}/part.c"
    lines = (FIXTURES / "part.c").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "the call" in line)
    assert inner.args["call"] == f"{FIXTURES}/part.c:{number}"


@pytest.fixture(name="library")
def library_file(compile):
    return compile("part.c", "-O1", "-shared", "-fPIC", output="libpart.so")


def test_a_linked_library(traced, compile, library):
    program = compile("loads.c", "-O1", "-Wl,--no-as-needed", library,
                      f"-Wl,-rpath,{library.parent}")
    check_library(traced(program), "libpart.so")


def test_a_library_opened_later(traced, compile, library):
    run = traced(compile("loads.c", "-O1"), library, options=["--pending", "--trigger=part_inner"])
    check_library(run, "libpart.so")
    trigger, = run.instants("trigger")
    assert trigger.args["function"] == "part_inner"
    assert len(run.instants("snapshot")) == 1
