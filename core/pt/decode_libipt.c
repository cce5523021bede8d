/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_libipt.h"

void mt_pt_libipt_config(struct pt_config *config, const struct mt_cpu *cpu,
			 const struct mt_pt_timing *timing)
{
	pt_config_init(config);
	config->cpu = (struct pt_cpu){
	    .vendor = cpu->intel ? pcv_intel : pcv_unknown,
	    .family = cpu->family,
	    .model = cpu->model,
	    .stepping = cpu->stepping,
	};
	/* A CPU that libipt does not know has no errata that it knows. */
	if (pt_cpu_errata(&config->errata, &config->cpu) < 0)
		config->errata = (struct pt_errata){0};
	config->cpuid_0x15_eax = timing->tsc_ctc_denominator;
	config->cpuid_0x15_ebx = timing->tsc_ctc_numerator;
	config->mtc_freq = timing->mtc_period & 0xf; /* RTIT_CTL.MTCFreq has four bits */
	config->nom_freq = timing->max_nonturbo_ratio;
}

struct pt_config mt_pt_libipt_config_of(const struct pt_config *config, const uint8_t *bytes,
					size_t size)
{
	struct pt_config copy = *config;

	copy.begin = (uint8_t *)(uintptr_t)bytes;
	copy.end = copy.begin + size;
	return copy;
}

int mt_pt_position_at_psb(const struct pt_config *config, const uint8_t *bytes, size_t size,
			  size_t offset, struct mt_pt_position *out)
{
	struct pt_config own = mt_pt_libipt_config_of(config, bytes, size);

	struct pt_query_decoder *query = pt_qry_alloc_decoder(&own);
	if (!query)
		return -1;
	int status = pt_qry_sync_set(query, &out->ip, offset);
	out->tracing = status >= 0 && !(status & pts_ip_suppressed);
	pt_qry_free_decoder(query);
	return status < 0 ? -1 : 0;
}
