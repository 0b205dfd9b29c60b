// SPDX-License-Identifier: Apache-2.0
// Threads that allocate, grow, check and free each other's blocks: stress SECONDS SEED. A block is filled with bytes that
// follow from its number, so that overlapping or lost memory shows; all of it comes back at the end.
#include "check.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kThreads = 8;
constexpr unsigned kPlaces = 512;
constexpr size_t kChecked = 4096;

struct Place {
	std::mutex lock;
	unsigned char *block = nullptr;
	size_t size = 0;
	unsigned char mark = 0;
};

Place places[kPlaces];
std::atomic<bool> stop;
std::atomic<uint64_t> calls;

uint64_t next(uint64_t &state)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/// The first and the last bytes, and some between.
template <typename Action> void each_byte(size_t size, Action action)
{
	size_t step = size <= kChecked ? 1 : size / kChecked;
	for (size_t at = 0; at < size; at += step)
		action(at);
	action(size - 1);
}

void fill(Place &place)
{
	each_byte(place.size, [&](size_t at) { place.block[at] = static_cast<unsigned char>(place.mark + at); });
}

void verify(const Place &place, size_t size)
{
	size_t step = place.size <= kChecked ? 1 : place.size / kChecked;
	for (size_t at = 0; at < size; at += step)
		CHECK(place.block[at] == static_cast<unsigned char>(place.mark + at));
}

size_t random_size(uint64_t choice)
{
	// Mostly small, every factor of two as likely as the next up to 1 MiB.
	unsigned bits = choice % 16 == 0 ? 12 + choice / 16 % 9 : 3 + choice / 16 % 9;
	return 1 + (choice >> 32) % (size_t{1} << bits);
}

void work(uint64_t seed)
{
	uint64_t random = seed * 0x9e3779b97f4a7c15u | 1, done = 0;
	while (!stop.load(std::memory_order_relaxed)) {
		uint64_t choice = next(random);
		Place &place = places[choice % kPlaces];
		std::lock_guard guard(place.lock);
		size_t size = random_size(next(random));
		done++;
		if (!place.block) {
			place.block = static_cast<unsigned char *>(choice >> 20 & 1 ? cmt_malloc(size) : cmt_calloc(1, size));
			CHECK(place.block && cmt_usable_size(place.block) >= size);
		} else if (choice >> 21 & 1) {
			verify(place, place.size);
			auto *moved = static_cast<unsigned char *>(cmt_realloc(place.block, size));
			CHECK(moved);
			place.block = moved;
			verify(place, size < place.size ? size : place.size);
		} else {
			verify(place, place.size);
			cmt_free(place.block);
			place.block = nullptr;
			continue;
		}
		place.size = size;
		place.mark = static_cast<unsigned char>(choice >> 40);
		fill(place);
		if (done % 20000 == 0)
			cmt_trim();
	}
	calls += done;
}

} // namespace

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? std::atol(argv[1]) : 1;
	uint64_t seed = argc > 2 ? static_cast<uint64_t>(std::atoll(argv[2])) : 1;
	CHECK(open_pool("size=256MiB") == 0);
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < kThreads; i++)
		threads.emplace_back(work, seed + i);
	std::this_thread::sleep_for(std::chrono::seconds(seconds));
	stop = true;
	for (auto &thread : threads)
		thread.join();
	for (Place &place : places) {
		if (place.block)
			verify(place, place.size);
		cmt_free(place.block);
	}
	CHECK(cmt_check() == 0);
	cmt_trim();
	struct cmt_stats stats;
	cmt_stats(&stats);
	CHECK(stats.cached == 0 && stats.superblocks == 0 && stats.misuses == 0);
	CHECK(stats.free == stats.total && stats.largest_free == stats.total);
	std::printf("%llu calls by %u threads, seed %llu: nothing lost, nothing overlapping, everything returned\n",
		    static_cast<unsigned long long>(calls), kThreads, static_cast<unsigned long long>(seed));
}
