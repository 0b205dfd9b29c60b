// SPDX-License-Identifier: Apache-2.0
//
// A column that a standard container has in contiguous memory, and a block with limits: kernels use both where they are, each
// by one entry of the range TLB.
//
//   contiguous [DEVICE]        DEVICE is "sim:default" unless given; C++20, links libgodwit and libgodwit_cmt
#include <cmt.hpp>

#include <cstdint>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include "godwit.hpp"
#include "godwit_cmt.h"

namespace {

constexpr std::size_t kCount = 100'000;

/// The sum by the kernel, and what it took.
bool report(godwit::Card& card, godwit::Context& context, const char* name, std::span<const std::int64_t> values) {
    card.clear_counters();
    const auto done = context.launch("array_sum", {{"values", values.data()}, {"count", values.size()}, {"dtype", 1}});
    const std::int64_t expected = std::accumulate(values.begin(), values.end(), std::int64_t{0});
    std::cout << name << ": sum " << done["sum"] << " in " << done.cycles() << " cycles, "
              << card.counter("walker.walks") << " page-table walks\n";
    return static_cast<std::int64_t>(done["sum"]) == expected;
}

int run(const char* device) {
    godwit::Card card(device);
    godwit::Context context(card);
    if (cmt_init(card.cmt_config(16 << 20).c_str()) != 0) throw std::runtime_error(cmt_reason());

    std::vector<std::int64_t, cmt::allocator<std::int64_t>> column(kCount);
    cmt::block block(kCount * sizeof(std::int64_t), cmt_constraints{1 << 20, 0, 0, CMT_ANY_NODE, 0});
    const std::span numbers(reinterpret_cast<std::int64_t*>(block.bytes().data()), kCount);
    std::iota(column.begin(), column.end(), 0);
    std::iota(numbers.begin(), numbers.end(), 1000);

    const godwit::ShareOptions options{0, GODWIT_RANGES, godwit_block_in_use};
    const godwit::Shared vector(context, column.data(), kCount * sizeof(std::int64_t), options);
    const godwit::Shared whole(context, block.bytes().data(), block.bytes().size(), options);
    bool good = report(card, context, "vector", column);
    good = report(card, context, "block", numbers) && good;
    return good && vector.range_entries() == 1 && whole.range_entries() == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "sim:default");
    } catch (const std::exception& error) {
        std::cerr << "contiguous: " << error.what() << "\n";
        return 1;
    }
}
