// SPDX-License-Identifier: Apache-2.0
//
// malloc, realloc and free by an HLS kernel: two AXI4-Streams to the card's heap.
//
//   #include "godwit_heap.hpp"
//   extern "C" void build(godwit::heap_commands &heap_command, godwit::heap_responses &heap_response, ...) {
//   #pragma HLS INTERFACE axis port=heap_command
//   #pragma HLS INTERFACE axis port=heap_response
//     std::uint64_t block = godwit::malloc(heap_command, heap_response, 1 << 20);
//
// and in the kernel's manifest: [heap] command = "heap_command" response = "heap_response". Without HLS (hls_stream.h) the functions
// take any stream with read() and write().
#pragma once

#include <cstdint>

namespace godwit {

// Three words, of which the first is lowest in TDATA.
struct heap_command {
  std::uint64_t pointer;
  std::uint64_t size;
  std::uint64_t how;
};

struct heap_response {
  std::uint64_t pointer;
  std::uint64_t status;  // 0, or why not: `heap` in spec/layout.toml
};

// Bits of `how`: one of the first three, and of a malloc which pages it wants.
enum heap_how : std::uint64_t {
  heap_malloc = 0,
  heap_realloc = 1,
  heap_free = 2,
  heap_writable = 1u << 2,
  heap_small = 1u << 3,  // up to 64 KiB, for many small things
};
constexpr unsigned heap_granule_shift = 4;  // log2 of the 4 KiB pages that come together, at bits 7:4
constexpr unsigned heap_region_shift = 16;  // the memory that frames come from, at bits 18:16: 0 the first that the heap has a part of

// The address of memory that reads as zero, or 0.
template <class Commands, class Responses>
std::uint64_t malloc(Commands &commands, Responses &responses, std::uint64_t size, std::uint64_t how = heap_writable) {
  commands.write(heap_command{0, size, heap_malloc | how});
  const heap_response answer = responses.read();
  return answer.status == 0 ? answer.pointer : 0;
}

// The status: 0, and it has the new size where it is.
template <class Commands, class Responses>
std::uint64_t realloc(Commands &commands, Responses &responses, std::uint64_t pointer, std::uint64_t size) {
  commands.write(heap_command{pointer, size, heap_realloc});
  return responses.read().status;
}

// The status: 0, and it is gone.
template <class Commands, class Responses>
std::uint64_t free(Commands &commands, Responses &responses, std::uint64_t pointer) {
  commands.write(heap_command{pointer, 0, heap_free});
  return responses.read().status;
}

}  // namespace godwit

#if __has_include(<hls_stream.h>)
#include <hls_stream.h>
namespace godwit {
using heap_commands = hls::stream<heap_command>;
using heap_responses = hls::stream<heap_response>;
}  // namespace godwit
#endif
