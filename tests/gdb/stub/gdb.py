# SPDX-License-Identifier: GPL-3.0-or-later
"""A stub of GDB's Python module, for a plain Python under the sanitizers: it does what the plugin asks
for over a process of its own, and fails at whatever call it is told to (FAIL_AT)."""
import shlex
import signal
import subprocess
import sys

import tracee

(COMMAND_DATA, COMMAND_RUNNING, COMMAND_STACK, COMMAND_STATUS, COMMAND_BREAKPOINTS, COMMAND_OBSCURE,
 COMMAND_USER) = range(7)
PARAM_ENUM, PARAM_STRING_NOESCAPE, PARAM_FILENAME, PARAM_BOOLEAN, PARAM_ZUINTEGER_UNLIMITED, \
    PARAM_UINTEGER, PARAM_ZINTEGER, PARAM_ZUINTEGER, PARAM_OPTIONAL_FILENAME, \
    PARAM_STRING = range(10)
COMPLETE_NONE, COMPLETE_FILENAME = range(2)
BP_BREAKPOINT = 1


class error(RuntimeError):
    pass


class GdbError(Exception):
    pass


class Failing:
    """Which call of the plugin's fails, and how."""
    calls = 0
    at = 0
    how = error


def may_fail(function):
    def call(*args, **keywords):
        Failing.calls += 1
        if Failing.calls == Failing.at:
            raise Failing.how("the stub was told to fail")
        return function(*args, **keywords)
    return call


class Registry:
    def __init__(self):
        self.hooks = []

    @may_fail
    def connect(self, hook):
        self.hooks.append(hook)

    def emit(self, **attributes):
        event = type("Event", (), attributes)()
        for hook in self.hooks:
            try:
                hook(event)
            except (error, GdbError, KeyboardInterrupt, MemoryError, RuntimeError):
                pass


class events:
    pass


for _name in ("cont", "stop", "new_thread", "new_objfile", "exited", "inferior_call",
              "inferior_deleted", "before_prompt", "gdb_exiting", "clear_objfiles",
              "breakpoint_created", "breakpoint_modified", "breakpoint_deleted"):
    setattr(events, _name, Registry())

commands, mi_commands, settings, functions, points = {}, {}, {}, {}, []
convenience = {}


class Command:
    @may_fail
    def __init__(self, name, *_, **__):
        commands[name] = self


class MICommand:
    @may_fail
    def __init__(self, name):
        mi_commands[name] = self


@may_fail
def notify_mi(name, fields):
    print(f"={name}", fields)


class Parameter:
    @may_fail
    def __init__(self, name, *_):
        self.value = None
        settings[name] = self


class Function:
    @may_fail
    def __init__(self, name):
        functions[name] = self


class Breakpoint:
    @may_fail
    def __init__(self, spec, internal=False, condition=None):
        self.spec, self.internal, self.condition = spec, internal, condition
        self.address = int(spec[1:], 16) if spec[0] == "*" else symbols().get(spec)
        self.pending = self.address is None
        self.number = -len(points) - 1 if internal else len(points) + 1
        points.append(self)

    def is_valid(self):
        return self in points

    @may_fail
    def delete(self):
        points.remove(self)

    def says_stop(self):
        if hasattr(self, "stop"):
            return self.stop()
        number = self.condition.rpartition("_mtrace_fire(")[2].rstrip(")")
        return functions["_mtrace_fire"].invoke(int(number)) if number else True


class Thread:
    num, name = 1, "stub"
    ptid = property(lambda self: (inferior.pid, inferior.pid, 0))
    inferior = property(lambda self: inferior)

    runs = False

    def is_running(self):
        return self.runs

    @may_fail
    def switch(self):
        pass


class Inferior:
    num, pid, process, program = 1, 0, None, None
    connection = type("Connection", (), {"type": "native"})

    @may_fail
    def threads(self):
        return (thread,) if self.pid else ()


inferior, thread = Inferior(), Thread()


def symbols():
    lines = subprocess.run(["nm", inferior.program], text=True, capture_output=True,
                           check=True).stdout.splitlines()
    return {words[2]: int(words[0], 16) for words in map(str.split, lines) if len(words) == 3}


@may_fail
def selected_inferior():
    return inferior


@may_fail
def inferiors():
    return (inferior,)


@may_fail
def selected_thread():
    return thread if inferior.pid else None


@may_fail
def newest_frame():
    raise error("No stack.")


@may_fail
def breakpoints():
    return tuple(point for point in points if not point.internal)


@may_fail
def current_recording():
    return None


@may_fail
def write(text, stream=0):
    print(text, end="", file=(sys.stdout, sys.stderr)[stream])


@may_fail
def parameter(name):
    return {"language": "c"}.get(name, False)


@may_fail
def convenience_variable(name):
    return convenience.get(name)


@may_fail
def set_convenience_variable(name, value):
    convenience[name] = value


@may_fail
def string_to_argv(text):
    return shlex.split(text)


@may_fail
def parse_and_eval(text):
    if text.isdigit():
        return int(text)
    raise error(f'No symbol "{text}" in current context.')


def launch(argument):
    inferior.process = tracee.Tracee([inferior.program, argument])
    inferior.pid = inferior.process.pid
    events.new_thread.emit(inferior_thread=thread)
    go_on()


def end(status):
    events.exited.emit(inferior=inferior, **({"exit_code": status} if status >= 0 else {}))
    inferior.pid = 0


def go_on():
    thread.runs = True
    try:
        events.cont.emit(inferior_thread=None)
    finally:
        thread.runs = False
    while True:
        there = [point for point in points if point.address]
        at = inferior.process.resume({point.address for point in there})
        if isinstance(at, tuple):
            end(at[0])
            return
        if at is None:
            break
        if any(point.address == at and (point.internal, point.says_stop())[1] for point in there):
            break
    for action in (lambda: sys.modules["mtrace"]._hook("hook-stop"), lambda: events.stop.emit()):
        try:
            action()
        except (error, GdbError, KeyboardInterrupt, MemoryError):
            pass


def kill():
    inferior.process.kill()
    end(-signal.SIGKILL)


def invoke(line):
    """A command of the plugin's; of two that fit the longer name."""
    name = max((name for name in commands if f"{line} ".startswith(f"{name} ")), key=len)
    commands[name].invoke(line[len(name):].strip(), False)


@may_fail
def execute(line, from_tty=False, to_string=False):
    del from_tty
    words = line.split()
    if line.startswith("with breakpoint pending on -- break "):
        spec, _, condition = line.partition(" break ")[2].partition(" if ")
        Breakpoint(spec, condition=condition)
    elif words[0] == "set" and line[4:].partition(" ")[0] == "mtrace":
        parameter_set(" ".join(words[1:3]), " ".join(words[3:]))
    elif line.startswith("show mtrace "):
        one = settings[line[5:]]
        write(one.get_show_string(str(one.value)) + "\n")
    elif words[0] == "mtrace":
        invoke(line)
    elif words[0] == "run":
        launch(words[1])
    elif words[0] == "continue":
        go_on()
    elif words[0] == "kill":
        kill()
    if line.endswith("\nif )\nend"):
        raise error("A syntax error in expression, near `)'.")
    return "" if to_string else None


def parameter_set(name, value):
    one = settings[name]
    one.value = value if not isinstance(one.value, int) else int(value == "on")
    if hasattr(one, "get_set_string"):
        one.get_set_string()
