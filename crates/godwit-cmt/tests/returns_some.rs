// SPDX-License-Identifier: Apache-2.0
//! All memory returns without bits of blocks in use, too: threads keep small blocks by themselves then.

#[path = "returns.rs"]
mod returns;
