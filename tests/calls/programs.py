# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of others that are run with and without the calls engine: what each is given to do."""
from calls.jits import JITS
from calls.program import TIMES, Program


def python(*words, **options):
    return Program(["/usr/bin/python3", *words], **options)


def python_tests(*names):
    return [python("-m", "unittest", "-v", f"test.test_{name}", stdout=False, deep=True,
                   scrub=TIMES + r"|0x[0-9a-f]{6,}|@test_\d+_\w+|line \d+|process \d+") for name in names]


def shell(script, program="bash", **options):
    return Program([program, "-c", script], **options)


REPOSITORY = """
export GIT_AUTHOR_DATE='2020-01-01 00:00:00 +0000' GIT_COMMITTER_DATE='2020-01-01 00:00:00 +0000'
git init -q -b main . && git config user.name x && git config user.email x@example.org
for i in $(seq 40); do seq $((i * 50)) > f$i; git add . && git commit -qm "add $i"; done
git checkout -qb side HEAD~10
for i in 1 2 3; do echo $i >> f$i; git commit -qam "side $i"; done
"""

FILES = "for i in $(seq 60); do seq $i 3000 > f$i; done; cat f* | sha1sum > sum; cat f*[37] f*5 > all"

PROGRAM = r"""
cat > x.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
struct list { struct list *next; int value; };
int main(int argc, char **argv)
{
	struct list *list = NULL;
	for (int i = 0; i < 10; i++) {
		struct list *one = malloc(sizeof(*one));
		one->next = list;
		one->value = fib(i + argc);
		list = one;
	}
	for (; list; list = list->next)
		printf("%d\n", list->value);
	return argv[1] ? atoi(argv[1]) : 0;
}
END
printf 'all: a b c d\n\tcat a b c d\n%%: x.c\n\tsed s/fib/$@/g x.c | cksum > $@\n' > Makefile
"""

PERL = r"""
my %h; for my $i (1..3000) { my $w = join '', map { chr(97 + ($i * $_ * 7) % 26) } 1..6; $h{$w}++;
$h{$1}++ if $w =~ /^(.)(?:[a-m]+|n)+?(\w)\2?/; }
print "$_ $h{$_}\n" for (sort { $h{$b} <=> $h{$a} || $a cmp $b } keys %h)[0..20];
local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; 1 while 1; }; print "got $@";
my $pid = fork; if (!$pid) { print STDERR "child\n"; exit 7 } waitpid $pid, 0; print $? >> 8, "\n";
use IO::Socket; my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die;
if (!($pid = fork)) { my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->sockport);
print $c "hello\n"; exit } my $c = $s->accept; print scalar <$c>; waitpid $pid, 0;
sub deep { $_[0] ? 1 + deep($_[0] - 1) : 0 } no warnings; print deep(5000), "\n"; exec 'echo', 'done';
"""

JOBS = r"""
set -m; trap 'echo usr1' USR1; trap 'echo exit $?' EXIT; trap 'echo child' CHLD
sleep 0.2 & kill -USR1 $$; wait $!; trap - CHLD
(trap 'echo sub' TERM; kill -TERM $BASHPID; exit 3); echo $?
seq 1000 | while read n; do ((n % 7 == 0)) && echo $n; done | tail -3
exec 4> >(sed s/x/y/); echo axb >&4; exec 4>&-; wait $!
sleep 9 & until read -r n < /proc/$!/comm && [[ $n == sleep ]]; do :; done; kill %sleep; wait $!
x=0; for i in {1..3000}; do ((x += i)); done; echo $x; a=(b c d); echo ${a[@]/c/e} ${#a[*]}
diff <(seq 10) <(seq 11); cat <<< here; f() { local n=$1; ((n)) && f $((n - 1)); return 4; }; f 200; echo $?
[[ abcabc =~ (b.)(a) ]] && echo ${BASH_REMATCH[@]}; printf '%s\n' {a..c}{1..2}; exec 3>&-; exit 9
"""

GDB = ["gdb", "-nx", "-q", "-batch", "-ex", "set startup-with-shell off", "-ex", "break fib if n == 7",
       "-ex", "run", "-ex", "bt", "-ex", "info locals", "-ex", "finish", "-ex", "delete", "-ex",
       "info sharedlibrary", "-ex", "ptype struct list", "-ex", "continue", "x"]

NODE = r"""
const c = require('crypto'), z = require('zlib'), w = require('worker_threads');
if (!w.isMainThread) { let x = 0; for (let i = 0; i < 3e6; i++) x = (x * 31 + i) | 0;
  w.parentPort.postMessage(x); return; }
console.log(c.createHash('sha256').update('x'.repeat(1e6)).digest('hex'));
console.log(z.gunzipSync(z.gzipSync(Buffer.alloc(3e5, 'abc'))).length);
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } console.log(f(27));
let m = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127,
  3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 32, 0, 40, 2, 0, 11]));
let i = new WebAssembly.Instance(m); for (let n = 0; n < 20000; n++) i.exports.f(n % 60000);
for (let n = 0; n < 50; n++) try { i.exports.f(0x7fffffff); } catch (e) { if (!n) console.log(e.message) }
try { (function g() { g() })() } catch (e) { console.log(e.message) }
console.log(JSON.stringify([...Array(1000).keys()].map(x => x * x)).length, /(a+)+b/.test('aaaaab'));
require('child_process').exec('echo child', (e, out) => console.log(out));
new w.Worker(process.argv[1] || __filename, {}).on('message', x => console.log(x))
  .on('exit', () => { process.exitCode = 6; });
"""

JAVA = r"""
cat > X.java <<'END'
import java.util.*;
public class X {
	static int[] none; static Object nothing;
	static int deep(int n) { return deep(n + 1) + 1; }
	public static void main(String[] a) throws Exception {
		long sum = 0; int caught = 0;
		for (int i = 0; i < 200000; i++)
			try { if (i % 5 == 0) sum += none[i]; else sum += i * (sum & 7); if (i % 7 == 0) nothing.hashCode(); }
			catch (NullPointerException e) { caught++; }
		System.out.println(sum + " " + caught);
		try { deep(0); } catch (StackOverflowError e) { System.out.println("deep"); }
		Thread[] t = new Thread[8]; long[] r = new long[8];
		for (int i = 0; i < 8; i++) { int k = i; t[i] = new Thread(() -> {
			Map<String, Integer> m = new TreeMap<>();
			for (int n = 0; n < 20000; n++) m.merge("" + n % 977, n, Integer::sum);
			r[k] = m.hashCode(); }); t[i].start(); }
		for (Thread x : t) x.join();
		System.gc(); System.out.println(Arrays.toString(r));
		System.out.println(String.join(",", new TreeSet<>(Arrays.asList("c", "b", "a"))));
		System.exit(5);
	}
}
END
javac X.java
"""

REDIS = r"""
cat > go <<'END'
redis-cli() { command redis-cli -s $PWD/s "$@"; }
(for i in $(seq 400); do redis-cli ping 2>&1 | grep -q PONG && break; sleep 0.05; done
redis-benchmark -s s -n 5000 -q -P 4 -t set,get,incr,lpush,lrange_100,mset,zadd,hset | grep -c second
redis-cli set x 7; redis-cli incr x; redis-cli lpush l a b c; redis-cli sort l alpha
redis-cli eval 'local s = 0; for i = 1, 1000 do s = s + i end; return s' 0; redis-cli save
redis-cli get nope; redis-cli dbsize; redis-cli shutdown save) 4>&1 &
exec redis-server --port 0 --unixsocket $PWD/s --save '' --io-threads 3 --logfile $PWD/log
END
"""

PROGRAMS = [
    shell(JOBS, short=True, scrub=r"line \d+|\[\d+\] \d+|\d+ Terminated"),
    Program(["perl", "-we", PERL], short=True),
    python("-c", "import sys, json, threading, subprocess, hashlib, re, zlib, socket, signal, os, time\n"
           "print(json.dumps({str(n): n * n for n in range(500)})[-40:])\n"
           "def deep(n): return n and 1 + deep(n - 1)\nprint(deep(900))\n"
           "rows = []\n"
           "threads = [threading.Thread(target=lambda k=k: rows.append(hashlib.sha1(b'x' * k).hexdigest()))"
           " for k in range(200)]\n"
           "[t.start() for t in threads]; [t.join() for t in threads]; print(sorted(rows)[0])\n"
           "print(subprocess.run(['sh', '-c', 'echo a; exit 3'], capture_output=True))\n"
           # One that comes when Python has put its handlers back kills it.
           "heard = []; signal.signal(signal.SIGALRM, lambda *_: heard.append(1))\n"
           "signal.setitimer(signal.ITIMER_REAL, 0.01)\nwhile not heard: time.sleep(0.01)\n",
           short=True),
    Program(["sqlite3", ":memory:"] + [
        "create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all "
        "select i + 1 from n where i < 5000) insert into t select i, hex(i * 77) from n; create index "
        "x on t(b); select count(*), sum(a), max(b) from t where b like '3%'; select b, count(*) from "
        "(select substr(b, 1, 2) b from t) group by 1 order by 2 desc, 1 limit 9; select nope;"],
        short=True),
    Program(["git", "log", "--stat", "--graph", "--oneline", "-15"], REPOSITORY, short=True),
    Program(["git", "status"], REPOSITORY + "echo x >> f3; rm f4; echo y > new"),
    Program(["git", "-c", "gc.pruneExpire=now", "gc", "--quiet", "--aggressive"], REPOSITORY),
    Program(["git", "rebase", "main"], REPOSITORY, scrub=r"\r|\(\d+/\d+\)"),
    Program(["git", "fsck", "--full", "--strict", "--no-progress"], REPOSITORY),
    Program(["git", "grep", "--threads=4", "-n", "-e", "99[0-9]*7$"], REPOSITORY, short=True),
    Program(["git", "repack", "-adfq", "--threads=4"], REPOSITORY),
    Program(["git", "commit", "--date=2020-01-01T00:00:00Z", "-am", "more"],
            REPOSITORY + "echo x >> f3", scrub=r"side [0-9a-f]+"),
    Program(["git", "blame", "f3"], REPOSITORY),
    Program(["git", "diff", "--word-diff", "main", "side"], REPOSITORY),
    Program(["gcc", "-O2", "-g0", "-S", "-o", "-", "x.c"], PROGRAM, short=True),
    Program([*"gcc -O1 -S -fno-asynchronous-unwind-tables -wrapper env -o - x.c".split()], PROGRAM),
    Program(["make", "-j4", "-s"], PROGRAM, short=True),
    Program(GDB, PROGRAM + "gcc -g x.c -o x", short=True, needs=("gcc",), traces=True,
            scrub=r"process \d+|0x[0-9a-f]{6,}", stderr=False),
    Program(["node", "x.js"], f"cat > x.js <<'END'\n{NODE}\nEND", seconds=300,
            scrub=r"^(child|-?\d+)?\n"),
    Program(["node", "--jitless", "-e", "let x = 0; for (let i = 0; i < 1e5; i++) x += i; console.log(x)"]),
    Program(["java", "-Xmx256m", "X"], JAVA, needs=("javac",), seconds=300),
    Program(["java", "-Xint", "-Xmx256m", "X"], JAVA, needs=("javac",), seconds=300),
    Program(["cmake", "--version"]),
    Program(["cmake", "-S", ".", "-B", "b"], PROGRAM + "echo 'cmake_minimum_required(VERSION 3.10)\n"
            "project(x C)\nadd_executable(x x.c)' > CMakeLists.txt", scrub=r"\(\d+\.\d+s\)"),
    Program(["tclsh", "x.tcl"], "cat > x.tcl <<'END'\n"
            "proc fib n {expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}}\n"
            "puts [fib 17]; puts [exec echo hi]; after 20 {set ::done 1}; vwait done\n"
            "puts [regsub -all {[aeiou]} [string repeat hello 3] X]; puts [lsort -integer {3 1 2}]\n"
            "puts [catch {error x} e]$e; exit 4\nEND", short=True),
    Program(["tar", "-cf", "-", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "-I",
             "xz -T2", "f1", "f2", "all"], FILES),
    Program(["tar", "-czf", "-", "--mtime=@0", "f1", "f2"], FILES, short=True),
    Program(["xz", "-T2", "-1", "--block-size=256KiB", "-c", "all"], FILES, short=True),
    Program(["zstd", "-T2", "-3", "-q", "-c", "all"], FILES),
    Program(["gzip", "-nc", "all"], FILES),
    Program(["bzip2", "-c", "all"], FILES),
    Program(["sort", "--parallel=2", "-n", "-S", "1M", "all"], FILES, short=True),
    Program(["sha256sum", "all", "f1", "f2"], FILES),
    Program(["openssl", "dgst", "-sha512", "all"], FILES),
    Program(["openssl", "speed", "-seconds", "1", "-bytes", "64", "sha256"], scrub=r"\d+|.*ctx.*"),
    Program(["openssl", "enc", "-aes-256-cbc", "-pass", "pass:x", "-nosalt", "-md", "sha256", "-in",
             "f1"], FILES, short=True),
    Program(["openssl", "genrsa", "1024"], scrub=r"[A-Za-z0-9+/=]{4,}\n|\+|\.", stderr=False),
    Program(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"]),
    Program(["curl", "-s", "http://127.0.0.1:9/"], short=True),
    Program(["curl", "-s", "file:///etc/passwd"]),
    Program(["vim", "-es", "-u", "NONE", "-c", "g/7/s/1/X/g", "-c", "sort n", "-c", "%p", "-c", "q!",
             "f1"], FILES),
    Program(["less", "-F", "f1"], FILES),
    Program(["awk", "{ s[$1 % 97] += $1 } END { for (k = 0; k < 97; k++) print k, s[k] }", "all"], FILES),
    Program(["sed", "-E", "s/([0-9])\\1/<\\1>/g; 5,9d; $!N", "f1"], FILES),
    Program(["find", ".", "-name", "f1*", "-exec", "wc", "-l", "{}", "+"], FILES, scrub=r"^.*\n"),
    Program(["grep", "-cE", "(1|2)(3|4)+5", "all"], FILES),
    Program(["grep", "-P", "-m9", "(?<=1)2(?=3)", "all"], FILES),
    Program(["xargs", "-P4", "-n9", "cksum"], FILES, scrub=r"^.*\n"),
    Program(["rustc", "-O", "x.rs"], "echo 'fn main() { let v: Vec<u64> = (0..9).map(|x| x * x)"
            ".collect(); println!(\"{:?}\", v); }' > x.rs", seconds=300),
    Program(["ld", "-r", "-o", "y.o", "x.o"], PROGRAM + "gcc -c -g x.c"),
    Program(["as", "-o", "x.o", "x.s"], PROGRAM + "gcc -S -g x.c"),
    Program(["readelf", "-aW", "x.o"], PROGRAM + "gcc -c -g x.c"),
    Program(["objdump", "-d", "x.o"], PROGRAM + "gcc -c -g x.c"),
    Program(["strace", "-f", "-o", "log", "sh", "-c", "echo a; (echo b); cat f1 | tail -1"], FILES,
            traces=True),
    Program(["valgrind", "-q", "./x"], PROGRAM + "gcc -g x.c -o x"),
    Program(["clang", "-O2", "-S", "-o", "-", "x.c"], PROGRAM),
    Program(["bc", "-l"], seconds=5),
    Program(["dpkg", "-l"]),
    Program(["apt-cache", "show", "bash"]),
    Program(["man", "-w", "ls"]),
    Program(["ls", "-laR", "/etc/alternatives"]),
    Program(["date", "-d", "2020-02-29 + 1 year", "+%c"]),
    Program(["env", "-i", "/usr/bin/printf", "%s\\n", "x"]),
    Program(["timeout", "1", "sleep", "9"]),
    python("-m", "timeit", "-n", "1000", "-r", "1", "sorted(range(300))", scrub=r"\d.*"),
    Program(["bash", "go"], REDIS, needs=("redis-server",), scrub=r"\d+\.\d+|\d+:[CM].*"),
    python("-X", "dev", "-m", "compileall", "-q", "-f", "."),
    *python_tests("json", "re", "signal", "threading", "subprocess", "zlib", "hashlib",
                  "struct", "dict", "list", "generators", "exceptions", "faulthandler", "select",
                  "asyncio.test_events", "ctypes", "fork1", "thread", "mmap", "os", "posix", "gc",
                  "sys", "tempfile", "sqlite3.test_dbapi", "ssl", "decimal", "pickle", "queue",
                  "io", "coroutines", "contextlib", "fcntl", "pty", "wait4", "weakref", "xml_etree", "lzma", "bz2", "locale"),
    *JITS,
]
