# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Completion of mtdb's commands, options and files, for bash.

_mtdb_options() { # COMMAND
	local record='--engine= --output= --format= --record= --size= --space= --trigger= --watch= --events=
		--counter= --timestamps=
		--modules= --functions= --no-functions= --throttle --args= --returns= --no-open-args --python-calls --pending --follow-forks --ready-fd=
		--resolution= --kernel --filter= --per-cpu --full-execution --no-return-compression
		--ptwrite --power-events --frequency= --stack='
	case $1 in
	run) echo "$record --history= --stats --branch-log=" ;;
	attach) echo "$record --for= --max= --pid=" ;;
	decode) echo '--output= --format= --decoder=' ;;
	history) echo '--lines= --thread= --goroutine= --coroutine= --unfold' ;;
	stats) echo '--lines= --thread= --goroutine= --coroutine= --by= --sort= --json --csv' ;;
	grep) echo '--thread= --slowest= --first= --last= --around= --from= --to= --json' ;;
	explain) echo '--lines= --thread= --json' ;;
	diff) echo '--lines= --partings= --thread=' ;;
	browse) echo '--thread= --goroutine= --coroutine=' ;;
	view) echo '--no-browser --offline' ;;
	dump) echo '--packets --records' ;;
	plan) echo '--patches --verbose' ;;
	esac
}

_mtdb_value() { # OPTION WORD
	case $1 in
	--engine) mapfile -t COMPREPLY < <(compgen -W 'auto pt calls sample step' -- "$2") ;;
	--resolution) mapfile -t COMPREPLY < <(compgen -W 'low normal high' -- "$2") ;;
	--timestamps) mapfile -t COMPREPLY < <(compgen -W 'sampled full' -- "$2") ;;
	--by) mapfile -t COMPREPLY < <(compgen -W 'function thread process caller' -- "$2") ;;
	--sort) mapfile -t COMPREPLY < <(compgen -W 'total self calls min p50 p90 p99 max waited name' -- "$2") ;;
	--decoder) mapfile -t COMPREPLY < <(compgen -W 'own libipt' -- "$2") ;;
	--format) mapfile -t COMPREPLY < <(compgen -W 'fxt pftrace json speedscope html text folded' -- "$2") ;;
	--pid | -p) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$2") ;;
	--output | --record | --branch-log | -o) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	*) return 1 ;;
	esac
}

_mtdb() {
	local commands='run attach decode history browse stats grep explain diff view dump plan doctor help' command=${COMP_WORDS[1]:-}
	local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}

	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$cur")
		return
	fi
	# "--format=js" comes as three words.
	if [[ $cur == '=' ]]; then
		cur=
	elif [[ $option == '=' ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	! _mtdb_value "$option" "$cur" || return
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_mtdb_options "$command") --help" -- "$cur")
		[[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace 2>/dev/null
	elif [[ $command == help ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
	elif [[ $command == run ]]; then
		mapfile -t COMPREPLY < <(compgen -cf -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

complete -o filenames -F _mtdb mtdb
