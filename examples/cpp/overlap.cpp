// SPDX-License-Identifier: Apache-2.0
// Two kernels at work at once, and what each takes longer than alone.
#include <cstdint>
#include <iostream>
#include <numeric>

#include "godwit.hpp"

int main() {
    godwit::Card card("sim:default");
    godwit::Context context(card);
    godwit::Array<std::int64_t> values(context, 20000), from(context, 20000), to(context, 20000);
    std::iota(values.begin(), values.end(), 0);
    std::iota(from.begin(), from.end(), 7);

    auto sum = [&] { return context.start("array_sum", {{"values", values.data()}, {"count", values.size()}, {"dtype", 1}}); };
    auto copy = [&] {
        return context.start("memcopy", {{"src", from.data()},
                                         {"dst", to.data()},
                                         {"bytes", from.size() * sizeof(std::int64_t)},
                                         {"iterations", 1}});
    };
    sum().wait();  // translations are warm from here on
    copy().wait();
    const auto sum_alone = sum().wait(), copy_alone = copy().wait();

    auto first = sum(), second = copy();
    const auto sum_beside = first.wait(), copy_beside = second.wait();
    const bool overlapped = sum_beside.start_cycle() < copy_beside.end_cycle() && copy_beside.start_cycle() < sum_beside.end_cycle();
    std::cout << "array_sum " << sum_alone.cycles() << " cycles alone, " << sum_beside.cycles() << " beside memcopy\n"
              << "memcopy " << copy_alone.cycles() << " cycles alone, " << copy_beside.cycles() << " beside array_sum\n"
              << (overlapped ? "at once" : "one after the other") << ", sum " << sum_beside["sum"] << '\n';
    return overlapped && sum_beside["sum"] == 199990000 && to[19999] == 20006 ? 0 : 1;
}
