# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs that make their code while they run are given to do: their compilers, collectors,
coroutines, threads, signal handlers, and C functions that they call and that call them."""
from calls.program import Program

LUA = r"""
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local ffi = require("ffi")
ffi.cdef[[ int abs(int); size_t strlen(const char *); int snprintf(char *, size_t, const char *, ...);
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)); ]]
local sum = 0
for i = 1, 2000000 do sum = sum + ffi.C.abs(-i) % 7 end
local t = {}
for i = 1, 20000 do t[#t+1] = string.format("%d:%s", i, ("x"):rep(i % 10)) end
local text = table.concat(t, ",")
local words = 0
for w in text:gmatch("%d+") do words = words + tonumber(w) end
local array = ffi.new("int[1000]")
for i = 0, 999 do array[i] = (i * 7919) % 1000 end
local compare = ffi.cast("int (*)(const void *, const void *)", function(a, b) return ffi.cast("const int *", a)[0] - ffi.cast("const int *", b)[0] end)
ffi.C.qsort(array, 1000, 4, compare)
local co = coroutine.wrap(function() for i = 1, 100000 do coroutine.yield(i) end end)
local c = 0
for i = 1, 100000 do c = c + co() end
print(fib(27), sum, #text, words, array[0], array[999], c, pcall(error, "boom"))
"""

PHP = r"""
<?php
function fib($n) { return $n < 2 ? $n : fib($n-1) + fib($n-2); }
class P { public $x; function __construct($x) { $this->x = $x; } function get() { return $this->x; } }
$a = []; for ($i = 0; $i < 100000; $i++) { $a[] = new P(($i * 7919) % 100000); }
usort($a, fn($x, $y) => $x->get() <=> $y->get());
$s = 0; foreach ($a as $i => $p) $s += $i * $p->get() % 13;
function gen() { for ($i = 0; $i < 50000; $i++) yield $i; }
foreach (gen() as $v) $s += $v;
try { intdiv(1, 0); } catch (DivisionByZeroError $e) { $s .= $e->getMessage(); }
echo fib(25), " ", $s, " ", md5(serialize(array_slice($a, 0, 1000))), " ", preg_match_all('/\d+/', json_encode(range(0, 5000))), "\n";
"""

RUBY = r"""
def fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end
P = Struct.new(:x)
a = (0...50000).map { |i| P.new((i * 7919) % 50000) }.sort_by(&:x)
s = a.each_with_index.sum { |p, i| p.x * i % 13 }
f = Fiber.new { 10000.times { |i| Fiber.yield i }; -1 }
while (v = f.resume) >= 0 do s += v end
t = 4.times.map { |k| Thread.new { (0..20000).sum { |i| i ^ k } } }.map(&:value)
begin; raise ArgumentError, "boom"; rescue => e; s = "#{s}#{e.message}"; end
puts "#{fib(23)} #{s} #{t} #{(1..2000).map(&:to_s).join(",").scan(/\d+/).size}"
"""

SCHEME = r"""
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(use-modules (ice-9 regex) (srfi srfi-1))
(define v (list-tabulate 20000 (lambda (i) (modulo (* i 7919) 20000))))
(define s (sort v <))
(define k (call-with-current-continuation (lambda (k) (for-each (lambda (x) (if (= x 777) (k x))) s) 0)))
(define c (catch 'boom (lambda () (throw 'boom 5)) (lambda (key n) n)))
(display (list (fib 27) (fold + 0 s) k c (length (string-split (string-join (map number->string s) ",") #\,)) (call-with-prompt 'p (lambda () (+ 1 (abort-to-prompt 'p 41))) (lambda (k n) (k n)))))
(newline)
"""

LISP = r"""
(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(let* ((v (loop for i below 200000 collect (mod (* i 7919) 200000))) (s (sort (copy-list v) #'<))
       (h (make-hash-table :test 'equal)))
  (dolist (x s) (push x (gethash (format nil "~a" (mod x 100)) h)))
  (dotimes (i 20) (gc))
  (format t "~a ~a ~a ~a ~a~%" (fib 27) (reduce #'+ s) (hash-table-count h)
    (handler-case (error "boom") (error (e) (format nil "~a" e))) (catch 'x (throw 'x 5))))
"""

RACKET = r"""
#lang racket/base
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define v (for/list ([i 100000]) (modulo (* i 7919) 100000)))
(define s (sort v <))
(define h (for/fold ([h (hash)]) ([x s]) (hash-update h (modulo x 100) add1 0)))
(define ch (make-channel))
(define th (thread (lambda () (for ([i 1000]) (channel-put ch i)) (channel-put ch #f))))
(define t (let loop ([n 0]) (let ([x (channel-get ch)]) (if x (loop (+ n x)) n))))
(printf "~a ~a ~a ~a ~a\n" (fib 27) (apply + s) (hash-count h) t (with-handlers ([exn:fail? exn-message]) (error "boom")))
"""

CSHARP = r"""
using System; using System.Collections.Generic; using System.Linq; using System.Threading.Tasks;
class P { public int X; public P(int x) { X = x; } }
static class M {
  static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
  static void Main() {
    var a = Enumerable.Range(0, 100000).Select(i => new P((int)((long)i * 7919 % 100000))).OrderBy(p => p.X).ToList();
    long s = a.Select((p, i) => (long)p.X * i % 13).Sum();
    var t = Enumerable.Range(0, 4).Select(k => Task.Run(() => Enumerable.Range(0, 20000).Sum(i => i ^ k))).ToArray();
    Task.WaitAll(t);
    string e = ""; try { object o = null; o.ToString(); } catch (NullReferenceException) { e = "null"; }
    try { int z = 0; z = 1 / z; } catch (DivideByZeroException) { e += " zero"; }
    for (int i = 0; i < 5; i++) GC.Collect();
    Console.WriteLine(Fib(30) + " " + s + " " + string.Join(",", t.Select(x => x.Result)) + " " + e);
  }
}
"""

ERLANG = r"""
-module(work).
-export([main/0]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N-1) + fib(N-2).
main() ->
  S = lists:sort([(I * 7919) rem 100000 || I <- lists:seq(0, 99999)]),
  Me = self(),
  [spawn(fun() -> Me ! {K, lists:sum([I bxor K || I <- lists:seq(0, 20000)])} end) || K <- lists:seq(0, 20)],
  T = [receive {K, V} -> V end || K <- lists:seq(0, 20)],
  E = try error(boom) catch error:X -> X end,
  M = maps:size(lists:foldl(fun(X, A) -> maps:update_with(X rem 100, fun(V) -> V + 1 end, 1, A) end, #{}, S)),
  B = erlang:md5(term_to_binary(S)),
  io:format("~p ~p ~p ~p ~p ~p~n", [fib(27), lists:sum(S), lists:sum(T), E, M, B]),
  halt(3).
"""



def script(name, text, after=""):
    return f"cat > {name} <<'END'{text}END\n{after}"


JITS = [
    Program(["luajit", "x.lua"], script("x.lua", LUA), short=True),
    Program(["php", "-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=32M", "-d",
             "opcache.jit=tracing", "x.php"], script("x.php", PHP), short=True),
    Program(["ruby", "--yjit", "--yjit-call-threshold=5", "x.rb"], script("x.rb", RUBY)),
    Program(["guile", "--no-auto-compile", "x.scm"], script("x.scm", SCHEME), short=True),
    Program(["sbcl", "--script", "x.lisp"], script("x.lisp", LISP), short=True),
    Program(["racket", "x.rkt"], script("x.rkt", RACKET)),
    Program(["mono", "x.exe"], script("x.cs", CSHARP, "mcs -out:x.exe x.cs"), needs=("mcs",),
            short=True),
    Program(["erl", "-noshell", "-s", "work", "main"], script("work.erl", ERLANG, "erlc work.erl"),
            needs=("erlc",)),
]
