# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers whose conditions the program evaluates itself, at mtdb's prompt."""
import subprocess

import pytest

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
static long own;
__attribute__((noinline)) int work(int x, int y)
{
	if (x > 19990 && y % 4 == 0)
		__sync_fetch_and_add(&own, 1);
	return x ^ y;
}
static void *run(void *argument)
{
	int sum = 0;
	for (int i = 0; i < 20000; i++)
		sum += work(i, (int)(long)argument);
	return (void *)(long)sum;
}
int main(void)
{
	pthread_t threads[16];
	for (long i = 0; i < 16; i++)
		pthread_create(&threads[i], 0, run, (void *)i);
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], 0);
	printf("own count: %ld\\n", own);
	return 0;
}
"""


@pytest.fixture(name="prompt")
def prompt_fixture(mtdb, tmp_path):
    def run(program, *commands):
        return subprocess.run([mtdb, program], input="\n".join(commands) + "\n", text=True,
                              capture_output=True, cwd=tmp_path, timeout=120, check=False)
    return run


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_hits_are_the_programs_own(prompt, compile, tmp_path, level):
    source = tmp_path / "threads.c"
    source.write_text(PROGRAM)
    done = prompt(compile(source, level, "-pthread"), "mtrace start",
                  "mtrace trigger work if x > 19990 && y % 4 == 0", "run", "mtrace info")
    assert "own count: 36" in done.stdout
    assert "Trigger 1: work if x > 19990 && y % 4 == 0: 36 hits" in done.stdout
    assert "evaluated by mtdb" not in done.stdout + done.stderr


def test_reason_and_price(prompt, compile, tmp_path):
    source = tmp_path / "square.c"
    source.write_text("""
__attribute__((noinline)) int square(int x) { int sum = x * x; return sum; }
int main(void) { for (int i = 0; i < 10; i++) square(i); return 0; }
""")
    done = prompt(compile(source, "-O0"), "mtrace start", "break main", "run",
                  "mtrace trigger -max 1 square if sum * 1.5l > 100", "mtrace trigger square if x == 3 &&",
                  "mtrace info", "continue")
    assert "Trigger 1 is evaluated by mtdb, about 100 us a call: " in done.stdout
    assert "near `'" in done.stderr
    assert "Trigger 2" not in done.stdout


def test_each_stop_is_one_call(prompt, compile, tmp_path):
    source = tmp_path / "square.c"
    source.write_text("""
#include <stdio.h>
__attribute__((noinline)) int square(int x) { return x * x; }
int main(void) { int sum = 0; for (int i = 0; i < 20; i++) sum += square(i % 10);
	printf("%d\\n", sum); return 0; }
""")
    done = prompt(compile(source, "-O2"), "mtrace start", "mtrace trigger -stop square if x == 3",
                  "run", "print x", "next", "print x", "continue", "continue", "mtrace info")
    assert "Trigger 1: square if x == 3: 2 hits" in done.stdout
    assert "570" in done.stdout
