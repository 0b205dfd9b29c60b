// SPDX-License-Identifier: Apache-2.0
#include "verilator_print.hpp"

#include <cstdarg>
#include <cstdio>

#include "verilator_print.h"

namespace {

constexpr size_t kMaxKept = 2000;  // the first assertion is what matters, and it is the first to print

thread_local std::string printed;

}  // namespace

int gw_model_print(const char* format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    const int length = std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (printed.size() < kMaxKept) printed += text;
    return length;
}

namespace gw {

std::string take_model_output() {
    std::string line;
    for (char c : printed)
        if (c != '\n')
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    while (!line.empty() && line.back() == ' ') line.pop_back();
    printed.clear();
    return line;
}

}  // namespace gw
