/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `mtrace …`: what the plugin has inside of GDB, at mtdb's own prompt.  What needs no program of
 * its own (decode, dump, plan, doctor) is taken from the table of mtdb's commands. */
#include "prompt/record.h"

#include "command/record_options.h"
#include "command/timeline.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#define DEFAULT_HISTORY 25
#define NS_PER_MS       1e6

/* ---- Words ---- */

typedef MT_ARRAY(char *) words;

static void words_deinit(words *list)
{
	mt_array_each (word, list)
		free(*word);
	mt_array_deinit(list);
}

/* A word at TEXT, without its quotes; *REST: behind it. */
static char *take_word(const char *text, const char **rest)
{
	char quote = *text == '"' || *text == '\'' ? *text : 0;
	const char *start = text + (quote != 0);
	size_t length = quote ? strcspn(start, quote == '"' ? "\"" : "'") : strcspn(start, " \t");

	*rest = prompt_skip_blanks(start + length + (quote && start[length]));
	return strndup(start, length);
}

/* With NAME before them. */
static struct mt_error *split(const char *name, const char *text, words *out)
{
	char *word = strdup(name);

	while (word) {
		if (mt_array_push(out, word)) {
			free(word);
			break;
		}
		if (!*text)
			return mt_array_push(out, NULL) ? mt_error_no_memory() : NULL;
		word = take_word(text, &text);
	}
	return mt_error_no_memory();
}

/* ---- start, stop ---- */

struct start {
	const char *engine, *size, *threads, *stamps;
};

static struct mt_error *take_option(struct start *start, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **value;
	} table[] = {{"-engine", &start->engine},
		     {"-size", &start->size},
		     {"-threads", &start->threads},
		     {"-timestamps", &start->stamps}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strncmp(table[i].name, name, strlen(name)) != 0 || strlen(name) < 2)
			continue;
		if (!value)
			return mt_error_new(MT_ERROR_USAGE, "%s needs a value", table[i].name);
		*table[i].value = value;
		return NULL;
	}
	return mt_error_new(MT_ERROR_USAGE, "mtrace start takes options only: \"%s\"", name);
}

static struct mt_error *read_start(struct prompt_record *record, const struct start *start)
{
	const struct mt_debug_thread *selected = mt_debugger_selected(record->debugger);

	record->options =
	    (struct mt_session_options){.engine.log = record->log, .engine_name = "calls"};
	if (start->engine && strcmp(start->engine, "auto") != 0 &&
	    strcmp(start->engine, "calls") != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "the engine \"%s\" does not work at a prompt (use calls, or "
				    "mtdb run --engine %s)",
				    start->engine, start->engine);
	if (start->size)
		mt_try(mt_parse_size(start->size, &record->options.engine.ring_bytes));
	mt_try(mt_parse_stamps(start->stamps ? start->stamps : "sampled",
			       &record->options.engine.stamps));
	if (start->threads && strcmp(start->threads, "current") == 0)
		record->options.engine.only = selected ? selected->lwp : 0;
	else if (start->threads && strcmp(start->threads, "all") != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "no choice of threads: \"%s\" (it can be all or current)",
				    start->threads);
	return NULL;
}

static struct mt_error *parse_start(struct prompt_record *record, const words *list)
{
	struct start start = {0};

	for (size_t i = 1; list->items[i]; i += 2) {
		mt_try(take_option(&start, list->items[i], list->items[i + 1]));
	}
	return read_start(record, &start);
}

static struct mt_error *run_start(struct prompt *prompt, const char *rest)
{
	struct prompt_record *record = prompt->record;
	words list = {0};
	struct mt_error *error = split("start", rest, &list);

	if (!error && mt_debugger_is_recording(prompt->debugger))
		error = mt_error_new(MT_ERROR_USAGE, "process %d is recorded already",
				     mt_debugger_pid(prompt->debugger));
	if (!error)
		error = parse_start(record, &list);
	words_deinit(&list);
	if (error)
		return error;
	mt_try(mt_debugger_record(prompt->debugger, &record->options));
	if (mt_debugger_pid(prompt->debugger))
		prompt_printf("Recording the calls of process %d.\n",
			      mt_debugger_pid(prompt->debugger));
	else
		prompt_printf("The program's calls will be recorded when it runs.\n");
	return NULL;
}

static struct mt_error *run_stop(struct prompt *prompt, const char *rest)
{
	if (*rest)
		return mt_error_new(MT_ERROR_USAGE, "mtrace stop takes no arguments");
	mt_try(mt_debugger_record_stop(prompt->debugger));
	prompt_printf("Not recording any more.\n");
	return NULL;
}

/* ---- Looking back ---- */

static struct mt_command_context context_of(struct prompt *prompt)
{
	return (struct mt_command_context){
	    .print = terminal_print,
	    .report = terminal_report,
	    .context = prompt->terminal,
	    .log = &prompt->terminal->log,
	    .progress = &prompt->progress,
	    .prefix = "mtrace",
	    .print_colour = prompt->terminal->print_colour,
	    .report_colour = prompt->terminal->report_colour,
	};
}

static struct mt_error *copy(struct prompt *prompt, const char *path, uint32_t number,
			     struct mt_recording **out)
{
	struct mt_session *session = mt_debugger_session(prompt->debugger);

	if (!session)
		return mt_error_new(MT_ERROR_USAGE,
				    "nothing was recorded (\"mtrace start\" begins)");
	return mt_session_copy(session, path, number, out);
}

static struct mt_error *write_snapshot(struct prompt *prompt, const char *path, uint32_t number)
{
	const struct mt_command_context context = context_of(prompt);
	const struct mt_timeline timeline = {.path = path};
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};

	mt_try(copy(prompt, NULL, number, &recording));
	struct mt_error *error = mt_timeline_write(&context, recording, &timeline, &stats);
	mt_recording_close(recording);
	return error;
}

/* PATH NULL: trace-NUMBER.fxt. */
struct mt_error *prompt_snapshot(struct prompt *prompt, const char *path)
{
	struct prompt_record *record = prompt->record;
	uint32_t number = record->snapshots + 1;
	mt_auto(mt_str) struct mt_str name = {0};

	if (path)
		mt_str_append(&name, path);
	else
		mt_str_appendf(&name, "trace-%u.fxt", number);
	if (name.failed)
		return mt_error_no_memory();
	if (!*name.text || strcmp(name.text, "-") == 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "what is written needs the name of a file: \"%s\"", name.text);
	mt_try(write_snapshot(prompt, name.text, number));
	record->snapshots = number;
	record->has_news = false;
	free(record->last);
	record->last = realpath(name.text, NULL);
	return NULL;
}

static struct mt_error *run_snapshot(struct prompt *prompt, const char *rest)
{
	mt_try(prompt_snapshot(prompt, *rest ? rest : NULL));
	prompt_printf("Snapshot %u is in %s.\n", prompt->record->snapshots,
		      prompt->record->last ? prompt->record->last : rest);
	return NULL;
}

static struct mt_error *run_save(struct prompt *prompt, const char *rest)
{
	struct mt_recording *recording = NULL;

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "mtrace save needs one file");
	mt_try(copy(prompt, rest, 0, &recording));
	mt_recording_close(recording);
	prompt_printf("The recording is in %s.\n", rest);
	return NULL;
}

static struct mt_error *find_thread(struct prompt *prompt, const char *text, pid_t *lwp)
{
	uint64_t number;

	mt_try(mt_parse_number(text, "thread", 1, INT32_MAX, &number));
	for (size_t i = 0; i < mt_debugger_thread_count(prompt->debugger); i++) {
		const struct mt_debug_thread *thread = mt_debugger_thread(prompt->debugger, i);

		if (thread->number != number)
			continue;
		*lwp = thread->lwp;
		return NULL;
	}
	return mt_error_new(MT_ERROR_USAGE, "Unknown thread %s.", text);
}

static struct mt_error *read_history(struct prompt *prompt, char **word,
				     struct mt_timeline *timeline)
{
	const struct mt_debug_thread *selected = mt_debugger_selected(prompt->debugger);

	timeline->last = DEFAULT_HISTORY;
	timeline->tid = selected ? selected->lwp : 0;
	if (*word && strncmp("-thread", *word, strlen(*word)) == 0) {
		if (!word[1])
			return mt_error_new(MT_ERROR_USAGE, "-thread needs a value");
		mt_try(find_thread(prompt, word[1], &timeline->tid));
		word += 2;
	}
	if (*word && isdigit((unsigned char)**word))
		mt_try(mt_parse_number(*word++, "number of calls", 1, UINT32_MAX, &timeline->last));
	if (*word)
		timeline->function = *word++;
	return *word ? mt_error_new(MT_ERROR_USAGE,
				    "mtrace history takes a number and a function: \"%s\" is one "
				    "word too many (quote a name that holds blanks)",
				    *word)
		     : NULL;
}

static struct mt_error *print_history(struct prompt *prompt, struct mt_timeline *timeline)
{
	const struct mt_command_context context = context_of(prompt);
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};

	mt_try(copy(prompt, NULL, 0, &recording));
	timeline->printer = (struct mt_printer){context.print, context.context};
	timeline->colour = context.print_colour;
	struct mt_error *error = mt_timeline_write(&context, recording, timeline, &stats);
	mt_recording_close(recording);
	return error;
}

static struct mt_error *run_history(struct prompt *prompt, const char *rest)
{
	struct mt_timeline timeline = {0};
	words list = {0};
	struct mt_error *error = split("history", rest, &list);

	if (!error)
		error = read_history(prompt, list.items + 1, &timeline);
	if (!error)
		error = print_history(prompt, &timeline);
	words_deinit(&list);
	return error;
}

/* ---- info ---- */

static void print_thread(struct prompt *prompt, const struct mt_debug_thread *thread)
{
	struct mt_engine_ring ring;

	prompt_printf("  %-4u LWP %-8d %-16s ", thread->number, thread->lwp, thread->name);
	if (mt_session_look(mt_debugger_session(prompt->debugger), thread->lwp, &ring))
		prompt_printf("%3llu%% of %lluk, the last %.3f ms\n",
			      (unsigned long long)(ring.used * 100 / ring.bytes),
			      (unsigned long long)(ring.bytes >> 10),
			      (double)ring.span_ns / NS_PER_MS);
	else
		prompt_printf("not recorded\n");
}

static void print_recording(struct prompt *prompt)
{
	prompt_printf("Recording process %d with the engine %s.\n",
		      mt_debugger_pid(prompt->debugger),
		      mt_session_result(mt_debugger_session(prompt->debugger)).engine);
	prompt_printf("Threads, and how full their rings are:\n");
	for (size_t i = 0; i < mt_debugger_thread_count(prompt->debugger); i++)
		print_thread(prompt, mt_debugger_thread(prompt->debugger, i));
}

static struct mt_error *run_info(struct prompt *prompt, const char *rest)
{
	const struct prompt_record *record = prompt->record;

	if (*rest)
		return mt_error_new(MT_ERROR_USAGE, "mtrace info takes no arguments");
	if (mt_debugger_is_recording(prompt->debugger))
		print_recording(prompt);
	else if (mt_debugger_is_armed(prompt->debugger))
		prompt_printf("Recording begins when the program runs.\n");
	else
		prompt_printf("Nothing is recorded (\"mtrace start\" begins).\n");
	prompt_printf("Snapshots: %u\n", record->snapshots);
	if (record->last)
		prompt_printf("  The last one is in %s.\n", record->last);
	prompt_print_triggers(prompt);
	return NULL;
}

/* ---- What mtdb has too ---- */

static struct mt_error *run_shared(struct prompt *prompt, const struct mt_command *command,
				   const char *rest)
{
	struct mt_command_context context = context_of(prompt);
	words list = {0};
	struct mt_error *error = split(command->name, rest, &list);

	if (!error)
		error = command->run(&context, (int)list.count - 1, list.items);
	words_deinit(&list);
	return error;
}

static struct mt_error *run_view(struct prompt *prompt, const char *rest)
{
	return run_shared(prompt, &mt_command_view,
			  *rest || !prompt->record->last ? rest : prompt->record->last);
}

static struct mt_error *run_decode(struct prompt *prompt, const char *rest)
{
	return run_shared(prompt, &mt_command_decode, rest);
}

static struct mt_error *run_dump(struct prompt *prompt, const char *rest)
{
	return run_shared(prompt, &mt_command_dump, rest);
}

static struct mt_error *run_plan(struct prompt *prompt, const char *rest)
{
	return run_shared(prompt, &mt_command_plan, rest);
}

static struct mt_error *run_doctor(struct prompt *prompt, const char *rest)
{
	return run_shared(prompt, &mt_command_doctor, rest);
}

/* ---- What happens ---- */

void prompt_record_ran(struct prompt *prompt)
{
	prompt->record->has_news = true;
}

static bool is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE ||
	       signal == SIGILL;
}

void prompt_record_stopped(struct prompt *prompt, const struct mt_debug_stop *stop)
{
	bool at_end = stop->kind == MT_DEBUG_KILLED || stop->kind == MT_DEBUG_EXITED;

	if (!mt_debugger_session(prompt->debugger) || !prompt->record->has_news ||
	    !mt_debugger_is_armed(prompt->debugger) ||
	    (!at_end && (stop->kind != MT_DEBUG_SIGNAL || !is_crash(stop->signal))))
		return;
	struct mt_error *error = prompt_snapshot(prompt, NULL);
	if (error) {
		prompt->terminal->log.line(prompt->terminal, MT_LOG_WARNING,
					   mt_error_message(error));
		mt_error_destroy(error);
		return;
	}
	prompt_printf("[mtrace: the calls up to %s are in %s%s]\n",
		      at_end ? "the end" : prompt_signal_name(stop->signal).text,
		      prompt->record->last ? prompt->record->last : "",
		      at_end ? "" : "; \"mtrace history\" shows the last");
}

struct mt_error *prompt_record_create(struct prompt *prompt)
{
	prompt->record = calloc(1, sizeof(*prompt->record));
	if (!prompt->record)
		return mt_error_no_memory();
	prompt->record->debugger = prompt->debugger;
	prompt->record->log = &prompt->terminal->log;
	return NULL;
}

void prompt_record_destroy(struct prompt *prompt)
{
	if (!prompt->record)
		return;
	prompt_triggers_deinit(prompt);
	free(prompt->record->last);
	free(prompt->record);
	prompt->record = NULL;
}

static const struct prompt_command mtrace_commands[] = {
    {.name = "start",
     .usage = "[-engine ENGINE] [-size SIZE] [-threads all|current] [-timestamps sampled|full]",
     .summary = "Record the program's function calls",
     .help = "Before \"run\", recording begins with the program's first instruction; while it is\n"
	     "stopped, when it goes on.  Each thread has a ring, which holds its last calls.\n",
     .run = run_start},
    {.name = "stop", .summary = "Stop recording", .run = run_stop},
    {.name = "snapshot",
     .usage = "[FILE]",
     .summary = "Write what was recorded so far as a timeline",
     .run = run_snapshot},
    {.name = "trigger",
     .usage = "[-max COUNT] [-stop] [-print EXPRESSION]... LOCATION [if CONDITION]",
     .summary = "Take a snapshot whenever a thread comes to LOCATION and CONDITION holds",
     .run = prompt_run_trigger},
    {.name = "delete",
     .usage = "NUMBER",
     .summary = "Delete a trigger",
     .run = prompt_run_delete_trigger},
    {.name = "history",
     .usage = "[-thread NUMBER] [COUNT] [FUNCTION]",
     .summary = "Print the last function calls of the selected thread",
     .run = run_history},
    {.name = "save",
     .usage = "FILE",
     .summary = "Write what was recorded so far as a recording (perf.data)",
     .run = run_save},
    {.name = "info",
     .summary = "Tell what is recorded, the snapshots and the triggers",
     .run = run_info},
    {.name = "view",
     .usage = "[--no-browser] [FILE]",
     .summary = "Open a timeline in the browser; by default the one that was written last",
     .run = run_view},
    {.name = "decode",
     .usage = "[OPTION]... RECORDING",
     .summary = "Make a timeline of a recording",
     .run = run_decode},
    {.name = "dump",
     .usage = "[OPTION]... RECORDING",
     .summary = "Print what a recording holds",
     .run = run_dump},
    {.name = "plan",
     .usage = "[OPTION]... FILE",
     .summary = "Tell what of a file can be recorded",
     .run = run_plan},
    {.name = "doctor", .summary = "Tell what works on this machine", .run = run_doctor},
    {0},
};

const struct prompt_command prompt_record_commands[] = {
    {.name = "mtrace",
     .usage = "COMMAND",
     .summary = "Record the program's function calls, and look back",
     .sub = mtrace_commands},
    {0},
};
