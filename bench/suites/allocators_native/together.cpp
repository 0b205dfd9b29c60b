// SPDX-License-Identifier: Apache-2.0
// Loads of several threads.
#include "load.hpp"

#include <atomic>
#include <memory>

namespace load {

namespace {

void replace(std::vector<char *> &held, Random &random, unsigned count, size_t smallest, size_t largest)
{
	for (unsigned i = 0; i < count; i++) {
		char *&block = held[random.below(held.size())];
		std::free(block);
		block = make(smallest + random.below(largest - smallest));
	}
}

} // namespace

/// As a server does it: a thread replaces blocks at random, ends, and leaves them to the next.
void inherit(unsigned scale)
{
	threads(4, [=](unsigned thread) {
		auto held = std::make_unique<std::vector<char *>>(1000);
		for (unsigned generation = 0; generation < scale * 20; generation++) {
			std::thread next([&, generation] {
				Random random(thread * 1000 + generation + 1);
				replace(*held, random, 50'000, 8, 1000);
			});
			next.join();
		}
		for (char *block : *held)
			std::free(block);
	});
}

/// Two threads make blocks and two others free them, by the batch. Who waits sleeps: waiting is no allocator's work.
void producers(unsigned scale)
{
	constexpr unsigned kBatch = 256, kQueue = 16;
	struct Batch {
		char *block[kBatch];
	};
	struct Queue {
		std::atomic<Batch *> slot[kQueue] = {};
	};
	static Queue queues[2];
	const unsigned batches = scale * 8000;
	threads(4, [=](unsigned thread) {
		Queue &queue = queues[thread / 2];
		Random random(thread + 1);
		for (unsigned i = 0; i < batches; i++) {
			std::atomic<Batch *> &slot = queue.slot[i % kQueue];
			if (thread % 2) {
				Batch *batch;
				while (!(batch = slot.exchange(nullptr, std::memory_order_acquire)))
					slot.wait(nullptr, std::memory_order_relaxed);
				slot.notify_one();
				for (char *block : batch->block)
					std::free(block);
				std::free(batch);
			} else {
				auto *batch = static_cast<Batch *>(take(std::malloc(sizeof(Batch))));
				for (char *&block : batch->block)
					block = make(16 + random.below(240));
				for (Batch *full; (full = slot.load(std::memory_order_relaxed));)
					slot.wait(full, std::memory_order_relaxed);
				slot.store(batch, std::memory_order_release);
				slot.notify_one();
			}
		}
	});
}

/// Threads of short life keep, free and hand over blocks of 8 bytes to 100 KiB; most are small.
void mixed(unsigned scale)
{
	constexpr unsigned kShared = 1000;
	static std::atomic<char *> shared[kShared];
	for (unsigned round = 0; round < scale * 12; round++) {
		threads(4, [=](unsigned thread) {
			Random random(round * 4 + thread + 1);
			std::vector<char *> held;
			for (unsigned i = 0; i < 25'000; i++) {
				uint64_t choice = random.below(100);
				if (choice < 50 || held.empty()) {
					held.push_back(make(8 + random.size(8, choice < 2 ? 100 << 10 : 1 << 10)));
				} else if (choice < 80) {
					std::swap(held[random.below(held.size())], held.back());
					std::free(held.back());
					held.pop_back();
				} else {
					held.back() = shared[random.below(kShared)].exchange(held.back());
					if (!held.back())
						held.pop_back();
				}
			}
			for (char *block : held)
				std::free(block);
		});
	}
	for (std::atomic<char *> &block : shared)
		std::free(block.load());
}

} // namespace load
