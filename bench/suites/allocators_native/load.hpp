// SPDX-License-Identifier: Apache-2.0
// What the loads share: random numbers, threads, and what the process has used at its end.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace load {

/// xorshift64*.
class Random {
  public:
	explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u | 1) {}

	uint64_t next()
	{
		state_ ^= state_ >> 12;
		state_ ^= state_ << 25;
		state_ ^= state_ >> 27;
		return state_ * 0x2545f4914f6cdd1du;
	}

	/// In [0, bound).
	uint64_t below(uint64_t bound) { return (next() >> 32) * bound >> 32; }

	/// Every doubling from `smallest` to `largest` as likely as the next.
	size_t size(size_t smallest, size_t largest)
	{
		unsigned doublings = 0;
		while (smallest << doublings < largest)
			doublings++;
		size_t low = smallest << below(doublings);
		return low + below(low);
	}

  private:
	uint64_t state_;
};

inline void *take(void *block)
{
	if (!block) {
		std::fprintf(stderr, "out of memory\n");
		std::exit(1);
	}
	return block;
}

/// A block whose first and last byte are written.
inline char *make(size_t size)
{
	char *block = static_cast<char *>(take(std::malloc(size)));
	*const_cast<volatile char *>(block) = static_cast<char>(size);
	*const_cast<volatile char *>(block + size - 1) = static_cast<char>(size);
	return block;
}

template <typename Body> void threads(unsigned count, Body body)
{
	std::vector<std::thread> running;
	for (unsigned i = 0; i < count; i++)
		running.emplace_back([=] { body(i); });
	for (std::thread &thread : running)
		thread.join();
}

/// The peak is that of this program alone: the system's own count begins with that of whoever started it.
inline void report()
{
	char line[256];
	long peak = 0;
	std::FILE *status = std::fopen("/proc/self/status", "r");
	while (status && std::fgets(line, sizeof(line), status))
		std::sscanf(line, "VmHWM: %ld", &peak);
	if (status)
		std::fclose(status);
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	auto us = [](const timeval &time) { return time.tv_sec * 1'000'000L + time.tv_usec; };
	std::printf("{\"user_us\": %ld, \"system_us\": %ld, \"peak_bytes\": %ld}\n", us(use.ru_utime),
		    us(use.ru_stime), peak * 1024);
}

using Load = void(unsigned scale);
Load simple, factors, covers, random_large, anything;
Load inherit, producers, mixed;

} // namespace load
