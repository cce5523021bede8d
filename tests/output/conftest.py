# SPDX-License-Identifier: GPL-3.0-or-later
"""make_trace, built against the core library under test."""
import pathlib

import pytest

from core_library import core_library
from output.browser import Browser
from output.script import Writer

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.fixture(scope="session", name="make_trace")
def compile_make_trace(build, compile):
    """The path of make_trace."""
    sanitizers = build.name.removeprefix("san-") if build.name.startswith("san-") else None
    flags = [f"-fsanitize={sanitizers}"] if sanitizers else []
    return compile(HERE / "make_trace.c", "-D_GNU_SOURCE", "-DHASH_NONFATAL_OOM=1",
                   f"-I{ROOT / 'core'}", *flags, *core_library(build))


@pytest.fixture(scope="session")
def writer(make_trace):
    """Runs make_trace with a script."""
    return Writer(make_trace)


@pytest.fixture(name="browser")
def browser_fixture(tmp_path):
    browser = Browser(tmp_path / "profile")
    yield browser
    browser.close()
