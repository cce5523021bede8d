# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts with commands of breakpoints, and commands for several threads, in GDB and in mtdb."""
import os
import subprocess

import pytest

from tests.cli.same import same

SCRIPTS = {
    "commands": """break add
commands
silent
print a
bt 1
c
end
break square if v == 2
commands 2
info locals
end
info breakpoints
run
c
thread
""",
    "threads": """break square if v == 2
set environment FOO bar
set environment BAZ=qux
unset environment FOO
info signals SIGINT
run
thread
thread apply all bt 1
thread apply 1 print 1
thread apply 1-2 print v
info threads
thread 1
commands
end
thread 7
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(need, mtdb, compile, tmp_path, name):
    path = tmp_path / "script"
    path.write_text(SCRIPTS[name])
    same(need("gdb"), mtdb, ["-x", path, compile("debug_steps.c", "-O0")])


def test_environment(mtdb, compile, tmp_path):
    """What is set, the program gets."""
    lines = ["set environment FOO a b", "set args -c 'echo $FOO $BAR'", "unset environment BAR", "run"]
    words = [word for line in lines for word in ("-ex", line)]
    done = subprocess.run([mtdb, "-batch", *words, "/bin/sh"], capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "BAR": "gone"})
    assert "\na b\n" in "\n" + done.stdout


def test_program_of_path(mtdb, compile, tmp_path):
    """A program is found as a shell finds it, here first; a command of mtdb's comes before it."""
    program = compile("debug_steps.c", "-O0")
    (tmp_path / "steps").symlink_to(program)
    (tmp_path / "doctor").symlink_to(program)
    (tmp_path / "noise").write_text("cannot be run")
    environment = {**os.environ, "PATH": f"/nowhere:{tmp_path}"}

    def run(*words, **options):
        done = subprocess.run([mtdb, *words], capture_output=True, text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL, env=environment, **options)
        return done.stdout + done.stderr

    assert "starts at address" in run("-batch", "-ex", "info line add", "steps", cwd="/")
    assert "starts at address" in run("-batch", "-ex", "file steps", "-ex", "info line add", cwd="/")
    assert "noise: No such file or directory." in run("-batch", "noise", cwd="/")
    assert "Engines" in run("doctor", cwd="/")


def test_arguments_with_anything_in_them(mtdb):
    words = ["a\nb", "c  d", "", "$HOME 'q' \"r\" \\\\", "*"]
    done = subprocess.run([mtdb, "-batch", "-ex", "run", "--args", "/usr/bin/printf", "[%s]", *words], timeout=60,
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert "".join(f"[{word}]" for word in words) in done.stdout
