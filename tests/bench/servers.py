# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers of others, and what their clients ask them."""
import os
import shutil
import subprocess
import time
from dataclasses import dataclass

from tests.bench import client

HERE = os.path.dirname(os.path.abspath(__file__))
POSTGRES = "/usr/lib/postgresql"

# Without its rule to close what was idle for 5 s: a debugger's stop can take that long.
NODE = ("const os = require('os');"
        "require('http').createServer({keepAliveTimeout: 0}, (ask, answer) => {"
        "  let words = []; for (let i = 0; i < 20; i++) words.push('word' + i);"
        "  if (ask.url === '/rare') words.push(os.uptime());"
        "  answer.end(words.length ? 'hello' : 'none'); }).listen(process.argv[1]);")

NGINX = """
daemon off; master_process off; pid pid; events { worker_connections 64; }
http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fcgi;
       uwsgi_temp_path uwsgi; scgi_temp_path scgi; keepalive_requests 1000000000;
       server { listen unix:ADDRESS;
                location / { return 200 hello; }
                location /rare { error_page 418 = /; return 418; } } }
"""

# Evaluates what it is asked, one line after the other.
GDB = """
import ctypes, selectors, socket
server, waits = socket.socket(socket.AF_UNIX), selectors.DefaultSelector()
server.bind("ADDRESS"), server.listen(8)
waits.register(server, selectors.EVENT_READ)
while True:
    for key, _ in waits.select():
        if key.fileobj is server:
            waits.register(server.accept()[0], selectors.EVENT_READ)
            continue
        line = key.fileobj.recv(4096).decode().strip()
        if not line:
            waits.unregister(key.fileobj)
            key.fileobj.close()
            continue
        if line == "rare":
            ctypes.pythonapi.PySys_GetObject(b"path")
            line = "print 6 * 7"
        key.fileobj.sendall(gdb.execute(line, to_string=True).encode())
"""


@dataclass
class Server:
    process: subprocess.Popen
    address: str
    protocol: client.Protocol
    trigger: str


def start_redis(where):
    address = os.path.join(where, "socket")
    words = [shutil.which("redis-server"), "--port", "0", "--unixsocket", address, "--save", "",
             "--appendonly", "no", "--logfile", "/dev/null", "--dir", where]
    return Server(subprocess.Popen(words), address,
                  client.Protocol(b"PING\r\n", (b"+PONG", b":0"), b"\r\n", b"DBSIZE\r\n"),
                  "dbsizeCommand")


def start_node(where):
    def get(path):
        return b"GET " + path + b" HTTP/1.1\r\nHost: here\r\n\r\n"

    address = os.path.join(where, "socket")
    words = [shutil.which("node"), "-e", NODE, address]
    return Server(subprocess.Popen(words), address,
                  client.Protocol(get(b"/"), b"HTTP/1.1 200", b"hello", get(b"/rare")),
                  "uv_uptime")


def start_java(where):
    subprocess.run(["javac", "-d", where, os.path.join(HERE, "programs", "Echo.java")], check=True)
    address = os.path.join(where, "socket")
    words = [shutil.which("java"), "-Xmx128m", "-cp", where, "Echo", address]
    return Server(subprocess.Popen(words), address,
                  client.Protocol(b"ask\n", b"hello", b"\n", b"rare\n"),
                  "JVM_ActiveProcessorCount")


def query(text):
    text = text.encode() + b"\0"
    return b"Q" + (len(text) + 4).to_bytes(4, "big") + text


def as_nobody():
    """It refuses to run as root."""
    return [] if os.geteuid() else ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def postgres_programs():
    found = sorted(os.listdir(POSTGRES)) if os.path.isdir(POSTGRES) else []
    return os.path.join(POSTGRES, found[-1], "bin") if found else None


def start_postgres(where):
    programs, quiet = postgres_programs(), {"stdout": subprocess.DEVNULL}
    data, address = os.path.join(where, "data"), os.path.join(where, ".s.PGSQL.1")
    if not os.geteuid():
        os.chmod(where, 0o777)
    subprocess.run([*as_nobody(), f"{programs}/initdb", "-A", "trust", "-U", "bench", "-D", data],
                   check=True, cwd=where, **quiet)
    process = subprocess.Popen([*as_nobody(), f"{programs}/postgres", "-D", data, "-k", where,
                                "-p", "1", "-h", "", "-c", "fsync=off"], cwd=where,
                               stderr=subprocess.DEVNULL)
    wait_for(address)
    place = ["-h", where, "-p", "1", "-U", "bench"]
    while subprocess.run([f"{programs}/pg_isready", *place, "-d", "postgres", "-q"]).returncode:
        time.sleep(0.05)
    subprocess.run([f"{programs}/pgbench", *place, "-i", "-q", "postgres"], check=True,
                   stderr=subprocess.DEVNULL, **quiet)
    words = b"user\0bench\0database\0postgres\0\0"
    hello = (len(words) + 8).to_bytes(4, "big") + (3 << 16).to_bytes(4, "big") + words
    return Server(process, address,
                  client.Protocol(query("SELECT abalance FROM pgbench_accounts WHERE aid = 7"),
                                  b"T", b"Z\0\0\0\5I", query("SELECT pg_backend_pid()"), hello),
                  "pg_backend_pid")


def start_nginx(where):
    address = os.path.join(where, "socket")
    with open(os.path.join(where, "conf"), "w") as file:
        file.write(NGINX.replace("ADDRESS", address))
    words = ["/usr/sbin/nginx", "-p", where, "-c", "conf", "-e", "stderr"]
    return Server(subprocess.Popen(words, stderr=subprocess.DEVNULL), address,
                  client.Protocol(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", b"HTTP/1.1 200",
                                  b"hello", b"GET /rare HTTP/1.1\r\nHost: here\r\n\r\n"),
                  "ngx_http_internal_redirect")


def start_gdb(where):
    address, script = os.path.join(where, "socket"), os.path.join(where, "script.py")
    with open(script, "w") as file:
        file.write(GDB.replace("ADDRESS", address))
    return Server(subprocess.Popen(["gdb", "-nx", "-batch", "-x", script], stderr=subprocess.DEVNULL), address,
                  client.Protocol(b"print 6 * 7\n", b"$", b" = 42\n", b"rare\n"),
                  "PySys_GetObject")


def wait_for(address):
    for _ in range(600):
        try:
            client.connect(address).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"no server came at {address}")


PROGRAMS = {"redis": (start_redis, "redis-server"), "node": (start_node, "node"),
            "java": (start_java, "javac"), "postgres": (start_postgres, "pgbench"),
            "nginx": (start_nginx, "/usr/sbin/nginx"), "gdb": (start_gdb, "gdb")}


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def name_of(pid):
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read()


def traced(name, server):
    """PostgreSQL serves the client in a process of its own."""
    if name != "postgres":
        return server.process.pid
    return max(pid for pid in children_of(server.process.pid) if "bench postgres" in name_of(pid))
