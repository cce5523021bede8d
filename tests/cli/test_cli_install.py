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


@pytest.fixture(name="root", scope="module")
def root_fixture(tmp_path_factory, need):
    need("make")
    if BUILD != ROOT / "build":
        pytest.skip("another build than the one that is installed")
    root = tmp_path_factory.mktemp("root")
    make("install", root)
    return root


def files_below(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_what_is_installed(root):
    expected = {
        "usr/bin/mtdb", "usr/lib/mtrace/mtrace-view",
        "usr/lib/libmtrace-core.a", "usr/include/mtrace/base/error.h",
        "usr/include/mtrace.h", "usr/include/mtrace/rust/mtrace.rs",
        "usr/include/mtrace/go/go.mod", "usr/include/mtrace/go/mtrace.go",
        "usr/include/mtrace/go/mtrace_linux_amd64.go", "usr/include/mtrace/go/mtrace_linux_amd64.s",
        "usr/include/mtrace/go/mtrace_other.go", "usr/include/mtrace/ocaml/mtrace.ml",
        "usr/include/mtrace/ocaml/mtrace_stubs.c",
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


def test_a_program_links_with_the_library(root, need, tmp_path):
    need("pkg-config")
    (tmp_path / "user.c").write_text(USER)
    environment = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(root),
                   "PKG_CONFIG_PATH": str(root / "usr/lib/pkgconfig")}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "mtrace-core"], env=environment,
                           check=True, capture_output=True, text=True).stdout.split()
    subprocess.run([need("gcc"), "-o", tmp_path / "user", tmp_path / "user.c", *flags], check=True)
    assert subprocess.run([tmp_path / "user"], check=True, capture_output=True).stdout == b"linked\n"


def test_an_installed_mtdb_records(root, compile, tmp_path):
    done = subprocess.run([root / "usr/bin/mtdb", "run", "--engine", "calls", "-o", tmp_path / "x.txt",
                           "--", compile("deep.c", "-O1"), "fault"], check=False, text=True,
                          capture_output=True)
    assert done.returncode == 139, done.stderr
    assert "*** SIGSEGV" in (tmp_path / "x.txt").read_text()


def test_make_without_the_headers_of_gdbs_python(tmp_path, need):
    """mtdb is built all the same, and one line says what is missing, each time."""
    need("make")
    gdb = tmp_path / "bin/gdb"
    gdb.parent.mkdir()
    gdb.write_text("#!/bin/sh\necho /no/such/python\n")
    gdb.chmod(0o755)
    environment = {**os.environ, "MAKEFLAGS": "", "PATH": f"{gdb.parent}:{os.environ['PATH']}"}
    for _ in range(2):
        done = subprocess.run(["make", "-n", f"BUILD={tmp_path}/build"], cwd=ROOT, check=True,
                              env=environment, capture_output=True, text=True)
        (line,) = done.stderr.splitlines()
        assert "plugin is left out: there is no /no/such/python/Python.h" in line
        assert "scripts/install-deps" in line
        assert f"-o {tmp_path}/build/mtdb " in done.stdout
        assert "mtrace.abi3.so" not in done.stdout


def test_nothing_is_left(root):
    """The last test of the shared installation."""
    make("uninstall", root)
    assert files_below(root) == set()


def test_debian_packages(root, need, tmp_path):
    """What is installed is in one of them, and each GDB loads the plugin."""
    need("dpkg-shlibdeps", "dpkg-dev")
    need("pandoc")
    done = subprocess.run(["make", "-s", "deb"], cwd=ROOT, env={**os.environ, "MAKEFLAGS": "", "COMPRESSION": "none"},
                          check=True, capture_output=True, text=True)
    packages = done.stdout.split()
    assert [os.path.basename(package).split("_")[0] for package in packages] == [
        "mtrace", "gdb-mtrace", "mtrace-dev"] and not done.stderr
    for package in packages:
        subprocess.run(["dpkg-deb", "--extract", ROOT / package, tmp_path], check=True)
    found = {name.removesuffix(".gz") if "/man/" in name else name for name in files_below(tmp_path)}
    assert files_below(root) <= found
    link = tmp_path / "etc/gdb/gdbinit.d/mtrace.py"
    assert os.readlink(link) == "/usr/share/mtrace/mtrace.py"
    depends = subprocess.run(["dpkg-deb", "--field", ROOT / packages[1], "Depends"], check=True,
                             capture_output=True, text=True).stdout
    assert "gdb" in depends and "libdw1" in depends
