# SPDX-License-Identifier: GPL-3.0-or-later
"""The module `mtrace` in scripts of GDB's Python."""
import ast
import re

from conftest import ROOT

STUB = ROOT / "gdb-plugin" / "mtrace.pyi"


def test_a_script_looks_into_history(gdb, compile):
    script = """
mtrace.start(size='64k')
gdb.execute('run fault')
snapshot = mtrace.snapshot()
print('number', snapshot.number, snapshot.path)
for slice in list(snapshot)[-4:]:
    print('slice', slice.depth, slice.function, slice.file.split('/')[-1], slice.line, slice.end_ns)
closed = [slice for slice in snapshot if slice.end_ns is not None]
print('sound', all(slice.begin_ns <= slice.end_ns for slice in closed), len(closed) > 3)
print('types', type(snapshot) is mtrace.Snapshot, all(type(one) is mtrace.Slice for one in snapshot))
"""
    path = gdb.directory / "script.py"
    path.write_text(script)
    session = gdb(compile("deep.c", "-O0"), f"source {path}")
    assert "number 2 trace-2.fxt" in session.lines
    told = [line.split()[1:] for line in session.lines if line.startswith("slice ")]
    assert [line[1:3] for line in told] == [[name, "deep.c"] for name in ("main", "a", "b", "c")]
    assert all(line[4] == "None" for line in told)
    assert "sound True True" in session.lines and "types True True" in session.lines


def test_a_snapshot_outlives_its_process(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "run fault",
                  "python kept = mtrace.snapshot('x.txt')", "kill", "run abort", "kill",
                  "python print([one.function for one in kept][-4:])", "python del kept")
    assert "['main', 'a', 'b', 'c']" in session.lines


def test_triggers(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace trigger a if how == 'f'", "mtrace trigger b",
                  "mtrace start", "run fault",
                  "python print([(one.number, one.location, one.condition, one.hits) "
                  "for one in mtrace.triggers()])")
    assert ast.literal_eval(session.lines[-1]) == [(1, "a", "how == 'f'", 1), (2, "b", None, 1)]


def test_failures_are_gdb_errors(gdb):
    for call in ("mtrace.snapshot()", "mtrace.stop()", "mtrace.start(size='x')",
                 "mtrace.start(engine='nosuch')"):
        session = gdb(None, f"python\ntry:\n    {call}\nexcept gdb.GdbError as error:\n"
                            "    print('error:', error)")
        assert re.match("error: .+", session.output), session.all


def test_failures_are_of_the_kin_that_the_stub_names(gdb):
    """A script catches them with GDB's own; a command prints them as a line, without a traceback."""
    tree = ast.parse(STUB.read_text())
    bases = [ast.unparse(base) for node in tree.body
             if isinstance(node, ast.ClassDef) and node.name == "Error" for base in node.bases]
    assert bases == ["gdb.GdbError", "gdb.error"]
    for name in ("mtrace.Error", "gdb.error"):
        session = gdb(None, f"python\ntry:\n    mtrace.stop()\nexcept {name} as error:\n"
                            "    print(type(error) is mtrace.Error, mtrace.Error.__bases__ == "
                            f"({', '.join(bases)}), error)")
        told = re.match("True True (.+)", session.output)
        assert told, session.all
    session = gdb(None, "mtrace stop")
    assert told[1] in session.all and "Python" not in session.all


def described(node, name, own):
    """What the stub says of a function, with its defaults, a class, or a property: {name: …}."""
    said = {}
    if isinstance(node, ast.FunctionDef):
        args = node.args.args[1 if own else 0:]
        defaults = [""] * (len(args) - len(node.args.defaults)) + [
            f"={ast.unparse(one)}" for one in node.args.defaults]
        words = [arg.arg + default for arg, default in zip(args, defaults)]
        if node.name == "__init__":
            said[f"signature {name.removesuffix('.__init__')}"] = words
        elif not node.decorator_list and not node.name.startswith("__"):
            said[f"signature {name}"] = words
    if not isinstance(node, ast.AnnAssign) and not node.name.startswith("__"):
        said[f"doc {name}"] = " ".join((ast.get_docstring(node) or "").split())
    if isinstance(node, ast.ClassDef):
        members = [one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AnnAssign))]
        names = [one.name if isinstance(one, ast.FunctionDef) else one.target.id for one in members]
        said[f"members {name}"] = sorted(one for one in names if not one.startswith("_"))
        for one, called in zip(members, names):
            said.update(described(one, f"{name}.{called}", own=True))
    return said


LOOK = """
import inspect
def of_tuple(name):
    return set(dir(tuple)) if name == "mtrace.Slice" else set(dir(Exception) + dir(gdb.error))
for what in {wanted!r}:
    kind, name = what.split()
    one = eval(name)
    if kind == "doc":
        print(what, [" ".join(one.__doc__.split())])
    elif kind == "signature":
        print(what, [str(each) for each in inspect.signature(one).parameters.values()])
    else:
        names = set(dir(one)) - (of_tuple(name) if isinstance(one, type) else set())
        print(what, sorted(each for each in names if not each.startswith("_")))
"""


def test_the_stub_tells_what_there_is(gdb):
    """All there is: its docstrings, parameters with their defaults, and members."""
    tree = ast.parse(STUB.read_text())
    said = {"doc mtrace": ast.get_docstring(tree)}
    names = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            said.update(described(node, f"mtrace.{node.name}", own=False))
            names.append(node.name)
    said["members mtrace"] = sorted(names)
    script = gdb.directory / "look.py"
    script.write_text(LOOK.format(wanted=list(said)))
    session = gdb(None, f"source {script}")
    there = {" ".join(line.split()[:2]): ast.literal_eval(line.split(" ", 2)[2])
             for line in session.lines}
    assert there == {what: [" ".join(words.split())] if isinstance(words, str) else words
                     for what, words in said.items()}


MEMORY = """
import resource
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
snapshot = mtrace.snapshot("x.txt")
before = peak()
slices = iter(snapshot)
first = next(slices)
count = 1 + sum(1 for _ in slices)
print("first", first.depth, "count", count, "bytes", (peak() - before) // count)
"""


def test_slices_are_made_when_they_are_asked_for(gdb, compile):
    """A list of all of them would take 200 bytes and more for each."""
    script = gdb.directory / "memory.py"
    script.write_text(MEMORY)
    session = gdb(compile("debugged_long.c", "-O1"), "mtrace start -size 8M", "break done", "run",
                  f"source {script}")
    told = re.search(r"^first 0 count (\d+) bytes (\d+)$", session.output, re.M)
    assert int(told[1]) > 300000 and int(told[2]) < 100, told[0]
