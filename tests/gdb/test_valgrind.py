# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB under valgrind in a session that uses all there is: no error and no leak comes from us."""
import os
import subprocess

import pytest

from valgrind import reports_of_ours

PROGRAM = """
#include <pthread.h>
#include <stdio.h>

int square(int x)
{
	return x * x;
}

static void *work(void *sum)
{
	for (int i = 0; i < 10; i++)
		*(int *)sum += square(i);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int sum = 0;

	pthread_create(&thread, 0, work, &sum);
	pthread_join(thread, 0);
	printf("%d\\n", sum);
	return argc > 1 ? *(volatile int *)0 : 0;
}
"""

COMMANDS = """
show mtrace
set mtrace buffer-size 64k
set mtrace buffer-size nonsense
set mtrace output x-%n.fxt
mtrace start
mtrace trigger -max 2 -print x -print "x * 2" square if x > 7
mtrace trigger -stop square if x == 3
mtrace trigger *nosuch
mtrace trigger square if )
complete mtrace trigger squ
run
mtrace info
mtrace history 5
mtrace history -thread 2 3
mtrace snapshot y.txt
mtrace snapshot /nosuch/y.txt
mtrace save y.perf
mtrace decode y.perf -o z.fxt
python import mtrace
python s = mtrace.snapshot("w.fxt")
python print(len(list(s)), mtrace.triggers())
python del s
step
next
stepi
finish
mtrace delete 2
print $_mtrace_snapshot()
continue
mtrace history 2
mtrace doctor
run crash
mtrace history
kill
break main
run
mtrace stop
mtrace start
continue
mtrace info
mtrace nonsense
""".strip().splitlines()

SCRIPT = """
import gdb
for line in open("commands"):
    try:
        gdb.execute(line.strip())
    except gdb.error as error:
        print("refused:", error)
"""

@pytest.mark.soak
def test_valgrind(plugin, need, compile, tmp_path):
    source = tmp_path / "square.c"
    source.write_text(PROGRAM)
    program = compile(source, "-O0", "-pthread")
    (tmp_path / "commands").write_text("\n".join(COMMANDS))
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONMALLOC": "malloc", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [need("valgrind"), "--leak-check=full", "--show-leak-kinds=definite,indirect",
         "--num-callers=40", "--log-file=log", need("gdb"), "-nx", "-batch",
         "-ex", "set confirm off", "-ex", "set debuginfod enabled off", "-ex", f"source {plugin}",
         "-x", "script.py", program], cwd=tmp_path, env=environment, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=1200, check=False)
    assert "[mtrace: the calls up to SIGSEGV are in" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("[mtrace: trigger 1") >= 2 and "Snapshots: " in done.stdout
    log = (tmp_path / "log").read_text()
    assert "LEAK SUMMARY" in log
    assert not reports_of_ours(log)
