// SPDX-License-Identifier: Apache-2.0
// Growing one buffer: grow ROUNDS. From 64 KiB to 256 MiB by 1.5 times, each new page written; prints processor time of
// a round (the median) and how often the buffer moved.
#include "bench.hpp"

#include <algorithm>

namespace {

constexpr size_t kFirst = 64 << 10;
constexpr size_t kLast = 256 << 20;
constexpr size_t kPage = 4096;

unsigned grow_once()
{
	unsigned moves = 0;
	size_t size = kFirst;
	char *buffer = static_cast<char *>(std::malloc(size));
	for (size_t touched = 0; buffer; size = std::min(kLast, size + size / 2)) {
		char *grown = static_cast<char *>(std::realloc(buffer, size));
		moves += grown != buffer;
		buffer = grown;
		for (; buffer && touched < size; touched += kPage)
			*const_cast<volatile char *>(buffer + touched) = 1;
		if (size == kLast)
			break;
	}
	if (!buffer)
		std::exit(1);
	std::free(buffer);
	return moves;
}

} // namespace

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
	std::vector<uint64_t> times;
	unsigned moves = 0;
	for (int i = 0; i < rounds; i++) {
		uint64_t before = bench::now_ns(CLOCK_PROCESS_CPUTIME_ID);
		moves = grow_once();
		times.push_back(bench::now_ns(CLOCK_PROCESS_CPUTIME_ID) - before);
	}
	std::sort(times.begin(), times.end());
	std::printf("{\"ns\": %llu, \"cold_ns\": %llu, \"bytes\": %zu, \"moves\": %u}\n",
		    static_cast<unsigned long long>(times[times.size() / 2]), static_cast<unsigned long long>(times.back()),
		    kLast, moves);
}
