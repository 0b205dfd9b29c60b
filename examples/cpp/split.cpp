// SPDX-License-Identifier: Apache-2.0
//
// Splits an array by a comparison on a card: row indices that match go to one array, the others to another.
//
//   split [DEVICE]        DEVICE is "sim:default" unless given
//
// docs/c-api.md says how to build it.
#include <cstdint>
#include <cstring>
#include <iostream>
#include <vector>

#include "godwit.hpp"

namespace {

// Arguments of the kernel, see kernels/split/split.toml.
enum class DType { kInt32, kInt64, kFloat32, kFloat64 };
enum class Op { kGreater, kGreaterEqual, kLess, kLessEqual, kEqual, kNotEqual };

std::uint64_t bits_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

int run(const char* device) {
    constexpr std::size_t kRows = 50'000;
    constexpr double kLimit = 15.0;

    godwit::Card card(device);
    godwit::Context context(card);
    godwit::Array<double> values(context, kRows, {0, GODWIT_READ_ONLY});
    godwit::Array<std::uint32_t> matches(context, kRows), rest(context, kRows);

    std::vector<std::uint32_t> expected_matches, expected_rest;
    for (std::uint32_t row = 0; row < kRows; ++row) {
        values[row] = static_cast<double>(row * 2654435761u % 1000u) / 10.0;
        (values[row] > kLimit ? expected_matches : expected_rest).push_back(row);
    }

    card.count_only(context.get());
    const auto done = context.launch("split", {{"values", values.data()},
                                               {"validity", nullptr},
                                               {"rows", kRows},
                                               {"offset", 0},
                                               {"dtype", DType::kFloat64},
                                               {"op", Op::kGreater},
                                               {"constant", bits_of(kLimit)},
                                               {"matches", matches.data()},
                                               {"rest", rest.data()}});
    const std::size_t count = done["match_count"];
    std::cout << count << " of " << kRows << " rows are greater than " << kLimit << ", in " << done.cycles()
              << " cycles\n";

    const bool ok = done["status"] == 0 && count == expected_matches.size() &&
                    std::vector(matches.begin(), matches.begin() + count) == expected_matches &&
                    std::vector(rest.begin(), rest.begin() + (kRows - count)) == expected_rest;
    if (!ok) std::cerr << "split: the indices are not those of this program's own comparison\n";
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "sim:default");
    } catch (const std::exception& error) {
        std::cerr << "split: " << error.what() << "\n";
        return 1;
    }
}
