/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_libipt.h"

/* Family and model in one number, as CPUID leaf 1 gives them. */
#define CPU(family, model) ((family) << 8 | (model))

/* By Intel's specification updates.  libipt's own table ends with the processors of its day. */
static struct pt_errata errata_of(const struct mt_cpu *cpu)
{
	if (!cpu->intel)
		return (struct pt_errata){0};
	switch (CPU((unsigned int)cpu->family, cpu->model)) {
	case CPU(6, 0x3d): /* Broadwell */
	case CPU(6, 0x47):
	case CPU(6, 0x4f):
	case CPU(6, 0x56):
		return (struct pt_errata){.bdm70 = 1, .bdm64 = 1};
	case CPU(6, 0x4e): /* Skylake to Comet Lake */
	case CPU(6, 0x5e):
	case CPU(6, 0x8e):
	case CPU(6, 0x9e):
	case CPU(6, 0xa5):
	case CPU(6, 0xa6):
		return (struct pt_errata){
		    .bdm70 = 1, .skd007 = 1, .skd022 = 1, .skd010 = 1, .skl014 = 1};
	case CPU(6, 0x55): /* the servers Skylake to Ice Lake */
	case CPU(6, 0x6a):
	case CPU(6, 0x6c):
	case CPU(6, 0x66): /* Cannon Lake to Rocket Lake */
	case CPU(6, 0x7d):
	case CPU(6, 0x7e):
	case CPU(6, 0x8c):
	case CPU(6, 0x8d):
	case CPU(6, 0xa7):
	case CPU(6, 0xa8):
		return (struct pt_errata){.bdm70 = 1, .skd022 = 1, .skl014 = 1};
	case CPU(6, 0x8f): /* the servers since Sapphire Rapids */
	case CPU(6, 0xcf):
	case CPU(6, 0xad):
	case CPU(6, 0xae):
		return (struct pt_errata){.bdm70 = 1, .skd022 = 1};
	case CPU(6, 0x5c): /* Goldmont */
	case CPU(6, 0x5f):
		return (struct pt_errata){.apl11 = 1, .apl12 = 1};
	case CPU(6, 0x7a): /* the small processors since then */
	case CPU(6, 0x86):
	case CPU(6, 0x96):
	case CPU(6, 0x9c):
	case CPU(6, 0xb6):
	case CPU(6, 0xaf):
	case CPU(6, 0xdd):
		return (struct pt_errata){.apl11 = 1};
	default: /* since Alder Lake, and what is newer than this list */
		return (struct pt_errata){.bdm70 = 1, .skd022 = 1, .apl11 = 1};
	}
}

static bool has_skz84(const struct mt_cpu *cpu)
{
	switch (CPU((unsigned int)cpu->family, cpu->model)) {
	case CPU(6, 0x55): /* Skylake's servers and those after it */
	case CPU(6, 0x6a):
	case CPU(6, 0x6c):
	case CPU(6, 0x8f):
	case CPU(6, 0xad):
	case CPU(6, 0xae):
	case CPU(6, 0xcf):
	case CPU(19, 0x01):
		return cpu->intel;
	default:
		return false;
	}
}

/* For libipt: 0 asks it to look at POS again. */
static int mask_unknown(struct pt_packet_unknown *unknown, const struct pt_config *config,
			const uint8_t *pos, void *mask)
{
	int status = mt_pt_mask_from(mask, config->begin + (pos - config->begin),
				     (size_t)(config->end - pos));

	(void)unknown;
	return status > 0 ? 0 : status < 0 ? -pte_eos : -pte_bad_opc;
}

void mt_pt_libipt_config(struct pt_config *config, const struct mt_cpu *cpu,
			 const struct mt_pt_timing *timing, struct mt_pt_mask *mask)
{
	pt_config_init(config);
	config->cpu = (struct pt_cpu){
	    .vendor = cpu->intel ? pcv_intel : pcv_unknown,
	    .family = cpu->family,
	    .model = cpu->model,
	    .stepping = cpu->stepping,
	};
	config->errata = errata_of(cpu);
	mask->skz84 = has_skz84(cpu);
	mask->skd007 = config->errata.skd007;
	config->decode.callback = mask_unknown;
	config->decode.context = mask;
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
