# SPDX-License-Identifier: GPL-3.0-or-later
"""Separate debug files, and files that are not what was asked for."""
import os
import pathlib
import shutil

import pytest

BUILD_ID = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def stripped(compile, tool, tmp_path):
    """A program and its debug file beside it, without anything that joins the two."""
    program = tmp_path / "bin" / "program"
    program.parent.mkdir()
    shutil.copy(compile("inlines.cpp", "-O2", f"-Wl,--build-id=0x{BUILD_ID}"), program)
    debug = program.with_suffix(".debug")
    tool("objcopy", "--only-keep-debug", program, debug)
    tool("strip", "--strip-all", program)
    return program, debug


def check(dump, program, debug, *options):
    """The debug file is found, and names, lines and inlined functions come from it."""
    ours = dump(program, *options)
    assert ours.info()[0] == str(debug)
    [main] = [symbol for symbol in ours.symbols() if symbol.raw == "main"]
    [frames] = ours.at([main.start])
    assert frames[0].name == "main"
    assert frames[0].file.endswith("inlines.cpp") and frames[0].line
    assert any(span[2] for span in ours.spans(range(main.start, main.end, 4)))


def test_without_a_debug_file(dump, stripped, tmp_path):
    program, debug = stripped
    debug.unlink()
    ours = dump(program, "-d", tmp_path)
    assert ours.info()[0] == ""
    assert not [symbol for symbol in ours.symbols() if symbol.raw == "main"]


def test_by_build_id(dump, stripped, tmp_path):
    program, debug = stripped
    place = tmp_path / "debug" / ".build-id" / BUILD_ID[:2] / f"{BUILD_ID[2:]}.debug"
    place.parent.mkdir(parents=True)
    debug.rename(place)
    check(dump, program, place, "-d", tmp_path / "debug")


def test_a_debug_file_of_another_build_is_left_out(dump, stripped, tmp_path, compile, tool):
    program, debug = stripped
    place = tmp_path / "debug" / ".build-id" / BUILD_ID[:2] / f"{BUILD_ID[2:]}.debug"
    place.parent.mkdir(parents=True)
    debug.unlink()
    other = compile("inlines.cpp", "-O2", "-Wl,--build-id=0x" + "ff" * 20)
    tool("objcopy", "--only-keep-debug", other, place)
    assert dump(program, "-d", tmp_path / "debug").info()[0] == ""


@pytest.mark.parametrize("where", [".", ".debug", "/"])
def test_by_debuglink(dump, stripped, tmp_path, tool, where):
    program, debug = stripped
    tool("objcopy", f"--add-gnu-debuglink={debug}", program)
    if where == "/":
        place = pathlib.Path(f"{tmp_path}/debug{program.parent}") / debug.name
    else:
        place = program.parent / where / debug.name
    place.parent.mkdir(parents=True, exist_ok=True)
    debug.rename(place)
    check(dump, program, place, "-d", tmp_path / "debug")


def test_by_debuglink_through_a_symbolic_link(dump, stripped, tmp_path, tool):
    program, debug = stripped
    tool("objcopy", f"--add-gnu-debuglink={debug}", program)
    link = tmp_path / "link"
    link.symlink_to(program)
    check(dump, link, debug)


def test_a_debuglink_with_another_checksum_is_left_out(dump, stripped, tool):
    program, debug = stripped
    tool("objcopy", f"--add-gnu-debuglink={debug}", program)
    with open(debug, "ab") as file:
        file.write(b"more")
    assert dump(program).info()[0] == ""


def test_a_file_is_not_its_own_debug_file(stripped, tool, run_mtdb):
    """That has the name its debug file was given when that was made."""
    program, debug = stripped
    debug.rename(program.parent / "away")
    other = program.parent / "elsewhere" / program.name
    other.parent.mkdir()
    (program.parent / "away").rename(other)
    tool("objcopy", f"--add-gnu-debuglink={other}", program)
    done = run_mtdb("run", "-e", "calls", "-o", program.parent / "out.txt", program)
    assert "debug file" not in done.stderr


def test_minidebuginfo(dump, stripped, tool, tmp_path, need):
    need("xz", "xz-utils")
    program, debug = stripped
    mini = tmp_path / "mini"
    tool("objcopy", "-S", "--remove-section=.comment", "--keep-symbol=main", debug, mini)
    tool("xz", mini)
    tool("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", program)
    debug.unlink()
    assert dump(program, "-d", tmp_path).find("main")


def test_debuginfod(dump, stripped, tmp_path, monkeypatch):
    """By libdwfl, from a server that is a directory: no network is needed."""
    program, debug = stripped
    server = tmp_path / "server" / "buildid" / BUILD_ID
    server.mkdir(parents=True)
    debug.rename(server / "debuginfo")
    monkeypatch.setenv("DEBUGINFOD_URLS", f"file://{tmp_path}/server")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    assert dump(program, "-d", tmp_path).info()[0] == ""  # not asked for
    ours = dump(program, "-d", tmp_path, "-i", "yes")
    if not ours.info()[0]:
        pytest.skip("libdwfl cannot ask debuginfod here (package libdebuginfod1)")
    check(dump, program, ours.info()[0], "-d", tmp_path, "-i", "yes")


def test_another_build_id_is_refused(dump, stripped):
    program, _ = stripped
    with pytest.raises(RuntimeError, match="has changed"):
        dump(program, "-b", "11" * 20).run([])
    dump(program, "-b", BUILD_ID).run([])


def test_the_right_build_is_found_under_the_debug_directory(dump, stripped, tmp_path):
    program, _ = stripped
    place = tmp_path / "debug" / ".build-id" / BUILD_ID[:2] / BUILD_ID[2:]
    place.parent.mkdir(parents=True)
    program.rename(place)
    shutil.copy("/bin/true", program)
    options = "-d", tmp_path / "debug", "-b", BUILD_ID
    assert dump(program, *options).info()[1] == BUILD_ID
    program.unlink()
    assert dump(program, *options).info()[1] == BUILD_ID


def test_sysroot_comes_first(dump, stripped, tmp_path):
    program, _ = stripped
    inside = pathlib.Path(f"{tmp_path}/root/bin/true")
    inside.parent.mkdir(parents=True)
    shutil.copy(program, inside)
    assert dump("/bin/true", "-s", tmp_path / "root").info()[1] == BUILD_ID


@pytest.mark.parametrize("contents, message", [
    (b"", "ELF"),
    (b"#!/bin/sh\n", "ELF"),
    (b"\x7fELF", "ELF"),
    (b"\x7fELF\2\1\1" + bytes(57), "x86-64"),
])
def test_what_is_no_object_file(dump, tmp_path, contents, message):
    path = tmp_path / "file"
    path.write_bytes(contents)
    with pytest.raises(RuntimeError, match=message) as error:
        dump(path).run([])
    assert str(path) in str(error.value)


def test_what_cannot_be_opened(dump, tmp_path):
    with pytest.raises(RuntimeError, match="No such file"):
        dump(tmp_path / "absent").run([])
    with pytest.raises(RuntimeError, match="regular file"):
        dump(tmp_path).run([])
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(RuntimeError, match="regular file"):
        dump(tmp_path / "fifo").run([])


def test_an_object_of_the_compiler_is_refused(dump, compile):
    with pytest.raises(RuntimeError, match="neither a program nor a shared library"):
        dump(compile("crash.c", "-c")).run([])


def test_truncated_files_are_told(dump, stripped):
    program, _ = stripped
    whole = program.read_bytes()
    program.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(RuntimeError, match="truncated"):
        dump(program).run([])
