# SPDX-License-Identifier: GPL-3.0-or-later
"""mtrace history of one function."""
import pytest

PROGRAM = """
namespace shop {
__attribute__((noinline)) int price(int x) { return x + 1; }
__attribute__((noinline)) int other(int x) { return x * 2; }
template <typename T> __attribute__((noinline)) T sum(T x) { return price(x) + other(x); }
}
__attribute__((noinline)) int once(int x) { return shop::price(x) + 1; }
volatile int *nowhere;
int main()
{
	int total = 0;
	for (int i = 0; i < 10; i++)
		total += shop::sum<long>(i);
	total += once(3) + shop::other(1);
	*nowhere = total;
}
"""


@pytest.fixture(name="history")
def make_history(gdb, compile, tmp_path):
    source = tmp_path / "shop.cpp"
    source.write_text(PROGRAM)
    program = compile(source, "-O0")
    return lambda command: gdb(program, "mtrace start", "run", "echo =\\n", command)


@pytest.mark.parametrize("function", ["price", "shop::price", "shop::price(int)", "*price*"])
def test_calls_and_callers(history, function):
    session = history(f"mtrace history 3 {function}")
    lines = [line for line in session.between("=") if "shop.cpp" in line or " main " in line]
    text = "\n".join(lines)
    assert text.count("shop::price") == 3
    assert text.count("sum<long>") == 2 and text.count(" once(int) ") == 1
    assert "other" not in text


def test_all_of_a_template(history):
    session = history("mtrace history 100 sum")
    assert "\n".join(session.between("=")).count("sum<long>") == 10


def test_none(history):
    assert 'the recording contains no call of "nosuch"' in history("mtrace history nosuch").errors


@pytest.mark.parametrize("command", ["history", "grep", "stats", "explain"])
def test_what_could_not_be_recorded(gdb, compile, command):
    program = compile("calls_too_short.c", "-O2")
    session = gdb(program, "mtrace start", "break next", "run", f"mtrace {command} leaf")
    assert (f'the recording contains no call of "leaf": the engine calls cannot record leaf of '
            f'{program} (too short') in session.errors


def test_one_word_too_many(history):
    assert '"x" is one word too many' in history("mtrace history 3 price x").errors
