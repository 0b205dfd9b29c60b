// SPDX-License-Identifier: Apache-2.0
//
// Kernels work on the memory of containers: splits a vector by a comparison, then sums what matches.
//
//   plain_pointers [DEVICE]        DEVICE is "sim:default" unless given, or /dev/godwit0
//
// docs/c-api.md says how to build it.
#include <cstdint>
#include <cstring>
#include <iostream>
#include <numeric>
#include <vector>

#include "godwit.hpp"

namespace {

// Arguments of the kernels, see kernels/split/split.toml and kernels/array_sum/array_sum.toml.
enum class DType { kInt32, kInt64, kFloat32, kFloat64 };
enum class Op { kGreater, kGreaterEqual, kLess, kLessEqual, kEqual, kNotEqual };

constexpr double kLimit = 15.0;

std::uint64_t bits_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Rows above the limit, found on the card.
std::vector<std::uint32_t> split(godwit::Context& context, std::vector<double>& values) {
    std::vector<std::uint32_t> matches(values.size()), rest(values.size());
    std::size_t count = 0;
    {
        godwit::Used use_values(context, values);
        godwit::Used use_matches(context, matches);
        godwit::Used use_rest(context, rest);
        const auto done = context.launch("split", {{"values", values.data()},
                                                   {"validity", nullptr},
                                                   {"rows", values.size()},
                                                   {"offset", 0},
                                                   {"dtype", DType::kFloat64},
                                                   {"op", Op::kGreater},
                                                   {"constant", bits_of(kLimit)},
                                                   {"matches", matches.data()},
                                                   {"rest", rest.data()}});
        count = done["match_count"];
    }
    matches.resize(count);
    return matches;
}

std::int64_t sum(godwit::Context& context, std::vector<std::int64_t>& numbers) {
    godwit::Used used(context, numbers);
    const auto done = context.launch(
        "array_sum", {{"values", numbers.data()}, {"count", numbers.size()}, {"dtype", DType::kInt64}});
    return static_cast<std::int64_t>(done["sum"]);
}

int run(const char* device) {
    constexpr std::uint32_t kRows = 20'000;
    godwit::Card card(device);
    godwit::Context context(card);

    std::vector<double> values(kRows);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t row = 0; row < kRows; ++row) {
        values[row] = static_cast<double>(row * 2'654'435'761ull % 1000u) / 10.0;
        if (values[row] > kLimit) expected.push_back(row);
    }
    const auto matches = split(context, values);
    const bool is_split = matches == expected;
    std::cout << "split: " << matches.size() << " of " << kRows << " rows are greater than " << kLimit << ", "
              << (is_split ? "right" : "WRONG") << "\n";

    std::vector<std::int64_t> whole;
    for (const auto row : expected) whole.push_back(static_cast<std::int64_t>(values[row]));
    const auto found = sum(context, whole);
    const bool is_sum = found == std::accumulate(whole.begin(), whole.end(), std::int64_t{0});
    std::cout << "array_sum: " << found << ", " << (is_sum ? "right" : "WRONG") << "\n";
    return is_split && is_sum ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "sim:default");
    } catch (const std::exception& error) {
        std::cerr << "plain_pointers: " << error.what() << "\n";
        return 1;
    }
}
