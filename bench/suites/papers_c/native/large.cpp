// SPDX-License-Identifier: Apache-2.0
// Random large requests: large THREADS REQUESTS SEED. REQUESTS in all, shared by the threads. Each thread keeps up to 16
// blocks of 64 KiB to 4 MiB (every factor of two as likely as the next); a request frees the one in a random place and
// allocates another, of which the first and the last byte are written.
#include "bench.hpp"

#include <cmath>

namespace {

constexpr unsigned kHeld = 16;
constexpr double kSmallest = 64 << 10;
constexpr double kDoublings = 6;

void requests(unsigned count, uint64_t seed)
{
	bench::Random random(seed);
	std::vector<size_t> sizes(256);
	for (size_t &size : sizes)
		size = static_cast<size_t>(kSmallest * std::exp2(kDoublings * random.unit()));
	char *held[kHeld] = {};
	for (unsigned i = 0; i < count; i++) {
		uint64_t choice = random.next();
		char *&block = held[choice % kHeld];
		size_t size = sizes[choice >> 32 & 255];
		std::free(block);
		block = static_cast<char *>(std::malloc(size));
		if (!block) {
			std::fprintf(stderr, "out of memory\n");
			std::exit(1);
		}
		*const_cast<volatile char *>(block) = 1;
		*const_cast<volatile char *>(block + size - 1) = 1;
	}
	for (char *block : held)
		std::free(block);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	unsigned threads = static_cast<unsigned>(std::atoi(argv[1]));
	unsigned count = static_cast<unsigned>(std::atoi(argv[2])) / threads;
	uint64_t seed = static_cast<uint64_t>(std::atoll(argv[3]));
	bench::print(bench::measure(threads, [&](unsigned thread) { requests(count, seed + thread); }));
}
