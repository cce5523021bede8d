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


def test_the_stub_tells_what_there_is(gdb):
    """Functions, and the docstrings: those of the module are those of the stub."""
    tree = ast.parse(STUB.read_text())
    functions = {node.name: ast.get_docstring(node) for node in tree.body
                 if isinstance(node, ast.FunctionDef)}
    session = gdb(None, *[f"python print({name!r}, mtrace.{name}.__doc__)" for name in functions])
    for name, doc in functions.items():
        assert f"{name} {doc}" in " ".join(session.output.split()), name
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)} - {"Trigger"}
    session = gdb(None, "python print(sorted(one for one in dir(mtrace) if one[0] != '_'))")
    assert set(ast.literal_eval(session.output)) == set(functions) | classes
