// SPDX-License-Identifier: Apache-2.0
// What the programs share: processor time of threads that start together, and random numbers that are the same for every
// allocator.
#pragma once

#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace bench {

/// xorshift64*; `seed` is not zero.
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

	/// In [0, 1).
	double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
	uint64_t state_;
};

inline uint64_t now_ns(clockid_t clock)
{
	timespec time;
	clock_gettime(clock, &time);
	return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

struct Times {
	uint64_t cold_ns = 0;
	uint64_t warm_ns = 0;
};

/// Runs `body(thread)` twice in each of `threads` threads: cold, then warm. Processor time, system included, summed over
/// the threads; starting them does not count.
template <typename Body> Times measure(unsigned threads, Body body)
{
	std::vector<Times> times(threads);
	std::vector<std::thread> running;
	std::barrier start(threads);
	for (unsigned i = 0; i < threads; i++) {
		running.emplace_back([&, i] {
			start.arrive_and_wait();
			uint64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
			body(i);
			uint64_t between = now_ns(CLOCK_THREAD_CPUTIME_ID);
			body(i);
			times[i] = {between - before, now_ns(CLOCK_THREAD_CPUTIME_ID) - between};
		});
	}
	for (auto &thread : running)
		thread.join();
	Times sum;
	for (const Times &one : times) {
		sum.cold_ns += one.cold_ns;
		sum.warm_ns += one.warm_ns;
	}
	return sum;
}

inline void print(const Times &times)
{
	std::printf("{\"cold_ns\": %llu, \"warm_ns\": %llu}\n", static_cast<unsigned long long>(times.cold_ns),
		    static_cast<unsigned long long>(times.warm_ns));
}

} // namespace bench
