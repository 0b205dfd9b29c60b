// SPDX-License-Identifier: Apache-2.0
// Inserts as of YCSB's load: ycsb STRUCTURE KEYS THREADS INSERTS SEED. A record has ten fields of 100 bytes, each a
// string of its own; keys are `uniform` or `zipfian` (theta 0.99). Every thread has a structure of its own; INSERTS in
// all. Destroying it counts.
#include "bench.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <queue>
#include <string>
#include <unordered_map>

#define _GLIBCXX_PERMIT_BACKWARD_HASH
#include <ext/hash_map>

namespace {

constexpr size_t kFields = 10;
constexpr size_t kFieldBytes = 100;
constexpr double kTheta = 0.99;

struct Record {
	std::array<std::string, kFields> fields;

	explicit Record(uint64_t key)
	{
		for (size_t i = 0; i < kFields; i++)
			fields[i].assign(kFieldBytes, static_cast<char>('a' + (key + i) % 26));
	}
};

struct Entry {
	uint64_t key;
	Record record;

	bool operator<(const Entry &other) const { return key < other.key; }
};

/// YCSB's generator (Gray and others, "Quickly generating billion-record synthetic databases", 1994).
std::vector<uint64_t> zipfian(uint64_t count, bench::Random &random)
{
	double zeta = 0;
	for (uint64_t i = 1; i <= count; i++)
		zeta += 1 / std::pow(static_cast<double>(i), kTheta);
	const double n = static_cast<double>(count);
	const double zeta2 = 1 + 1 / std::pow(2.0, kTheta);
	const double alpha = 1 / (1 - kTheta);
	const double eta = (1 - std::pow(2 / n, 1 - kTheta)) / (1 - zeta2 / zeta);
	std::vector<uint64_t> keys(count);
	for (uint64_t &key : keys) {
		const double u = random.unit(), uz = u * zeta;
		key = uz < 1 ? 0 : uz < zeta2 ? 1 : static_cast<uint64_t>(n * std::pow(eta * u - eta + 1, alpha));
	}
	return keys;
}

std::vector<uint64_t> uniform(uint64_t count, bench::Random &random)
{
	std::vector<uint64_t> keys(count);
	for (uint64_t &key : keys)
		key = random.next() % count;
	return keys;
}

template <typename Map> void fill_map(const std::vector<uint64_t> &keys)
{
	Map map;
	for (uint64_t key : keys) {
		auto [at, fresh] = map.insert(typename Map::value_type(key, Record(key)));
		if (!fresh)
			at->second = Record(key);
	}
}

void fill(const std::string &structure, const std::vector<uint64_t> &keys)
{
	if (structure == "hash_map") {
		fill_map<__gnu_cxx::hash_map<uint64_t, Record>>(keys);
	} else if (structure == "unordered_map") {
		fill_map<std::unordered_map<uint64_t, Record>>(keys);
	} else if (structure == "vector") {
		std::vector<Entry> entries;
		for (uint64_t key : keys)
			entries.push_back({key, Record(key)});
	} else if (structure == "priority_queue") {
		std::priority_queue<Entry> queue;
		for (uint64_t key : keys)
			queue.push({key, Record(key)});
	} else {
		std::exit(2);
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	std::string structure = argv[1];
	unsigned threads = static_cast<unsigned>(std::atoi(argv[3]));
	uint64_t inserts = static_cast<uint64_t>(std::atoll(argv[4])) / threads;
	std::vector<std::vector<uint64_t>> keys;
	for (unsigned i = 0; i < threads; i++) {
		bench::Random random(static_cast<uint64_t>(std::atoll(argv[5])) + i);
		keys.push_back(std::strcmp(argv[2], "zipfian") ? uniform(inserts, random) : zipfian(inserts, random));
	}
	bench::print(bench::measure(threads, [&](unsigned thread) { fill(structure, keys[thread]); }));
}
