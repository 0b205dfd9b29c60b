// SPDX-License-Identifier: Apache-2.0
// Files that kernels read with $readmemh when the model starts: the build puts them beside the card's library, so a card finds
// them whatever the working directory is and wherever it was moved to.
#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "gw_card_description.h"

namespace {

/// Folder of the library that this is part of, as it was when it was loaded.
std::filesystem::path library_dir() {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&library_dir), &info);
    return std::filesystem::absolute(info.dli_fname).parent_path();
}

const std::filesystem::path kLibraryDir = library_dir();

}  // namespace

/// Called by the model: where the file is that kernel `kernel` calls `name`.
extern "C" const char* gw_kernel_data(const char* kernel, const char* name) {
    static thread_local std::string path;
    path = name;
    for (const auto& file : gw_card_config::kDataFiles) {
        if (!std::strcmp(file.kernel, kernel) && !std::strcmp(file.name, name)) path = kLibraryDir / file.path;
    }
    return path.c_str();
}
