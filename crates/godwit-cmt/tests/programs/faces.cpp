// SPDX-License-Identifier: Apache-2.0
// C++ faces: containers in contiguous memory, and a block that grows.
#include "check.h"

#include <cmt.hpp>

#include <map>
#include <memory_resource>
#include <string>
#include <vector>

int main()
{
	CHECK(cmt_init("size=64MiB") == 0);
	CHECK(cmt_init("size=64MiB") == -1);

	std::vector<double, cmt::allocator<double>> values(100'000, 1.5);
	CHECK(cmt_physical(values.data()) != 0);

	cmt::memory_resource resource;
	std::pmr::map<int, std::pmr::string> words(&resource);
	for (int i = 0; i < 1000; i++)
		words[i] = std::pmr::string(static_cast<size_t>(i), 'x', &resource);
	CHECK(words[999].size() == 999 && cmt_physical(words[999].data()) != 0);

	cmt::block block(1 << 20, {1 << 20, 0, 0, CMT_ANY_NODE, 0});
	CHECK(block.physical() % (1 << 20) == 0 && block.grow(4 << 20) && block.bytes().size() == 4 << 20);
	try {
		cmt::block too_large(1 << 30);
		CHECK(!"a block larger than memory");
	} catch (const std::bad_alloc &error) {
		CHECK(std::string(error.what()).find("largest piece") != std::string::npos);
	}
	CHECK(cmt_check() == 0);
	return 0;
}
