# SPDX-License-Identifier: GPL-3.0-or-later
"""As much of a debugger as the stub of `gdb` needs: a process by ptrace(2), with int3s at addresses."""
import ctypes
import os
import signal

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.restype = ctypes.c_long
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

TRACEME, CONT, KILL, SINGLESTEP, GETREGS, SETREGS = 0, 7, 8, 9, 12, 13
RIP = 16  # its index in struct user_regs_struct
NO_RANDOMIZATION = 0x0040000


def ptrace(request, pid, address=0, data=0):
    if LIBC.ptrace(request, pid, address, data) == -1:
        raise OSError(ctypes.get_errno(), "ptrace")


class Tracee:
    def __init__(self, words):
        self.places = {}  # address: the byte there
        self.signal = 0   # that it stopped for
        self.pid = os.fork()
        if not self.pid:
            try:
                LIBC.personality(NO_RANDOMIZATION)
                ptrace(TRACEME, 0)
                null = os.open("/dev/null", os.O_WRONLY)
                os.dup2(null, 1)
                os.execve(words[0], words, {"PATH": "/usr/bin:/bin"})
            finally:
                os._exit(127)
        os.waitpid(self.pid, 0)

    def memory(self, address, data=None):
        with open(f"/proc/{self.pid}/mem", "r+b", 0) as file:
            file.seek(address)
            return file.read(1) if data is None else file.write(data)

    def rip(self, value=None):
        registers = (ctypes.c_ulonglong * 27)()
        ptrace(GETREGS, self.pid, 0, ctypes.addressof(registers))
        if value is not None:
            registers[RIP] = value
            ptrace(SETREGS, self.pid, 0, ctypes.addressof(registers))
        return registers[RIP]

    def insert(self, addresses):
        for address in addresses:
            self.places[address] = self.memory(address)
            self.memory(address, b"\xcc")

    def remove(self):
        for address, byte in self.places.items():
            self.memory(address, byte)
        self.places = {}

    def wait(self):
        """None: it stopped at SELF.SIGNAL; else its exit status."""
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSTOPPED(status):
            self.signal = os.WSTOPSIG(status)
            return None
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)

    def resume(self, addresses):
        """To the next breakpoint, or what else it stops for.  The address; None: of none; or its
        exit status, in a tuple."""
        ptrace(SINGLESTEP, self.pid)
        ended = self.wait()
        if ended is None and self.signal == signal.SIGTRAP:
            self.insert(addresses)
            ptrace(CONT, self.pid)
            ended = self.wait()
        if ended is not None:
            self.places = {}
            return (ended,)
        at = self.rip() - 1
        hit = self.signal == signal.SIGTRAP and at in self.places
        self.remove()
        if hit:
            self.rip(at)
        return at if hit else None

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
