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
                  "mtrace start", "run fault", "python print(mtrace.triggers())")
    first, second = ast.literal_eval(session.lines[-1])
    assert first == {"number": 1, "location": "a", "condition": "how == 'f'", "hits": 1}
    assert second == {"number": 2, "location": "b", "condition": None, "hits": 1}


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


def documented(tree):
    """What the stub says of the module, its functions, its classes and their properties."""
    docs = {"mtrace": ast.get_docstring(tree)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            docs[f"mtrace.{node.name}"] = ast.get_docstring(node)
        elif isinstance(node, ast.ClassDef) and node.name != "Trigger":
            docs[f"mtrace.{node.name}"] = ast.get_docstring(node)
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and ast.get_docstring(one):
                    docs[f"mtrace.{node.name}.{one.name}"] = ast.get_docstring(one)
    return docs


def test_the_stub_tells_what_there_is(gdb):
    """The docstrings of all there is are those of the stub, and so are the parameters."""
    tree = ast.parse(STUB.read_text())
    docs = documented(tree)
    session = gdb(None, *[f"python print({name!r}, {name}.__doc__)" for name in docs])
    said = " ".join(session.output.split())
    for name, doc in docs.items():
        assert f"{name} {' '.join(doc.split())}" in said, name
    session = gdb(None, "python import inspect", *[
        f"python print({node.name!r}, list(inspect.signature(mtrace.{node.name}).parameters))"
        for node in tree.body if isinstance(node, ast.FunctionDef)])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert f"{node.name} {[one.arg for one in node.args.args]}" in session.lines
    session = gdb(None, "python print(sorted(one for one in dir(mtrace) if one[0] != '_'))")
    assert {f"mtrace.{name}" for name in ast.literal_eval(session.output)} == {
        name for name in docs if name.count(".") == 1}


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
