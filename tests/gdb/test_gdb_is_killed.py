# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB is ended by SIGTERM while the program runs: it ends.

GDB is killed by SIGKILL in a program that it attached to: the program goes on as if nothing had
been.  Whoever GDB's plugin stepped, for a remote call, must not be left to be stepped, which ends in
SIGTRAP.  (At a hit of a trigger at an entry the plugin steps, and GDB must not be killed just then:
no test can choose the moment.)"""
import signal
import subprocess

import pytest
from terminal import end_child

from gdb_terminal import PROMPT, say

pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")

@pytest.mark.parametrize("level, triggers, files", [
    ("-O0", ["mtrace trigger -every 500 visit return"], 4),
    ("-O2", ["mtrace trigger -every 500 -slower 1ns visit", "mtrace trigger -rate 50/s leaf return"], 4),
    ("-O0", [], 0),
])
def test_the_program_goes_on(goes_on, level, triggers, files):
    goes_on(level, ["mtrace start -size 64k", *triggers, "continue" if triggers else "shell sleep 60"], files)


@pytest.mark.parametrize("command, running", [("continue", "Continuing"), ("step", "stepping inside range")])
def test_sigterm_ends_gdb(terminal, compile, tmp_path, command, running):
    source = tmp_path / "endless.c"
    source.write_text("static volatile long n;\n"
                      "static void count(void) { n++; }\n"
                      "int main(void)\n{\n\tcount();\n\tfor (;;) n++;\n}\n")
    child = terminal(compile(source, "-O0"))
    child.expect(PROMPT)
    for line in ("mtrace start", "break main", "run", "delete", "next", "set range-stepping off",
                 "set debug infrun 1"):
        say(child, line)
    child.sendline(command)
    child.expect(running)
    child.kill(signal.SIGTERM)
    child.expect([pexpect.EOF, "internal-error"])  # GDB 13 has one now and then, plain, too
    end_child(child)


# A signal that comes while GDB calls what hears of an event, and that no code of Python's sees before ours does.
MEANWHILE = """
import ctypes
heard = ctypes.PyDLL("{library}").on_event
heard.argtypes = [ctypes.py_object]
gdb.events.{event}.connect(heard)
"""


@pytest.mark.parametrize("event", [None, "stop", "cont"])
def test_sigterm_ends_gdb_in_a_script(plugin, need, compile, tmp_path, event):
    """Also while the plugin has nothing to do.

    GDB 13 dies now and then, plain, too, of an interrupt in Python's end: but not behind that, of what we left."""
    (tmp_path / "pause.c").write_text("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
    (tmp_path / "heard.c").write_text("#include <signal.h>\n#include <unistd.h>\n"
                                      "int on_event(void *event) { return event && kill(getpid(), SIGTERM); }\n")
    library = compile(tmp_path / "heard.c", "-shared", "-fPIC", output="heard.so")
    (tmp_path / "first.py").write_text(MEANWHILE.format(library=library, event=event) if event else "")
    command = [need("gdb"), "-nx", "-q", "-batch", "-ex", f"source {tmp_path}/first.py", "-ex", f"source {plugin}",
               "-ex", "break main", "-ex", "run", "-ex", "delete", "-ex", "echo goes on\\n", "-ex", "continue",
               compile(tmp_path / "pause.c")]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as gdb:
        if not event:
            for line in gdb.stdout:
                if line == "goes on\n":
                    break
            gdb.terminate()
        said = gdb.communicate(timeout=60)[0]
    assert "__run_exit_handlers" not in said, said
