# SPDX-License-Identifier: GPL-3.0-or-later
"""make install puts things where others find them, and make uninstall takes all of it away."""
import os
import subprocess

import pytest

from conftest import BUILD, ROOT

USER = """
#include <base/error.h>
#include <stdio.h>
int main(void)
{
	struct mt_error *error = mt_error_new(MT_ERROR_USAGE, "linked");
	puts(mt_error_message(error));
	mt_error_destroy(error);
	return 0;
}
"""


def make(target, root):
    environment = {**os.environ, "MAKEFLAGS": ""}
    return subprocess.run(
        ["make", "-s", target, f"DESTDIR={root}", "PREFIX=/usr"], cwd=ROOT, env=environment,
        check=True, capture_output=True, text=True)


@pytest.fixture(name="root")
def root_fixture(tmp_path, need):
    need("make")
    if BUILD != ROOT / "build":
        pytest.skip("another build than the one that is installed")
    make("install", tmp_path)
    return tmp_path


def files_below(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_what_is_installed(root):
    expected = {
        "usr/bin/mtdb", "usr/lib/mtrace/mtrace-view", "usr/lib/libmtrace-core.a", "usr/include/mtrace/base/error.h",
        "usr/lib/pkgconfig/mtrace-core.pc", "usr/share/bash-completion/completions/mtdb",
        "usr/share/zsh/site-functions/_mtdb", "usr/share/fish/vendor_completions.d/mtdb.fish",
        "usr/share/doc/mtrace/README.md", "usr/share/doc/mtrace/LICENSE",
    }
    assert expected <= files_below(root)
    done = subprocess.run([root / "usr/bin/mtdb", "--version"], check=True, capture_output=True)
    assert done.stdout.startswith(b"mtdb ")


def test_the_man_page(root, need):
    need("pandoc")
    page = (root / "usr/share/man/man1/mtdb.1").read_text()
    assert '.TH "MTDB" "1"' in page and "EXIT STATUS" in page


def test_a_program_links_with_the_library(root, need):
    need("pkg-config")
    (root / "user.c").write_text(USER)
    environment = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(root),
                   "PKG_CONFIG_PATH": str(root / "usr/lib/pkgconfig")}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "mtrace-core"], env=environment,
                           check=True, capture_output=True, text=True).stdout.split()
    subprocess.run([need("gcc"), "-o", root / "user", root / "user.c", *flags], check=True)
    assert subprocess.run([root / "user"], check=True, capture_output=True).stdout == b"linked\n"


def test_nothing_is_left(root):
    make("uninstall", root)
    assert files_below(root) == set()
