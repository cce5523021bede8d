# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB under valgrind: what is wrong in it is not ours."""
import os
import re
import subprocess

import pytest


@pytest.mark.soak
def test_no_error_and_no_leak_of_ours(plugin, need, compile, tmp_path):
    program, log = compile("deep.c", "-O0"), tmp_path / "log"
    commands = [f"source {plugin}", "set confirm off", "mtrace start", "mtrace trigger b",
                "run fault", "mtrace history", "mtrace snapshot x.fxt", "mtrace info",
                "python list(mtrace.snapshot())", "mtrace nosuch", "mtrace delete 1", "run fault",
                "mtrace stop", "kill"]
    words = [need("valgrind"), "--leak-check=full", "--show-leak-kinds=definite",
             "--num-callers=30", f"--log-file={log}", need("gdb"), "-nx", "-batch"]
    for command in commands:
        words += ["-ex", command]
    done = subprocess.run([*words, program], cwd=tmp_path, text=True, capture_output=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, check=False,
                          timeout=900, stdin=subprocess.DEVNULL)
    assert "Not recording any more." in done.stdout, done.stdout + done.stderr
    blocks = re.split(r"\n==\d+== \n", log.read_text())
    ours = [block for block in blocks if re.search(r"\bmt_\w+ \(|mtrace\.abi3", block)
            and "set address range perms" not in block]
    assert not ours, "\n\n".join(ours[:3])
