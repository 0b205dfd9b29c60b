// SPDX-License-Identifier: Apache-2.0
// A kernel's end with an error status, from C++: thrown with its completion, unless it is allowed.
#include <cstdint>
#include <iostream>
#include <numeric>

#include "godwit.hpp"

int main() {
    godwit::Card card("sim:default");
    godwit::Context context(card);
    godwit::Array<std::int64_t> values(context, 16);
    std::iota(values.begin(), values.end(), 0);
    const int wrong = 9;

    try {
        context.launch("array_sum", {{"values", values.data()}, {"count", 16}, {"dtype", wrong}});
        return 1;
    } catch (const godwit::StatusError& error) {
        std::cout << "launch: " << error.what() << "\nstatus " << error.completion()["status"] << '\n';
        if (error.status() != GODWIT_ESTATUS || error.completion().cycles() == 0) return 1;
    }
    try {
        context.start("array_sum", {{"values", values.data()}, {"count", 16}, {"dtype", wrong}}).wait();
        return 1;
    } catch (const godwit::Error& error) {
        if (error.status() != GODWIT_ESTATUS) return 1;
    }
    godwit::LaunchOptions any;
    any.check_status = false;
    const auto done = context.launch("array_sum", {{"values", values.data()}, {"count", 16}, {"dtype", wrong}}, any);
    std::cout << "allowed: status " << done["status"] << '\n';
    const auto right = context.launch("array_sum", {{"values", values.data()}, {"count", 16}, {"dtype", 1}});
    std::cout << "after it: sum " << right["sum"] << '\n';
    return 0;
}
