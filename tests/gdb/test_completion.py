# SPDX-License-Identifier: GPL-3.0-or-later
"""What TAB offers: commands, options and their values, locations, files, numbers."""
import pytest


@pytest.mark.parametrize("typed, offered", [
    ("mtrace sn", ["mtrace snapshot"]),
    ("mtrace start -", ["mtrace start -engine", "mtrace start -python-calls",
                        "mtrace start -size", "mtrace start -threads",
                        "mtrace start -timestamps"]),
    ("mtrace start -engine ", ["mtrace start -engine auto", "mtrace start -engine calls",
                                "mtrace start -engine pt", "mtrace start -engine sample"]),
    ("mtrace start -size 4M -timestamps f", ["mtrace start -size 4M -timestamps full"]),
    ("mtrace start -size ", []),
    ("mtrace trigger -m", ["mtrace trigger -max"]),
    ("mtrace trigger mai", ["mtrace trigger main"]),
    ("mtrace trigger deep.c:b", ["mtrace trigger deep.c:b"]),
    ('mtrace trigger -stop -print "x y" -max 3 mai',
     ['mtrace trigger -stop -print "x y" -max 3 main']),
    ("mtrace delete ", ["mtrace delete 1", "mtrace delete 2"]),
    ("mtrace history -", ["mtrace history -thread", "mtrace history -unfold"]),
    ("mtrace decode --o", ["mtrace decode --output="]),
    ("mtrace decode some", ["mtrace decode some.perf"]),
    ("mtrace save sub/som", ["mtrace save sub/some.perf"]),
    ("mtrace view som", ["mtrace view some.perf"]),
    ("set mtrace timestamps f", ["set mtrace timestamps full"]),
    ("show mtrace on-c", ["show mtrace on-crash"]),
    ("mtrace snapshot nosuch", []),
])
def test_completion(gdb, compile, typed, offered):
    (gdb.directory / "sub").mkdir()
    for name in ("some.perf", "sub/some.perf"):
        (gdb.directory / name).touch()
    session = gdb(compile("deep.c", "-O0"), "mtrace trigger a", "mtrace trigger b", "echo =\\n",
                  f"complete {typed}")
    assert session.between("=") == offered
