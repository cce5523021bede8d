# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel tells beside the calls, in GDB."""
import fxt


def test_page_faults_and_scheduling(gdb, compile, perf_events, tmp_path):
    """Two snapshots, of which the later one holds what the first one does, and more."""
    program = compile("tracks.c", "-O1", "-pthread")
    session = gdb(program, "set mtrace events faults,sched", "break write_out",
                  "mtrace start -timestamps full -size 16M", "run >out.txt", "ignore 1 4", "continue",
                  "mtrace snapshot first.fxt", "delete", "continue", "mtrace snapshot all.fxt")
    session.check_clean()
    tid, pages = (tmp_path / "out.txt").read_text().split()
    found = []
    for name in "first.fxt", "all.fxt":
        trace = fxt.read(tmp_path / name)
        tracks = {one.name: one for one in trace.threads.values()}
        faults = [one for one in tracks[f"page faults of tracks ({tid})"].instants
                  if one.args["function"] == "touch"]
        assert len({one.time for one in faults}) == len(faults)
        assert all(int(one.args["address"]) - int(pages, 16) == 4096 * i
                   for i, one in enumerate(faults))
        found.append(len(faults))
        calls = next(one for one in trace.threads.values() if one.tid == int(tid))
        for fault in faults:
            assert any(one.begin <= fault.time and (one.end is None or fault.time <= one.end)
                       for one in calls.find("touch"))
        assert tracks[f"scheduling of tracks ({tid})"].slices()
    assert found == [5, 10], session.all
