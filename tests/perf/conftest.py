# SPDX-License-Identifier: GPL-3.0-or-later
import pathlib
import re
import subprocess

import pytest

from core_library import core_library

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", name="dump")
def dump_fixture(build, compile):  # pylint: disable=redefined-builtin
    """dump(path) -> the lines that tests/fixtures/dump_recording.c prints of a recording."""
    name = re.search(r"san-([a-z,]+)$", build.name)
    sanitize = [f"-fsanitize={name.group(1)}"] if name else []
    program = compile("dump_recording.c", "-D_GNU_SOURCE", f"-I{ROOT / 'core'}", *sanitize,
                      *core_library(build))

    def run(path, *words, **options):
        done = subprocess.run([program, path, *words], text=True, stdout=subprocess.PIPE,
                              check=False, timeout=60, **options)
        assert done.returncode in (0, 1)
        return done.stdout.splitlines()

    return run
