# SPDX-License-Identifier: GPL-3.0-or-later
"""C++ references that optimized code keeps in registers."""
import pytest

SOURCE = """
struct pair { int first, second; };
__attribute__((noipa)) int visit(int count, pair &right) { return count + right.second; }
int main() { pair one{3, 4}; return visit(-4, one); }
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_address_of_what_one_leads_to(either, compile, tmp_path, level):
    source = tmp_path / "references.cpp"
    source.write_text(SOURCE)
    lines = either(compile(source, level, compiler="g++"), "", "break *visit" if level == "-O2" else "break visit",
                   "run", "print ((int *)&right)[1]", "print (&right)->first", "print &right == 0",
                   "continue")
    assert [line for line in lines if line.startswith("$")] == ["$1 = 4", "$2 = 3", "$3 = false"], lines
