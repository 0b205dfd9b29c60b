// SPDX-License-Identifier: Apache-2.0
// Plain memory of a C++ program as a kernel's argument, and what is said of it.
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include "godwit.hpp"

int main() {
    godwit::Card card("sim:default");
    godwit::Context context(card);
    std::vector<std::int64_t> values(1 << 17);
    std::iota(values.begin(), values.end(), 0);
    {
        godwit::Used used(context, values);
        const auto sum = [&] {
            return context.launch("array_sum", {{"values", used.data()}, {"count", used.size()}, {"dtype", 1}})["sum"];
        };
        used.advise(GODWIT_READ_MOSTLY);
        std::cout << sum() << ' ';
        // The program reads, and the card keeps what it has.
        const std::size_t before = used.residency();
        std::cout << values[values.size() / 2] << ' ' << (before > 0 && used.residency() == before) << ' ';
        values[0] = 7;
        std::cout << sum() << '\n';
        used.migrate_to_host();
        std::cout << used.residency() << ' ';
        used.prefetch();
        std::cout << (used.residency() > 0) << ' ' << (context.migrated("to_device.prefetch") > 0) << '\n';
        try {
            context.migrated("nothing");
        } catch (const godwit::Error& error) {
            std::cout << error.what() << '\n';
        }
        // Two of the same memory are refused, and the first stays.
        try {
            godwit::Used again(context, values);
        } catch (const godwit::Error& error) {
            std::cout << error.status() << '\n';
        }
    }
    return values[0] == 7 && values[1] == 1 ? 0 : 1;
}
