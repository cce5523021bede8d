/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The PMU from trees of sysfs, as machines have them, and the config words made of it. */
#include "sysfs_tree.h"
#include "unit.h"

#include "kernel/pmu.h"

static void skylake_is_read(void **state)
{
	char *root = make_sysfs(sysfs_skylake);
	struct mt_pmu pmu;

	(void)state;
	assert_no_error(mt_pmu_read(root, &pmu));
	assert_int_equal(pmu.type, 8);
	assert_int_equal(pmu.fields[MT_PMU_MTC_PERIOD], 0xf << 14);
	assert_int_equal(pmu.fields[MT_PMU_CYC], 1 << 1);
	assert_int_equal(pmu.mtc_periods, 0x249);
	assert_int_equal(pmu.psb_periods, 0x3f);
	assert_true(pmu.psb_cyc && pmu.mtc && pmu.ip_filtering);
	assert_false(pmu.ptwrite || pmu.power_events);
	assert_int_equal(pmu.address_filters, 2);
	assert_int_equal(pmu.max_nonturbo_ratio, 24);
	assert_int_equal(pmu.tsc_ctc_numerator, 216);
	assert_int_equal(pmu.tsc_ctc_denominator, 2);
	remove_sysfs(root);
}

static struct mt_pmu_config config_of(const char *const *tree,
				      const struct mt_pmu_settings *settings)
{
	char *root = make_sysfs(tree);
	struct mt_pmu_config config;
	struct mt_pmu pmu;

	assert_no_error(mt_pmu_read(root, &pmu));
	assert_no_error(mt_pmu_configure(&pmu, settings, &config));
	remove_sysfs(root);
	return config;
}

static void resolutions_become_periods(void **state)
{
	struct mt_pmu_settings settings = {0};

	(void)state;
	struct mt_pmu_config normal = config_of(sysfs_skylake, &settings);
	/* pt, branch, tsc, mtc, cyc; mtc_period 3, cyc_thresh 5, psb_period 3 */
	assert_int_equal(normal.config,
			 1 | 1 << 13 | 1 << 10 | 1 << 9 | 1 << 1 | 3 << 14 | 5 << 19 | 3 << 24);
	assert_true(normal.tsc && normal.mtc && normal.cyc && normal.return_compression);
	assert_int_equal(normal.mtc_period, 3);

	settings.resolution = MT_PMU_HIGH;
	struct mt_pmu_config high = config_of(sysfs_skylake, &settings);
	assert_int_equal(high.mtc_period, 0);
	assert_int_equal(high.cyc_threshold, 0);
	assert_true(high.cyc);

	settings.resolution = MT_PMU_LOW;
	settings.no_return_compression = true;
	struct mt_pmu_config low = config_of(sysfs_skylake, &settings);
	assert_int_equal(low.config, 1 | 1 << 13 | 1 << 10 | 1 << 9 | 1 << 11 | 9 << 14 | 3 << 24);
	assert_false(low.cyc || low.return_compression);
}

/* Broadwell has neither MTC nor CYC, and no field for PSBs that may be set. */
static void what_broadwell_lacks_is_left_out(void **state)
{
	const struct mt_pmu_settings settings = {.resolution = MT_PMU_HIGH};
	struct mt_pmu_config config = config_of(sysfs_broadwell, &settings);

	(void)state;
	assert_int_equal(config.config, 1 << 10);
	assert_true(config.tsc && config.return_compression);
	assert_false(config.mtc || config.cyc);
}

static void small_rings_get_more_psbs(void **state)
{
	const struct mt_pmu_settings settings = {.ring_bytes = 64 << 10};

	(void)state;
	assert_int_equal(config_of(sysfs_skylake, &settings).psb_period, 2);
}

static void alder_lake_has_all(void **state)
{
	const struct mt_pmu_settings settings = {.ptwrite = true, .power_events = true};
	struct mt_pmu_config config = config_of(sysfs_alder_lake, &settings);

	(void)state;
	assert_int_equal(config.config & (1 << 4 | 1 << 5 | 1 << 12), 1 << 4 | 1 << 5 | 1 << 12);
}

static void what_is_not_there_is_refused(void **state)
{
	const struct mt_pmu_settings ptwrite = {.ptwrite = true}, power = {.power_events = true};
	char *root = make_sysfs(sysfs_skylake);
	struct mt_pmu_config config;
	struct mt_pmu pmu;

	(void)state;
	assert_no_error(mt_pmu_read(root, &pmu));
	assert_error(mt_pmu_configure(&pmu, &ptwrite, &config), MT_ERROR_UNSUPPORTED, "PTWRITE");
	assert_error(mt_pmu_configure(&pmu, &power, &config), MT_ERROR_UNSUPPORTED, "power");
	remove_sysfs(root);
}

static void machines_without_it_say_why(void **state)
{
	static const char *const other[] = {"software/type", "1", NULL};
	static const char *const none[] = {NULL};
	char *root = make_sysfs(other);
	struct mt_pmu pmu;

	(void)state;
	assert_error(mt_pmu_read(root, &pmu), MT_ERROR_UNSUPPORTED, "Intel PT");
	remove_sysfs(root);
	root = make_sysfs(none);
	assert_error(mt_pmu_read(root, &pmu), MT_ERROR_UNSUPPORTED, "mount sysfs");
	remove_sysfs(root);
}

static void strange_trees_are_refused(void **state)
{
	static const char *const strange[][5] = {
	    {"intel_pt/type", "eight"},
	    {"intel_pt/type", "99999999999"},
	    {"intel_pt/type", "8", "intel_pt/format/cyc", "config1:1"},
	    {"intel_pt/type", "8", "intel_pt/format/cyc", "config:64"},
	    {"intel_pt/type", "8", "intel_pt/format/cyc", "config:9-3"},
	    {"intel_pt/type", "8", "intel_pt/format/cyc", "config:1,5"},
	    {"intel_pt/type", "8", "intel_pt/caps/mtc", "yes"},
	    {"intel_pt/type", "8", "intel_pt/tsc_art_ratio", "216"},
	};
	struct mt_pmu pmu;

	(void)state;
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		char *root = make_sysfs(strange[i]);

		assert_error(mt_pmu_read(root, &pmu), MT_ERROR_FORMAT, "not understood");
		remove_sysfs(root);
	}
}

static void resolutions_have_names(void **state)
{
	enum mt_pmu_resolution resolution;

	(void)state;
	assert_true(mt_pmu_parse_resolution("low", &resolution) && resolution == MT_PMU_LOW);
	assert_true(mt_pmu_parse_resolution("normal", &resolution) && resolution == MT_PMU_NORMAL);
	assert_true(mt_pmu_parse_resolution("high", &resolution) && resolution == MT_PMU_HIGH);
	assert_false(mt_pmu_parse_resolution("higher", &resolution));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(skylake_is_read),
	    cmocka_unit_test(resolutions_become_periods),
	    cmocka_unit_test(what_broadwell_lacks_is_left_out),
	    cmocka_unit_test(small_rings_get_more_psbs),
	    cmocka_unit_test(alder_lake_has_all),
	    cmocka_unit_test(what_is_not_there_is_refused),
	    cmocka_unit_test(machines_without_it_say_why),
	    cmocka_unit_test(strange_trees_are_refused),
	    cmocka_unit_test(resolutions_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
