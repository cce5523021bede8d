/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session/state/state.h"

#include <stdlib.h>

void mt_session_trigger_deinit(struct mt_session_trigger *trigger)
{
	mt_trigger_spec_deinit(&trigger->spec);
	free(trigger->names);
	free(trigger->problem);
}
