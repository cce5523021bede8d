# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of what ran before and behind a stop."""
import fxt

PROGRAM = """
__attribute__((noinline)) void work(int n) { for (volatile int i = 0; i < n; i++) ; }
__attribute__((noinline)) void before(void) { work(10); work(20); work(30); }
__attribute__((noinline)) void stops(void) { work(1); }
__attribute__((noinline)) void after(void) { work(10); work(20); work(30); }
int main(void)
{
	before();
	stops();
	after();
	return 0;
}
"""


def test_no_call_lasts_as_long_as_the_user_looks(gdb, compile, tmp_path):
    source = tmp_path / "stops.c"
    source.write_text(PROGRAM)
    gdb(compile(source, "-O0"), "mtrace start", "break stops", "run", "shell sleep 1", "continue",
        "mtrace snapshot")
    trace = fxt.read(gdb.directory / "trace-1.fxt")
    slices = [one for one in trace.slices() if one.name in ("before", "work", "after")]
    assert len(slices) == 9
    assert not [one for one in slices if one.end - one.begin > 500_000_000]
