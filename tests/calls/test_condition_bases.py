# SPDX-License-Identifier: GPL-3.0-or-later
"""Members of virtual bases, as GDB finds them: by the vtable of the object at hand."""
import random

import pytest

import as_gdb

SOURCE = """
struct Top { int kept = 1; double weight = .5; long narrow : 5; int list[3] = {1, 2, 3}; Top *next = nullptr;
	virtual ~Top() {} };
struct Other { long other = 4; char text[8] = "other"; };
struct Left : virtual Top { int left = 2; };
struct Right : virtual Other, virtual Top { short right = 3; };
struct Both : Left, Right { int both = 5; };
struct Deep : virtual Both { int deep = 6; };
struct Deeper : Other, Deep { int kept = 7; Both *part = nullptr; };
static volatile long sink;

__attribute__((noinline)) void visit(Left *left, Right &right, Deep *deep, int count, Deeper *deeper)
{
	// All of it is read here, for all that the compiler knows: no store is left out.
	asm volatile("" : : "r"(left), "r"(&right), "r"(deep), "r"(deeper) : "memory");
	sink += (left ? left->kept : 0) + right.other + (deep ? deep->left : 0) + count + (deeper ? 1 : 0);
}

int main()
{
	Left alone;
	Both both;
	Deep deep;
	Deeper deeper;

	deeper.part = &both;
	both.next = &deep;
	for (int i = 0; i < 12; i++) {
		Left *const lefts[] = {&alone, &both, &deep, &deeper, nullptr};
		Right *const rights[] = {&both, &deep, &deeper};
		Deep *const deeps[] = {&deep, &deeper, nullptr};

		alone.kept = i; both.kept = 2 * i; deep.Top::kept = 3 * i; deeper.Top::kept = 4 * i;
		deep.weight = i / 4.; deeper.weight = -i; alone.narrow = i; both.narrow = -i; deep.narrow = i - 5;
		deeper.narrow = 5 - i; both.other = i % 3; deep.other = i % 5; both.list[1] = i; deeper.list[1] = i * i;
		deep.left = 20 - i; deeper.right = i;
		visit(lefts[i % 5], *rights[i % 3], deeps[(i + 1) % 3], i, i % 4 ? &deeper : nullptr);
	}
	return sink == 1;
}
"""

PARTS = """left->kept left->weight left->narrow left->left left->list[1] left->Top::kept right.kept right.other
    right.weight right.right right.list[count%3] deep->kept deep->weight deep->left deep->right deep->deep
    deep->both deep->narrow deep->next->kept deeper->kept deeper->Top::kept (*left).weight right.text[2] count 3 0 7
    (&left->list[0])[1] deeper->part->kept deeper->part->next->weight ((Top*)left)->kept ((Top*)&right)->list[1]
    ((Both*)deep)->both ((Right*)deep)->right ((Top*)deep)->kept ((Other*)(Right*)deep)->other
    ((Deep*)deeper)->deep ((Deeper*)(Deep*)deeper)->kept ((Top*)(Both*)deep)->list[2] left->next""".split()
WHOLE = [part for part in PARTS if not part.endswith("weight") and part != "left->next"]


def condition(rng):
    relation = rng.choice("< > <= >= == !=".split())
    kind = rng.random()
    if kind < .4:
        return f"{rng.choice(PARTS[:-1])} {relation} {rng.choice(PARTS[:-1])}"
    if kind < .5:
        return f"(left ? (int)({rng.choice(WHOLE)}) : 5) {relation} {rng.choice(WHOLE)}"
    return (f"{rng.choice(WHOLE)} {rng.choice('+-*&')} {rng.choice(WHOLE)} {relation} "
            f"{rng.choice(PARTS[:-1])}")


@pytest.mark.parametrize("compiler, level, seed", [
    ("g++", "-O0", 1), ("g++", "-O2", 2), ("clang++", "-O0", 3), ("clang++", "-O2", 4)])
def test_as_gdb_has_them(run_mtdb, compile, tmp_path, compiler, level, seed):
    source = tmp_path / "bases.cpp"
    source.write_text(SOURCE)
    rng = random.Random(seed)
    conditions = list(dict.fromkeys(condition(rng) for _ in range(100)))
    said, counts = as_gdb.compare(run_mtdb, compile(source, level, compiler=compiler), "visit",
                                  conditions, tmp_path)
    # GDB looks for the vtable even where it wants a type alone, as of both sides of "&&".
    done = run_mtdb("run", "--engine=calls", "-o", tmp_path / "y.json", "-t",
                    "visit if left && deeper && sizeof(left->list) == 12 && deeper->Top::kept >= 0",
                    compile(source, level, compiler=compiler))
    assert "evaluated" not in done.stderr and (tmp_path / "y.json").read_text().count('"trigger"') == 8
    assert "evaluated by mtdb" not in said and sum(0 < count < 12 for count in counts) > 40
