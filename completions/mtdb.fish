# SPDX-License-Identifier: GPL-3.0-or-later
# Completion of mtdb's commands, options and files, for fish.

set -l formats 'fxt json text'

function __mtdb_in -a command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $command
end

function __mtdb_at_command
    test (count (commandline -opc)) -eq 1
end

complete -c mtdb -n __mtdb_at_command -f
complete -c mtdb -n __mtdb_at_command -a run -d 'Run a program and write a timeline of its last calls'
complete -c mtdb -n __mtdb_at_command -a attach -d 'Record a running process for a while, and let it go on'
complete -c mtdb -n __mtdb_at_command -a decode -d 'Turn a recording into a timeline'
complete -c mtdb -n __mtdb_at_command -a history -d 'Show the last calls of a recording as text'
complete -c mtdb -n __mtdb_at_command -a view -d 'Open a timeline in the browser'
complete -c mtdb -n __mtdb_at_command -a dump -d 'Show the records and trace packets of a recording'
complete -c mtdb -n __mtdb_at_command -a plan -d 'Tell which calls the calls engine can record of a file'
complete -c mtdb -n __mtdb_at_command -a doctor -d 'Tell what works on this machine, and why not the rest'
complete -c mtdb -n __mtdb_at_command -a help -d 'List the commands, or explain one'
complete -c mtdb -n __mtdb_at_command -l version -d 'Print the version'

complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l engine -x -a 'auto pt calls step' -d 'How to record'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l output -r -d 'Where to write the timeline'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l format -x -a $formats -d 'Of the timeline'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l record -r -d 'Keep the recording'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l size -x -d 'Of the ring of each thread'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l trigger -x -d 'Take a snapshot there'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l watch -x -d 'Take a snapshot when it is written'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l events -x -a 'sched faults syscalls marks' -d 'Record beside the calls'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l counter -x -a 'page-faults context-switches task-clock cpu-clock instructions cycles cache-misses' -d 'And a counter'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l timestamps -x -a 'sampled full' -d 'Of the engine calls'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l modules -x -d 'Record only these programs and libraries'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l functions -x -d 'Record only these functions'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l no-functions -x -d 'Leave these functions out'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l throttle -d 'Take out functions that fill a ring'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l resolution -x -a 'low normal high' -d 'Intel PT: of times'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l kernel -d 'Intel PT: what the kernel does as well'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l filter -x -d 'Intel PT: trace only there'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l per-cpu -d 'Intel PT: a ring a CPU'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l full-execution -d 'Intel PT: record all while the program runs'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l no-return-compression -d 'Intel PT: a packet for each return'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l ptwrite -d 'Intel PT: values of PTWRITE too'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l power-events -d 'Intel PT: frequency and sleep too'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l follow-forks -d 'Record child processes too'
complete -c mtdb -n '__mtdb_in run; or __mtdb_in attach' -l ready-fd -x -d 'Tell there when recording has begun'
complete -c mtdb -n '__mtdb_in run' -l history -x -d 'Print so many calls after a crash'
complete -c mtdb -n '__mtdb_in run' -l branch-log -r -d 'Write each branch that was seen'

complete -c mtdb -n '__mtdb_in attach' -l for -x -d 'Let go of it after so long'
complete -c mtdb -n '__mtdb_in attach' -l max -x -d 'Let go of it after so many snapshots'
complete -c mtdb -n '__mtdb_in attach' -s p -l pid -x -a '(__fish_complete_pids)' -d 'The process'

complete -c mtdb -n '__mtdb_in decode' -l output -r -d 'Where to write the timeline'
complete -c mtdb -n '__mtdb_in decode' -l format -x -a $formats -d 'Of the timeline'

complete -c mtdb -n '__mtdb_in history' -l lines -x -d 'How many calls of each thread'
complete -c mtdb -n '__mtdb_in history' -l thread -x -d 'Only this thread'
complete -c mtdb -n '__mtdb_in view' -l no-browser -d 'Only print the address to open'

complete -c mtdb -n '__mtdb_in dump' -l packets -d 'Only packets'
complete -c mtdb -n '__mtdb_in dump' -l records -d 'Only records'

complete -c mtdb -n '__mtdb_in plan' -l patches -d 'List each place that would be overwritten'
complete -c mtdb -n '__mtdb_in plan' -l verbose -d 'List what is left out'

complete -c mtdb -n '__mtdb_in help' -f -a 'run attach decode history view dump plan doctor help'
