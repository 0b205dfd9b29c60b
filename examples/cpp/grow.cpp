// SPDX-License-Identifier: Apache-2.0
// The same as examples/c/grow.c: numbers whose count nobody knows, in memory of the heap in hardware that grows below them.
//
//   grow DEVICE                a card with a heap: godwit card build --set heap.slots=1024
#include <cstdint>
#include <iostream>
#include <numeric>

#include "godwit.hpp"

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "grow DEVICE\n";
        return 2;
    }
    godwit::Card card(argv[1]);
    godwit::Context context(card);
    godwit::HeapArray<std::int64_t> values(context, 1);
    const std::int64_t* const first = values.data();
    for (std::size_t count = 1; count < 30'000; count = count * 3 / 2 + 1) {
        const std::size_t before = values.size();
        values.resize(count);
        if (before < count) values.populate(before, count - before);
        for (std::size_t at = before; at < count; at++) values[at] = static_cast<std::int64_t>(at) - 100;
    }
    const auto done = context.launch("array_sum", {{"values", values.data()}, {"count", values.size()}, {"dtype", 1}});
    const auto expected = std::accumulate(values.begin(), values.end(), std::int64_t{0});
    std::cout << "sum of " << values.size() << " values: " << static_cast<std::int64_t>(done["sum"]) << '\n';
    try {
        values.resize(std::size_t{1} << 40);
    } catch (const godwit::Error& error) {
        std::cout << "too many: " << error.what() << '\n';
    }
    return values.data() == first && static_cast<std::int64_t>(done["sum"]) == expected ? 0 : 1;
} catch (const godwit::Error& error) {
    std::cerr << "grow: " << error.what() << '\n';
    return 1;
}
