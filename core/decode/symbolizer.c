/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/symbolizer.h"

#include "trace/event.h"

static struct mt_space *space_of(void *context, uint64_t address)
{
	struct mt_space_symbolizer *self = context;

	return mt_address_is_kernel(address) ? self->kernel : self->user;
}

static const struct mt_function *function_at(void *context, uint64_t address)
{
	struct mt_space_symbolizer *self = context;

	pthread_mutex_lock(self->lock);
	const struct mt_function *function = mt_space_function_at(space_of(self, address), address);
	pthread_mutex_unlock(self->lock);
	return function;
}

static bool source_at(void *context, uint64_t address, struct mt_source *out)
{
	struct mt_space_symbolizer *self = context;

	pthread_mutex_lock(self->lock);
	bool is_known = mt_space_source_at(space_of(self, address), address, out);
	pthread_mutex_unlock(self->lock);
	return is_known;
}

static void inlines_at(void *context, uint64_t address, struct mt_inline_span *out)
{
	struct mt_space_symbolizer *self = context;

	pthread_mutex_lock(self->lock);
	mt_space_inlines_at(space_of(self, address), address, out);
	pthread_mutex_unlock(self->lock);
}

static uint64_t call_site(void *context, const struct mt_function *caller,
			  const struct mt_function *callee, bool is_jump)
{
	struct mt_space_symbolizer *self = context;

	pthread_mutex_lock(self->lock);
	uint64_t site = mt_call_sites_find(self->call_sites, space_of(self, caller->start), caller,
					   callee, is_jump);
	pthread_mutex_unlock(self->lock);
	return site;
}

static struct mt_call_before call_before(void *context, uint64_t return_address)
{
	struct mt_space_symbolizer *self = context;

	pthread_mutex_lock(self->lock);
	struct mt_call_before call =
	    mt_call_sites_before(self->call_sites, space_of(self, return_address), return_address);
	pthread_mutex_unlock(self->lock);
	return call;
}

static const struct mt_function *made_at(void *context, uint64_t address)
{
	struct mt_space_symbolizer *self = context;

	if (mt_address_is_kernel(address))
		return NULL;
	pthread_mutex_lock(self->lock);
	const struct mt_function *made = mt_space_made_at(self->user, address);
	pthread_mutex_unlock(self->lock);
	return made;
}

void mt_space_symbolizer_init(struct mt_space_symbolizer *symbolizer, struct mt_space *user,
			      struct mt_space *kernel, bool inlines,
			      struct mt_call_sites *call_sites, pthread_mutex_t *lock)
{
	*symbolizer = (struct mt_space_symbolizer){
	    .symbolizer = {function_at, source_at, inlines ? inlines_at : NULL,
			   call_sites ? call_site : NULL, call_sites ? call_before : NULL, made_at,
			   symbolizer},
	    .user = user,
	    .kernel = kernel,
	    .call_sites = call_sites,
	    .lock = lock,
	};
}
