# SPDX-License-Identifier: Apache-2.0
"""Cards: a configuration and kernels become a simulated card. Each floor knows those below it and none above.

======== ================================================================================================================
read     `manifest` (a kernel's TOML) and `reading` (its RTL, by slang): what is written down, and nothing more.
         `hls` and `importing`: a manifest made from HLS's own files.
describe `interface`: ports as clock, control, bundles and streams, or the reason why no card can connect them.
         `agreement`: manifest and RTL say the same. `kernel`: all of this as one object. `check`: the same for people.
plan     `plan`: configuration, kernels, every input and their hash; what a card says of itself.
generate `isolation`: each of the user's kernels one file, independent of the others. `wiring`: the module that connects them.
build    `compile`: Verilator and the C++ compiler (`unity`: few large files; `litedram`, `train`: parts of it), `process` runs
         them, `messages` are their warnings. `build`: the cache, the lock, all or nothing.
======== ================================================================================================================
"""
