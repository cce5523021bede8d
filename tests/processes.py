# SPDX-License-Identifier: GPL-3.0-or-later
"""What proc(5) tells about a process.  Its name may hold any bytes, parentheses and line ends among them, and hostile
programs may run beside a test that looks at all processes."""
import contextlib
import pathlib


def name_and_fields(pid):
    """The name, as bytes, and the fields behind it: the state is the first."""
    head, _, rest = pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")
    return head.partition(b"(")[2], rest.decode("ascii").split()


def state_of(pid):
    """R, S, D, Z, T, t or X."""
    return name_and_fields(pid)[1][0]


def ticks_of(pid):
    """How long it ran, in the program and in the kernel, in ticks of sysconf(_SC_CLK_TCK)."""
    fields = name_and_fields(pid)[1]
    return int(fields[11]), int(fields[12])


def all_processes():
    """(pid, name, fields) of each, although they come and go meanwhile."""
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield int(directory.name), *name_and_fields(directory.name)
