// SPDX-License-Identifier: Apache-2.0
// Loads of one thread.
#include "load.hpp"

namespace load {

/// A C program's sizes: most below 64 bytes, few above 1 KiB; lives of very different lengths.
void simple(unsigned scale)
{
	constexpr unsigned kHeld = 1600;
	static char *held[kHeld];
	size_t sizes[512];
	Random random(1);
	for (size_t &size : sizes) {
		uint64_t kind = random.below(100);
		size = kind < 60 ? 8 + random.below(57) : kind < 90 ? 64 + random.below(193) : 256 + random.below(1800);
	}
	for (unsigned i = 0; i < scale * 4'000'000; i++) {
		uint64_t choice = random.next();
		// A quarter of the places has most of the traffic.
		char *&block = held[choice & 3 ? choice >> 8 & 255 : (choice >> 8) % kHeld];
		std::free(block);
		block = make(sizes[choice >> 40 & 511]);
	}
	for (char *block : held)
		std::free(block);
}

namespace {

/// A whole number of 16-bit digits, lowest first.
struct Number {
	uint32_t count;
	uint16_t digit[];
};

Number *number(uint32_t count)
{
	auto *made = static_cast<Number *>(take(std::malloc(sizeof(Number) + count * sizeof(uint16_t))));
	made->count = count;
	return made;
}

Number *plus_times(const Number *left, uint32_t factor, uint32_t added)
{
	Number *sum = number(left->count + 2);
	uint64_t carry = added;
	for (uint32_t i = 0; i < left->count; i++, carry >>= 16) {
		carry += uint64_t{left->digit[i]} * factor;
		sum->digit[i] = static_cast<uint16_t>(carry);
	}
	sum->digit[left->count] = static_cast<uint16_t>(carry);
	sum->digit[left->count + 1] = static_cast<uint16_t>(carry >> 16);
	while (sum->count > 1 && !sum->digit[sum->count - 1])
		sum->count--;
	return sum;
}

uint32_t remainder(const Number *left, uint32_t divisor)
{
	uint64_t rest = 0;
	for (uint32_t i = left->count; i-- > 0;)
		rest = (rest << 16 | left->digit[i]) % divisor;
	return static_cast<uint32_t>(rest);
}

} // namespace

/// Whole numbers of any length, as in factoring: every result is a block of 16 to 48 bytes that soon dies.
void factors(unsigned scale)
{
	unsigned long smooth = 0;
	for (uint32_t seed = 1; seed <= scale * 120'000; seed++) {
		Number *value = number(1);
		value->digit[0] = static_cast<uint16_t>(seed);
		for (unsigned step = 0; step < 16; step++) {
			Number *next = plus_times(value, seed | 0x10001, step);
			std::free(value);
			value = next;
			if (value->count > 16) {
				Number *less = plus_times(value, 1, 0);
				less->count = 3;
				std::free(value);
				value = less;
			}
		}
		smooth += !remainder(value, 7) + !remainder(value, 11);
		std::free(value);
	}
	if (!smooth)
		std::exit(1);
}

/// Lists of sets that are copied, joined and thrown away, as in the minimizing of logic: arrays that grow, sets of 32 to 200 bytes.
void covers(unsigned scale)
{
	Random random(2);
	for (unsigned round = 0; round < scale * 60; round++) {
		size_t words = 4 + random.below(20), count = 0, room = 8;
		auto **cover = static_cast<uint64_t **>(take(std::malloc(room * sizeof(uint64_t *))));
		for (unsigned i = 0; i < 3000; i++) {
			if (count == room)
				cover = static_cast<uint64_t **>(take(std::realloc(cover, (room *= 2) * sizeof(uint64_t *))));
			auto *set = cover[count++] = static_cast<uint64_t *>(take(std::calloc(words, sizeof(uint64_t))));
			for (size_t word = 0; word < words; word++)
				set[word] |= random.next() & random.next();
		}
		while (count > 1) {
			size_t left = 0;
			for (size_t i = 0; i + 1 < count; i += 2) {
				auto *both = static_cast<uint64_t *>(take(std::malloc(words * sizeof(uint64_t))));
				for (size_t word = 0; word < words; word++)
					both[word] = cover[i][word] | cover[i + 1][word];
				std::free(cover[i]);
				std::free(cover[i + 1]);
				cover[left++] = both;
			}
			if (count % 2)
				cover[left++] = cover[count - 1];
			count = left;
		}
		std::free(cover[0]);
		std::free(cover);
	}
}

/// Blocks of 5 to 25 MiB, twenty at a time, of which a page in sixteen is written.
void random_large(unsigned scale)
{
	constexpr size_t kMiB = 1 << 20;
	char *held[20] = {};
	Random random(3);
	for (unsigned i = 0; i < scale * 1500; i++) {
		char *&block = held[random.below(20)];
		size_t size = 5 * kMiB + random.below(20 * kMiB);
		std::free(block);
		block = make(size);
		for (size_t at = 0; at < size; at += 16 * 4096)
			block[at] = 1;
	}
	for (char *block : held)
		std::free(block);
}

/// All of malloc's calls in turn on blocks of 1 byte to 64 KiB, as a test of an allocator makes them.
void anything(unsigned scale)
{
	constexpr unsigned kHeld = 4096;
	static char *held[kHeld];
	Random random(4);
	for (unsigned i = 0; i < scale * 1'500'000; i++) {
		uint64_t choice = random.next();
		char *&block = held[choice % kHeld];
		size_t size = 1 + random.size(1, 64 << 10);
		if (block && choice >> 60) {
			std::free(block);
			block = nullptr;
		} else if (block) {
			block = static_cast<char *>(take(std::realloc(block, size)));
			block[size - 1] = 1;
		} else {
			switch (choice >> 58 & 3) {
			case 0: block = static_cast<char *>(take(std::calloc(size, 1))); break;
			case 1: block = static_cast<char *>(take(std::aligned_alloc(64, (size + 63) & ~size_t{63}))); break;
			default: block = make(size);
			}
			*const_cast<volatile char *>(block) = 1;
		}
	}
	for (char *block : held)
		std::free(block);
}

} // namespace load
