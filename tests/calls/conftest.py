# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs to plan, and the library that overwrites a process by its plan."""
import glob
import pathlib
import re
import subprocess

import pytest

from core_library import core_library

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEFINES = ["-D_GNU_SOURCE", "-DHASH_NONFATAL_OOM=1", f"-I{ROOT}/core"]


@pytest.fixture(scope="session")
def sample(compile):
    """sample("gcc", "-O0") -> a library of real C."""

    def build(compiler, level, *flags):
        first, *others = sorted(glob.glob(f"{ROOT}/core/trace/*.c")
                                + glob.glob(f"{ROOT}/core/output/*.c")
                                + glob.glob(f"{ROOT}/core/x86/*.c"))
        return compile(pathlib.Path(first), level, "-shared", "-fPIC", *DEFINES, *flags, *others,
                       compiler=compiler, output="sample.so")

    return build


@pytest.fixture(scope="session")
def applier(build, compile):
    """The library to preload."""
    if re.search(r"san-", str(build)):
        pytest.skip("a sanitizer's runtime cannot be preloaded into any program")
    return compile("plan_apply.c", "-O2", "-shared", "-fPIC", *DEFINES,
                   *core_library(build), output="plan_apply.so")


@pytest.fixture(scope="session")
def sqlite():
    """The folder of SQLite's sources."""
    folder = ROOT / "build" / "sqlite"
    done = subprocess.run([ROOT / "scripts" / "get-sqlite", folder], text=True, check=False,
                          capture_output=True, timeout=300)
    if done.returncode:
        pytest.skip(f"no sources of SQLite: {(done.stderr.splitlines() or [''])[-1]}")
    return folder
