// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "error.hpp"

namespace gw {

DeviceMemory::DeviceMemory(uint64_t size_bytes) : size_(size_bytes) {
    const auto size = static_cast<unsigned long long>(size_);
    fd_ = memfd_create("godwit-device-memory", MFD_CLOEXEC);
    if (fd_ < 0)
        throw CardError(GW_CARD_ENOMEM, format("device memory: memfd_create failed: %s", std::strerror(errno)));
    if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
        const int error = errno;
        close(fd_);
        throw CardError(GW_CARD_ENOMEM, format("device memory: no file of %llu bytes can be had (%s): choose a smaller "
                                               "card.memory_bytes", size, std::strerror(error)));
    }
    void* base = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
    if (base == MAP_FAILED) {
        const int error = errno;
        close(fd_);
        throw CardError(GW_CARD_ENOMEM, format("device memory: %llu bytes cannot be mapped (%s): choose a smaller "
                                               "card.memory_bytes", size, std::strerror(error)));
    }
    base_ = static_cast<uint8_t*>(base);
}

DeviceMemory::~DeviceMemory() {
    munmap(base_, size_);
    close(fd_);
}

}  // namespace gw
