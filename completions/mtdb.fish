# SPDX-License-Identifier: GPL-3.0-or-later
# Completion of mtdb's commands, options and files, for fish.

set -l formats 'fxt pftrace json speedscope html text folded'

function __mtdb_in -a command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $command
end

function __mtdb_at_command
    test (count (commandline -opc)) -eq 1
end

complete -c mtdb -n __mtdb_at_command -f
complete -c mtdb -n __mtdb_at_command -a run -d 'Run a program and write a timeline of its last function calls'
complete -c mtdb -n __mtdb_at_command -a attach -d 'Record a running process for a while, then detach from it'
complete -c mtdb -n __mtdb_at_command -a decode -d 'Convert a recording to a timeline'
complete -c mtdb -n __mtdb_at_command -a history -d 'Show the last calls of a recording as text'
complete -c mtdb -n __mtdb_at_command -a browse -d 'Walk in the calls of a recording, on the whole terminal'
complete -c mtdb -n __mtdb_at_command -a stats -d 'Show how often functions were called and how long they took'
complete -c mtdb -n __mtdb_at_command -a grep -d 'Find calls by function, values, duration and time'
complete -c mtdb -n __mtdb_at_command -a explain -d 'Show why the slowest calls of a function are slow'
complete -c mtdb -n __mtdb_at_command -a diff -d 'Show where two recorded runs part ways'
complete -c mtdb -n __mtdb_at_command -a view -d 'Open a timeline in the browser'
complete -c mtdb -n __mtdb_at_command -a dump -d 'Print the records and trace packets of a recording'
complete -c mtdb -n __mtdb_at_command -a plan -d 'Show which calls of a file the engine calls can record'
complete -c mtdb -n __mtdb_at_command -a doctor -d 'Check what works on this machine, and why the rest does not'
complete -c mtdb -n __mtdb_at_command -a help -d 'List the commands, or show the help of one'
complete -c mtdb -n __mtdb_at_command -l version -d 'Print the version'

complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l engine -x -a 'auto pt calls sample step' -d 'Recording engine'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l output -r -d 'Write the timeline to this file'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l format -x -a $formats -d 'Timeline format'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l record -r -d 'Keep the recording too'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l size -x -d 'Per-thread ring size'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l space -x -d 'Most that the recording may take'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l trigger -x -d 'Take a snapshot when this is reached'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l watch -x -d 'Take a snapshot when this is written'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l events -x -a 'sched faults syscalls marks' -d 'Also record these events'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l counter -x -a 'page-faults context-switches task-clock cpu-clock instructions cycles cache-misses' -d 'Also sample a counter'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l timestamps -x -a 'sampled full' -d 'calls: time stamps'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l modules -x -d 'calls: record only these modules'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l functions -x -d 'calls: record only these functions'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l no-functions -x -d 'calls: do not record these functions'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l throttle -d 'calls: drop functions that fill a ring'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l resolution -x -a 'low normal high' -d 'pt: time resolution'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l kernel -d 'pt, sample: record the kernel too'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l filter -x -d 'pt: trace only there'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l per-cpu -d 'pt: one ring per CPU'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l full-execution -d 'pt: write all trace data during the run'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l no-return-compression -d 'pt: emit a packet for each return'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l ptwrite -d 'pt: record PTWRITE values'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l power-events -d 'pt: record frequency and sleep states'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l frequency -x -d 'sample: samples a second'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l stack -x -d 'sample: how much of the stack, 0 for frame pointers'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l args -x -d 'calls: record the arguments of this function'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l returns -x -d 'calls: record what this function returns'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l no-open-args -d 'calls: do not read the arguments of open calls at a crash'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l pending -d 'Let triggers wait for libraries that come later'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l follow-forks -d 'Record child processes too'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l ready-fd -x -d 'Write a line there once recording has begun'
complete -c mtdb -n '__mtdb_in run' -l history -x -d 'Number of calls printed after a crash'
complete -c mtdb -n '__mtdb_in run' -l stats -d 'Print how often functions were called and how long they took'
complete -c mtdb -n '__mtdb_in run' -l branch-log -r -d 'step: log each branch'

complete -c mtdb -n '__mtdb_in attach' -l for -x -d 'Detach after this time'
complete -c mtdb -n '__mtdb_in attach' -l max -x -d 'Detach after this many snapshots'
complete -c mtdb -n '__mtdb_in attach' -s p -l pid -x -a '(__fish_complete_pids)' -d 'Process to attach to'

complete -c mtdb -n '__mtdb_in decode' -l output -r -d 'Write the timeline to this file'
complete -c mtdb -n '__mtdb_in decode' -l format -x -a $formats -d 'Timeline format'

complete -c mtdb -n '__mtdb_in history' -l lines -x -d 'Number of calls per thread'
complete -c mtdb -n '__mtdb_in history' -l thread -x -d 'Print only this thread'
complete -c mtdb -n '__mtdb_in history' -l unfold -d 'Show all calls'
complete -c mtdb -n '__mtdb_in browse' -l thread -x -d 'Show only this thread'
complete -c mtdb -n '__mtdb_in stats' -l lines -x -d 'Rows of each table'
complete -c mtdb -n '__mtdb_in stats' -l thread -x -d 'Count only this thread'
complete -c mtdb -n '__mtdb_in stats' -l by -x -a 'function thread process caller' -d 'A row for each function and this'
complete -c mtdb -n '__mtdb_in stats' -l sort -x -a 'total self calls min p50 p90 p99 max waited name' -d 'Sort by this column'
complete -c mtdb -n '__mtdb_in stats' -l json -d 'Print JSON'
complete -c mtdb -n '__mtdb_in stats' -l csv -d 'Print comma-separated values'
complete -c mtdb -n '__mtdb_in grep' -l thread -x -d 'Only calls of this thread'
complete -c mtdb -n '__mtdb_in grep' -l slowest -x -d 'Only so many of the slowest'
complete -c mtdb -n '__mtdb_in grep' -l first -x -d 'Only the first so many'
complete -c mtdb -n '__mtdb_in grep' -l last -x -d 'Only the last so many'
complete -c mtdb -n '__mtdb_in grep' -l around -x -d 'Only those nearest to this time before the end'
complete -c mtdb -n '__mtdb_in grep' -l from -x -d 'Only calls that had not ended then'
complete -c mtdb -n '__mtdb_in grep' -l to -x -d 'Only calls that had begun then'
complete -c mtdb -n '__mtdb_in grep' -l json -d 'Print JSON'
complete -c mtdb -n '__mtdb_in explain' -l lines -x -d 'Number of calls'
complete -c mtdb -n '__mtdb_in explain' -l thread -x -d 'Only calls of this thread'
complete -c mtdb -n '__mtdb_in explain' -l json -d 'Print JSON'
complete -c mtdb -n '__mtdb_in diff' -l lines -x -d 'Rows of each table'
complete -c mtdb -n '__mtdb_in diff' -l partings -x -d 'Of each thread the first times that the runs part'
complete -c mtdb -n '__mtdb_in diff' -l thread -x -d 'Only this thread of the first recording'
complete -c mtdb -n '__mtdb_in view' -l no-browser -d 'Only print the address to open'
complete -c mtdb -n '__mtdb_in view' -l offline -d 'Show a recording, or a page, without a network'

complete -c mtdb -n '__mtdb_in dump' -l packets -d 'Print only packets'
complete -c mtdb -n '__mtdb_in dump' -l records -d 'Print only records'

complete -c mtdb -n '__mtdb_in plan' -l patches -d 'List each patch'
complete -c mtdb -n '__mtdb_in plan' -l verbose -d 'List what is left out'

complete -c mtdb -n '__mtdb_in help' -f -a 'run attach decode history browse stats grep explain diff view dump plan doctor help'
