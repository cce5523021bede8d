// SPDX-License-Identifier: GPL-3.0-or-later
// orders ROUNDS: four threads that fill containers, call virtual functions, and throw exceptions
// through some frames: a C++ program as it is written every day.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" __attribute__((weak)) void bench_thread_done(void);

namespace
{
struct item {
	virtual ~item() = default;
	virtual long price(long count) const = 0;
};

struct simple : item {
	long unit;
	explicit simple(long u) : unit(u) {}
	long price(long count) const override { return unit * count; }
};

struct rare : item {
	long price(long count) const override
	{
		if (count > 900)
			throw std::out_of_range("sold out: " + std::to_string(count));
		return count * count;
	}
};

__attribute__((noinline)) std::unique_ptr<item> make(unsigned number)
{
	if (number % 7 == 0)
		return std::make_unique<rare>();
	return std::make_unique<simple>(number % 100);
}

__attribute__((noinline)) long sum(const std::vector<std::unique_ptr<item>> &items, unsigned seed)
{
	long total = 0;

	for (const auto &one : items)
		total += one->price((seed = seed * 1103515245 + 12345) >> 22);
	return total;
}

long round_of(unsigned seed)
{
	std::map<std::string, long> totals;
	std::vector<std::unique_ptr<item>> items;
	std::vector<long> sorted;

	for (unsigned i = 0; i < 40; i++)
		items.push_back(make(seed + i));
	for (unsigned i = 0; i < 60; i++) {
		try {
			totals["key " + std::to_string((seed + i) % 13)] += sum(items, seed + i);
		} catch (const std::out_of_range &error) {
			totals["failed"] += error.what()[0];
		}
	}
	for (const auto &[name, total] : totals)
		sorted.push_back(total + static_cast<long>(name.size()));
	std::sort(sorted.begin(), sorted.end(), [](long a, long b) { return a > b; });
	return std::accumulate(sorted.begin(), sorted.end(), 0L);
}
} // namespace

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1000;
	std::vector<std::thread> threads;
	long results[4];

	for (unsigned t = 0; t < 4; t++)
		threads.emplace_back([t, rounds, &results] {
			long result = 0;

			for (unsigned i = 0; i < rounds; i++)
				result += round_of(i * 4 + t);
			results[t] = result;
			if (bench_thread_done)
				bench_thread_done();
		});
	for (auto &thread : threads)
		thread.join();
	std::printf("%ld\n", results[0] + results[1] + results[2] + results[3]);
	return 0;
}
