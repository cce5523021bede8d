# SPDX-License-Identifier: GPL-3.0-or-later
"""The plugin in a plain Python over a stub of `gdb` (stub/gdb.py), where each call of GDB's fails once:
under ASan and UBSan in the sanitized stage, since GDB itself bears no ASan."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).parent / "stub"


@pytest.mark.sanitize
def test_a_session_in_which_everything_fails(build, need, compile, tmp_path):
    module = build / "mtrace.abi3.so"
    if not module.exists():
        pytest.skip("the plugin is not built: the headers of GDB's Python are missing "
                    "(package libpython3-dev)")
    need("nm", "binutils")
    environment = {**os.environ, "PYTHONPATH": str(STUB), "XDG_CACHE_HOME": str(tmp_path)}
    if b"__asan_init" in module.read_bytes():
        library = subprocess.run([need("gcc"), "-print-file-name=libasan.so"], text=True,
                                 capture_output=True, check=True).stdout.strip()
        # Leaks are valgrind's to find: Python keeps much to its end.
        environment |= {"LD_PRELOAD": library, "UBSAN_OPTIONS": "print_stacktrace=1",
                        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
    done = subprocess.run(
        [sys.executable, STUB / "session.py", module, compile("deep.c", "-O0", "-no-pie")],
        cwd=tmp_path, env=environment, text=True, capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    for line in ("functions ['a', 'b', 'c']", "functions ['main']", "done"):
        assert line in done.stdout.splitlines(), done.stdout[-3000:] + done.stderr[-3000:]
    assert "runtime error" not in done.stderr and "Sanitizer" not in done.stderr
