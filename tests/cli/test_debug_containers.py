# SPDX-License-Identifier: GPL-3.0-or-later
"""std::string, Vec, slices and their like are shown as GDB's pretty printers show them, and what only has
their type is survived."""
import re
import subprocess

import pytest

from conftest import line_of

NAMES = """empty small big esc wide v0 v vbig vs vv vb vc m0 m1 m mv mm se s0 um um0 us li l0 fl de d0 up up0 sp sp0
sp2 wp op op0 ops va vi tu pa ar sv at ab p *pp *ps vp il it small._M_string_length""".split()
COMMANDS = [*(f"print {name}" for name in NAMES), "print/x v", "print/d m", "print/x op",
            "set print pretty on", "print p", "print m", "print v", "print mv", "print vp", "set print pretty off",
            "set print elements 4", "print vbig", "print big", "print m", "print vs", "print li"]
BAD = ["bad_vector", "bad_map", "bad_string", "ring_map", "ring_list", "ring_table", "bad_deque", "bad_shared"]


def output(debugger, program, lines, timeout=100):
    words = [word for line in lines for word in ("-ex", line)]
    done = subprocess.run([*debugger, "-batch", *words, program], capture_output=True, text=True, timeout=timeout,
                          check=False, stdin=subprocess.DEVNULL)
    return done.stdout


@pytest.fixture(scope="module", name="program")
def containers(compile):
    return compile("debug_containers.cpp", "-O0", "-std=c++17", compiler="g++")


def test_same_as_gdb(need, mtdb, program):
    gdb = need("gdb")
    start = [f"break {line_of('debug_containers.cpp', 'BREAK')}", "run", "echo @@@\\n"]
    if "std::vector of length" not in output([gdb, "-nx"], program, [*start, "print v"]):
        pytest.skip("gdb has no pretty-printers of libstdc++")
    theirs, ours = (output(debugger, program, [*start, *COMMANDS]).partition("@@@\n")[2]
                    for debugger in ([gdb, "-nx"], [mtdb]))
    assert ours == theirs


def test_arguments(mtdb, program):
    text = output([mtdb], program, ["break look", "run", "bt 1", "info args"])
    assert 'look (s="small", v=std::vector of length 3, capacity 3 = {...}, p=..., ' in text
    assert 'm = std::map with 3 elements = {[1] = "one", [2] = "two", [3] = "three"}' in text
    raw = output([mtdb], program, ["set print raw-values on", "break look", "run", "info args"])
    assert "_M_impl" in raw


@pytest.mark.parametrize("elements", [200, 0])
def test_garbage(mtdb, program, elements):
    start = [f"break {line_of('debug_containers.cpp', 'BREAK')}", "run", f"set print elements {elements}"]
    text = output([mtdb], program, [*start, *(f"print *{name}" for name in BAD), "print v"])
    assert re.search(r"^\$\d+ = std::vector of length 3, capacity 3 = \{1, 2, 3\}$", text, re.M)


def test_rust(need, mtdb, tmp_path):
    (tmp_path / "shapes.rs").write_text("""
#[inline(never)]
fn look(s: String, v: Vec<i32>, t: &str) -> usize { s.len() + v.len() + t.len() }
fn main() {
    let words = vec![String::from("a"), String::from("b")];
    let inner = Some(String::from("in"));
    println!("{} {:?} {:?}", look(String::from("hello"), vec![1, 2, 3], "str"), words, inner);
}
""")
    program = tmp_path / "shapes"
    subprocess.run([need("rustc"), "-g", "-o", program, tmp_path / "shapes.rs"], check=True)
    text = output([mtdb], program, ["break shapes::look", "run", "info args", "up", "print words", "print inner"])
    assert 's="hello", v=Vec(size=3) = {...}, t="str"' in text
    assert 's = "hello"\nv = Vec(size=3) = {1, 2, 3}\nt = "str"\n' in text
    assert '$1 = Vec(size=2) = {"a", "b"}' in text
    assert '::Some("in")' in text


def test_go(go, mtdb, tmp_path):
    (tmp_path / "shapes.go").write_text("""package main

//go:noinline
func look(s string, v []int, w []string) int { return len(s) + len(v) + len(w) }

func main() { println(look("hello", []int{1, 2, 3}, []string{"a"})) }
""")
    program = go("shapes", "-gcflags=all=-N -l", source=tmp_path / "shapes.go")
    text = output([mtdb], program, ["break main.look", "run", "info args"])
    assert 's = "hello"\nv = []int = {1, 2, 3}\nw = []string = {"a"}\n' in text


MAPS = """package main

type point struct{ x, y int }

//go:noinline
func look(n int, none, empty map[int]int, m map[int]int, words map[string]point, grown *map[int]int) int {
	return n + len(m) + len(words)
}

func main() {
	m, shrunk := map[int]int{}, map[int]int{}
	for i := 0; i < 1000; i++ {
		shrunk[i] = i
	}
	for i := 10; i < 1000; i++ {
		delete(shrunk, i)
	}
	words := map[string]point{"one": {1, 2}, "two": {3, 4}}
	for n := 0; n < 60; n++ {
		look(n, nil, map[int]int{}, m, words, &shrunk)
		m[n] = -n
	}
}
"""


def pairs(line):
    return sorted((int(key), int(value)) for key, value in re.findall(r"\[(\d+)\] = (-?\d+)", line))


def test_go_maps(go, mtdb, tmp_path):
    """Of each size, also while they grow, and with garbage in them."""
    (tmp_path / "maps.go").write_text(MAPS)
    program = go("maps", "-gcflags=all=-N -l", source=tmp_path / "maps.go")
    begin = ["set print elements 0", "break main.look", "run"]
    text = output([mtdb], program, [*begin, "bt 1", "print none", "print empty", "print words", "print *grown",
                                    *["print m", "continue"] * 59, "print m"])
    if "hash<" not in output([mtdb], program, [*begin, "whatis *m"]):
        pytest.skip("this Go has maps of another shape")
    values = re.findall(r"^\$\d+ = (.*)$", text, re.M)
    assert "none=map[int]int = nil, empty=map[int]int = {}, m=map[int]int = {}, words=map[string]main.point = {...}" in text
    assert values[:2] == ["map[int]int = nil", "map[int]int = {}"]
    assert '["one"] = {x = 1, y = 2}' in values[2] and values[2].count("x = ") == 2
    assert pairs(values[3]) == [(n, n) for n in range(10)]
    assert [pairs(line) for line in values[4:]] == [[(i, -i) for i in range(n)] for n in range(60)]
    text = output([mtdb], program, [*begin, "ignore 1 39", "continue", "set print elements 4", "print m",
                                    "set print raw-values on", "print m", "set print raw-values off",
                                    "set var m->B = 39", "set var m->oldbuckets = m->buckets", "print m",
                                    "set print elements 0", "print m", "set var m->B = 200", "print m",
                                    "set var m->B = 5", "set var m->buckets = 1", "print m",
                                    "set var m->count = 0", "print m"])
    values = re.findall(r"^\$\d+ = (.*)$", text, re.M)
    assert len(pairs(values[0])) == 2 and values[0].endswith("...}")
    assert values[1].startswith("(map[int]int) 0x") and len(values) == 7
    assert values[4].startswith("0x") and values[5].startswith("0x") and values[6] == "map[int]int = {}"
