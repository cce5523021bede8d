# SPDX-License-Identifier: GPL-3.0-or-later
"""A function of which there is no call: why, where the engine could not record it."""
import json

import pytest

WHY = 'the recording contains no call of "{}": the engine calls cannot record leaf of {} ('


@pytest.fixture(scope="module")
def program(compile):
    return compile("calls_too_short.c", "-O2")


@pytest.fixture(scope="module")
def short(program, run_mtdb, tmp_path_factory):
    recording = tmp_path_factory.mktemp("short") / "short.perf"
    done = run_mtdb("run", "--engine", "calls", "-o", "/dev/null", "-r", recording, "--", program)
    assert done.returncode == 0 and done.stdout == "5\n", done.stderr
    return recording


@pytest.mark.parametrize("command", ["grep", "stats", "history", "explain"])
@pytest.mark.parametrize("name", ["leaf", "lea[f]"])
def test_it_could_not_be_recorded(run_mtdb, short, program, command, name):
    done = run_mtdb(command, short, name)
    assert done.returncode == 1 and WHY.format(name, program) in done.stderr


@pytest.mark.parametrize("command", ["grep", "stats", "history", "explain"])
@pytest.mark.parametrize("name", ["nosuch", "puts"])
def test_it_was_not_called(run_mtdb, short, command, name):
    done = run_mtdb(command, short, name)
    assert done.returncode == 1 and done.stdout.count("\n") <= 1
    assert done.stderr.strip().endswith(f'the recording contains no call of "{name}"')


def test_what_was_recorded_is_found(run_mtdb, short):
    assert run_mtdb("grep", short, "next").stdout.count(" next ") == 5
    assert json.loads(run_mtdb("grep", "--json", short, "leaf").stdout) == []


def test_a_program_that_was_replaced_tells_nothing(compile, run_mtdb, tmp_path):
    program, recording = tmp_path / "program", tmp_path / "r.perf"
    program.write_bytes(compile("calls_too_short.c", "-O2").read_bytes())
    program.chmod(0o755)
    run_mtdb("run", "--engine", "calls", "-o", "/dev/null", "-r", recording, "--", program)
    program.write_bytes(b"another")
    done = run_mtdb("grep", recording, "leaf")
    assert done.returncode == 1 and done.stderr.strip().endswith('no call of "leaf"')
