/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values that a debugger's user wants recorded.  They are the engine's gates (gate.c), which stop
 * nobody: so they come and go with what is wanted at each stop. */
#include "session/private.h"
#include "space/location.h"

#include <stdlib.h>
#include <string.h>

struct setting {
	struct mt_session *session;
	struct mt_session_process *process;
	struct mt_session_trigger trigger;
	uint32_t number;
	size_t functions;
};

static struct mt_session_gate *gate_at(const struct setting *setting, uint64_t address)
{
	mt_array_each (gate, &setting->process->gates)
		if (gate->gate.address == address && gate->gate.trigger == setting->number)
			return gate;
	return NULL;
}

static struct mt_error *put(const struct setting *setting, struct mt_session_gate *gate)
{
	const struct mt_engine_ops *engine = mt_session_engine_ops(setting->session);
	const struct mt_session_trigger *trigger = &setting->trigger;

	gate->text = strdup(trigger->text);
	if (!gate->text)
		return mt_error_no_memory();
	mt_try(mt_session_parse_values_at(setting->session, setting->process, trigger,
					  gate->gate.address, &gate->values));
	const struct mt_engine_condition given = {.text = gate->text,
						  .trigger = setting->number,
						  .at_return = trigger->spec.at_return,
						  .values = gate->values.items,
						  .value_count = gate->values.count,
						  .option = trigger->option,
						  .is_one_of_many = trigger->is_glob,
						  .is_implied = trigger->words,
						  .is_of_runtime =
						      trigger->words >= MT_WORDS_GOROUTINE};
	mt_try(engine->gates->set(setting->session->engine, setting->process->pid,
				  gate->gate.address, &given));
	return mt_array_push(&setting->process->gates, *gate) ? mt_error_no_memory() : NULL;
}

static struct mt_error *add(void *context, uint64_t address)
{
	struct setting *setting = context;
	struct mt_session_gate gate = {.gate = {.address = address, .trigger = setting->number},
				       .is_wanted = true};

	if (gate_at(setting, address))
		return NULL;
	struct mt_error *error = put(setting, &gate);
	if (!error) {
		setting->functions++;
		return NULL;
	}
	mt_session_forget_values(&gate.values);
	free(gate.text);
	if (!setting->trigger.is_glob || mt_error_code(error) == MT_ERROR_BUSY)
		return error;
	return mt_session_leave_out(setting->session, setting->process, &setting->trigger, address,
				    error);
}

struct mt_error *mt_session_record_values(struct mt_session *session,
					  struct mt_session_process *process,
					  const struct mt_session_trigger *trigger, uint32_t number,
					  uint64_t address)
{
	struct setting setting = {
	    .session = session, .process = process, .trigger = *trigger, .number = number};
	struct mt_session_gate *there = gate_at(&setting, address);

	if (there)
		there->is_wanted = true;
	return there ? NULL : add(&setting, address);
}

static struct mt_error *add_glob(struct setting *setting)
{
	struct mt_space *code = setting->process->code;

	for (size_t i = 0; i < mt_space_mapping_count(code); i++)
		mt_try(mt_session_each_of_glob(code, mt_space_mapping(code, i), &setting->trigger,
					       add, setting));
	return NULL;
}

static struct mt_error *add_at(struct setting *setting, const struct mt_location *location)
{
	return location->address == location->entry
		   ? add(setting, location->entry)
		   : mt_error_new(MT_ERROR_TRIGGER,
				  "invalid %s \"%s\": it is not the entry of a function",
				  setting->trigger.option, setting->trigger.text);
}

/* Whatever is said of the text's other functions. */
static bool is_final(const struct mt_error *error)
{
	return error && (mt_error_code(error) == MT_ERROR_BUSY ||
			 mt_error_code(error) == MT_ERROR_NO_MEMORY);
}

static struct mt_error *add_named(struct setting *setting)
{
	const struct mt_location_options options = {.no_inlined = true, .no_stubs = true};
	struct mt_locations found;
	struct mt_error *error = NULL;

	mt_try(mt_location_resolve(setting->process->code, setting->trigger.spec.location, &options,
				   &found));
	/* The dynamic loader, which is not recorded, has some functions of libc's. */
	for (size_t i = 0; i < found.count && !is_final(error); i++) {
		mt_error_destroy(error);
		error = add_at(setting, &found.items[i]);
	}
	mt_locations_deinit(&found);
	if (!setting->functions || is_final(error))
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_session_value_set *set_of(struct mt_session_process *process, uint32_t number)
{
	mt_array_each (set, &process->value_sets)
		if (set->number == number)
			return set;
	return mt_array_push(&process->value_sets, (struct mt_session_value_set){.number = number})
		   ? NULL
		   : mt_array_last(&process->value_sets);
}

struct mt_error *mt_session_values_set(struct mt_session *session, pid_t pid,
				       const struct mt_values_spec *spec, uint32_t number,
				       size_t *functions)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);
	struct setting setting = {.session = session,
				  .process = process,
				  .trigger = mt_session_values_trigger(spec),
				  .number = number};

	*functions = 0;
	if (!process || !mt_session_engine_ops(session)->gates)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "the engine %s records no values (\"mtrace start -engine "
				    "calls\" does)",
				    mt_session_engine_ops(session)->name);
	mt_try(mt_session_see_all(session, process));
	mt_array_each (gate, &process->gates)
		gate->is_wanted |= gate->gate.trigger == number;
	struct mt_session_value_set *set = set_of(process, number);
	if (!set)
		return mt_error_no_memory();
	*functions = set->functions;
	if (set->mapping_count == mt_space_mapping_count(process->code))
		return NULL;
	struct mt_error *error = spec->is_glob ? add_glob(&setting) : add_named(&setting);
	set->functions += setting.functions;
	*functions = set->functions;
	if (error && mt_error_code(error) == MT_ERROR_NOT_FOUND &&
	    !mt_session_has_begun(session, process)) {
		mt_error_destroy(error);
		return mt_error_new(MT_ERROR_BUSY, "the program's libraries are not loaded yet");
	}
	if (!is_final(error))
		set->mapping_count = mt_space_mapping_count(process->code);
	return error;
}
