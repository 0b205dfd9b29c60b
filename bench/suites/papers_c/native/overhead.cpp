// SPDX-License-Identifier: Apache-2.0
// Memory in use over memory asked for: overhead MIN MAX TOTAL. Blocks of random size until TOTAL bytes are asked for, all
// written; in use is what the pool took from its areas if there is one in this process, and otherwise what became
// resident.
#include "bench.hpp"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <unistd.h>

#include <cmt.h>

namespace {

size_t resident()
{
	size_t all = 0, present = 0;
	std::ifstream("/proc/self/statm") >> all >> present;
	return present * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t in_use()
{
	using Stats = void (*)(struct cmt_stats *);
	if (auto read = reinterpret_cast<Stats>(dlsym(RTLD_DEFAULT, "cmt_stats"))) {
		struct cmt_stats stats;
		read(&stats);
		return stats.total - stats.free + stats.metadata_bytes;
	}
	return resident();
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const double smallest = std::atof(argv[1]), largest = std::atof(argv[2]);
	const size_t total = static_cast<size_t>(std::atoll(argv[3]));
	bench::Random random(1);
	std::vector<void *> blocks;
	blocks.reserve(1 << 22);
	std::memset(static_cast<void *>(blocks.data()), 1, blocks.capacity() * sizeof(void *));
	const size_t before = in_use();
	size_t asked = 0;
	while (asked < total) {
		size_t size = static_cast<size_t>(smallest * std::exp2(std::log2(largest / smallest) * random.unit()));
		void *block = std::malloc(size);
		if (!block)
			return 1;
		std::memset(block, 1, size);
		blocks.push_back(block);
		asked += size;
	}
	std::printf("{\"asked\": %zu, \"used\": %zu}\n", asked, in_use() - before);
}
