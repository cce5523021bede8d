# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in a program's text when it is patched is not always what is in its file."""
import os
import shutil
import subprocess
import time

# The kernel's clock for files may go in larger steps than what is written into them.
SETTLED = 4


def test_text_relocations(compile, run_mtdb, tmp_path):
    """The dynamic loader wrote into the text before it is patched."""
    library = compile("calls_text_relocated.c", "-DLIBRARY", "-O1", "-shared", "-fno-pic",
                      "-mcmodel=large", "-Wl,-z,notext", output="librelocated.so")
    assert "TEXTREL" in subprocess.run(["readelf", "-d", library], capture_output=True, text=True,
                                       check=True).stdout
    program = compile("calls_text_relocated.c", "-O1", library, f"-Wl,-rpath,{library.parent}")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "x.txt", program)
    assert (done.stdout, done.returncode) == ("42 21\n", 0), done.stderr
    assert "main" in (tmp_path / "x.txt").read_text()


def test_a_file_that_is_written_anew(compile, run_mtdb, tmp_path):
    """In place, so that it is the same file, between two runs in one session."""
    one, other = (shutil.copy(compile("calls_rewritten.c", "-O1", "-fno-optimize-sibling-calls",
                                      *flags), tmp_path / name)
                  for name, flags in (("program", []), ("other", ["-DOTHER"])))
    while time.time() < os.stat(one).st_ctime + SETTLED:
        time.sleep(0.1)
    script = f"{one} && cat {other} >{one} && exec {one}"
    done = run_mtdb("run", "-e", "calls", "--follow-forks", "-o", tmp_path / "x.txt", "--",
                    "/bin/sh", "-c", script)
    said = [f"said {number}\n" for number in range(3)]
    others = [f"other {number * 3 + 1}\n" for number in range(3)]
    both = [line for pair in zip(others, said) for line in pair]
    assert (done.stdout, done.returncode) == ("".join(said + both), 0), done.stderr
