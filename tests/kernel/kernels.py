# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernels that the tests boot, and the module built for each: the one of which this machine has
the headers, and a newer one, of a later release of Debian.

The newer one comes by an apt of its own, that knows nothing of this machine's: packages are
downloaded into the build folder and unpacked there.  Its tools for building modules want a newer C
library than ours, so that comes along, and they run on it."""
import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CURE = "scripts/install-deps kernel"
# Of these packages the newest is taken, and the C library is the second's.
NEWER_SUITE, NEWER_LIBC_SUITE = "trixie-backports", "trixie"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
TOOLS = ("scripts/basic/fixdep", "scripts/mod/modpost", "tools/objtool/objtool")
# What a tool of Debian's runs on a machine such as ours, where it is there for several.
REAL = {"modpost": "modpost.real-lsb-64", "objtool": "objtool.real-x86"}

# version; the image; the folder of its headers; what make has to be told beside
Kernel = collections.namedtuple("Kernel", "version image headers words")


class Lacking(Exception):
    """What this machine does not have."""


def call(*command, **options):
    """The command's output; a failure ends the run with its words."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"check-kernel: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def tool(name):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not path:
        raise Lacking(f"no {name} here (cure: {CURE})")
    return path


def installed_headers():
    found = [path for path in pathlib.Path("/lib/modules").glob("*/build") if path.exists()]
    if not found:
        raise Lacking(f"no kernel headers here (cure: {CURE})")
    # A cloud kernel is the same code with fewer drivers: smaller, so it starts sooner.
    return max(found, key=lambda path: ("cloud" in path.parent.name,
                                        [int(n) for n in re.findall(r"\d+", path.parent.name)]))


def image(version, work):
    """The kernel of these headers.  One that is not installed is unpacked beside our own files:
    installed it would be the one that this machine boots next."""
    there = pathlib.Path(f"/boot/vmlinuz-{version}")
    if os.access(there, os.R_OK):
        return there
    unpacked = work / f"image-{version}"
    kernel = unpacked / f"boot/vmlinuz-{version}"
    if not kernel.exists():
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir(parents=True)
        done = subprocess.run(["apt-get", "download", "-q", f"linux-image-{version}"], cwd=unpacked,
                              capture_output=True, text=True, check=False)
        packages = list(unpacked.glob("*.deb"))
        if done.returncode or not packages:
            raise Lacking(f"no package linux-image-{version}: {done.stderr.strip()}")
        call("dpkg-deb", "-x", packages[0], unpacked)
        packages[0].unlink()
    return kernel


def installed(work):
    """The newest kernel of which this machine has the headers."""
    headers = installed_headers()
    version = headers.parent.name
    return Kernel(version, image(version, work), headers, [])


class Apt:
    """An apt that looks at the newer suites alone, from where this machine has its own packages."""

    def __init__(self, folder):
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "newer.sources").write_text(
            f"Types: deb\nURIs: {self.mirror()}\nSuites: {NEWER_SUITE} {NEWER_LIBC_SUITE}\n"
            f"Components: main\nSigned-By: {KEYS}\n")
        settings = {"Dir::State::lists": folder / "lists", "Dir::State::status": folder / "status",
                    "Dir::Cache": folder / "cache",
                    "Dir::Etc::sourcelist": folder / "newer.sources",
                    "Dir::Etc::sourceparts": "/dev/null", "APT::Sandbox::User": "root",
                    "Acquire::Languages": "none"}
        self.options = [f"-o{name}={value}" for name, value in settings.items()]

    @staticmethod
    def mirror():
        done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(LABEL)",
                               "Created-By: Packages"], capture_output=True, text=True, check=False)
        found = re.search(r"^(\S+) Debian$", done.stdout, re.M)
        if not found:
            raise Lacking("apt has no mirror of Debian to take a newer kernel from")
        return found[1]

    def run(self, program, *words, **options):
        done = subprocess.run([program, "-q", *self.options, *map(str, words)], text=True,
                              capture_output=True, check=False, **options)
        if done.returncode:
            raise Lacking(f"no newer kernel: {program} {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def newest(self):
        """The version that the package of the newest kernel stands for."""
        text = self.run("apt-cache", "show", "--no-all-versions",
                        f"linux-image-cloud-amd64/{NEWER_SUITE}")
        return re.search(r"linux-image-(\d\S+-cloud-amd64)", text)[1]

    def unpack(self, folder, packages):
        self.run("apt-get", "download", *packages, cwd=folder)
        for package in folder.glob("*.deb"):
            call("dpkg-deb", "-x", package, folder)
            package.unlink()


def pauses(kernel):
    """It can pause a trace."""
    return [int(number) for number in kernel.version.split(".")[:2]] >= [6, 13]


def run_on_libc(libraries, path):
    """The tool there becomes a script that runs it on the C library that it was made for."""
    real = path.with_name(REAL.get(path.name, f"{path.name}.real"))
    if not real.exists():
        path.rename(real)
    path.unlink(missing_ok=True)
    loader = shlex.quote(str(libraries / "ld-linux-x86-64.so.2"))
    path.write_text(f"#!/bin/sh\nexec {loader} --library-path {shlex.quote(str(libraries))}:"
                    f'/usr/lib/x86_64-linux-gnu {shlex.quote(str(real))} "$@"\n')
    path.chmod(0o755)


def fetch_newer(folder):
    """Everything there is of it, below the folder."""
    folder.mkdir(parents=True)
    apt = Apt(folder / "apt")
    apt.run("apt-get", "update")
    version = apt.newest()
    release = version.removesuffix("-cloud-amd64")
    apt.unpack(folder, [f"{kind}-{version}/{NEWER_SUITE}" for kind in ("linux-binary",
                                                                      "linux-headers")] +
               [f"linux-headers-{release}-common/{NEWER_SUITE}",
                f"linux-kbuild-{release}/{NEWER_SUITE}", f"libc6/{NEWER_LIBC_SUITE}"])
    sources = folder / f"usr/src/linux-headers-{version}"
    makefile = sources / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src", f"{folder}/usr/src"))
    (sources / "vmlinux").unlink(missing_ok=True)  # it is there for type information alone
    tools = folder / f"usr/lib/linux-kbuild-{release}"
    for name in TOOLS:
        run_on_libc(folder / "usr/lib/x86_64-linux-gnu", tools / name)
    (folder / "version").write_text(version)


def newer(work):
    """A kernel of a later release."""
    folder = work / "newer"
    if not (folder / "version").exists():
        shutil.rmtree(folder, ignore_errors=True)
        fetch_newer(folder)
    version = (folder / "version").read_text()
    # It was built by a compiler that knows an option more.
    return Kernel(version, folder / f"usr/lib/modules/{version}/vmlinuz",
                  folder / f"usr/src/linux-headers-{version}",
                  ["CC=gcc", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT="])


def module(kernel, work):
    """The test's module, for that kernel."""
    folder = work / f"module-{kernel.version}"
    folder.mkdir(exist_ok=True)
    for source in (HERE / "module").iterdir():
        shutil.copy2(source, folder)
    call("make", "-s", "-C", kernel.headers, f"M={folder}", *kernel.words, "modules")
    call("strip", "--strip-debug", folder / "mtrace_test_pt.ko")
    return folder / "mtrace_test_pt.ko"
