# SPDX-License-Identifier: GPL-3.0-or-later
"""What ends a test that hangs is not led astray by the name of a process, its own or a stranger's."""
import os
import subprocess
import sys

import pytest

from conftest import wait_until
from tests import watchdog
from tests.processes import name_and_fields

NAMES = [b"a) Z 1 1 (", b"s\x07\xc2\x9b7m\xe2\x80\xae\x9b", b"\n\\)\n"]
RENAMED = """
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]))  # PR_SET_NAME
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("name", NAMES, ids=["parentheses", "bytes", "lines"])
def test_names(name):
    with subprocess.Popen([sys.executable, "-c", RENAMED, name.hex()], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            found, fields = name_and_fields(process.pid)
            assert found == name and int(fields[1]) == os.getpid()
            assert process.pid in watchdog.descendants(os.getpid())
            dog = watchdog.Watchdog(0)
            wait_until(lambda: process.poll() is not None)
            assert not dog.call_off()
        finally:
            process.kill()
