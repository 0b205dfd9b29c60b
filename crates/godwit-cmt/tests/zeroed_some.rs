// SPDX-License-Identifier: Apache-2.0
//! Zeroed memory without bits of blocks in use, too: threads keep small blocks by themselves then.

#[path = "zeroed.rs"]
mod zeroed;
