// SPDX-License-Identifier: Apache-2.0
//! Buffers of a card behind the driver: allocations of the heap in hardware, whose frames are taken at once.

use godwit_core::PageSize;

use super::alloc::{Access, AllocOptions, Contiguity, PagePolicy, Plan, Residence};
use super::context::Context;
use super::heap::MallocOptions;
use crate::Error;

/// Memory of a buffer, with all frames that it needs: its address, and how long it is.
pub(super) fn alloc(
    context: &Context,
    bytes: u64,
    options: AllocOptions,
) -> Result<(u64, Plan), Error> {
    let granule = granule(options)?;
    let len = bytes.next_multiple_of(granule);
    let memory = context.malloc(len, MallocOptions::new().granule(granule))?;
    if let Err(error) = context.populate(memory, len) {
        // The caller is told why there is none; what goes wrong after that changes nothing for it.
        let _ = free(context, memory as u64);
        return Err(error);
    }
    let plan = Plan {
        extents: Vec::new(),
        len,
        align: granule,
        phase: 0,
    };
    Ok((memory as u64, plan))
}

/// Gives its memory back. A context that was closed has nothing of it any more.
pub(super) fn free(context: &Context, address: u64) -> Result<(), Error> {
    match context.release(address as *mut u8) {
        Err(Error::ContextClosed) => Ok(()),
        result => result,
    }
}

/// Bytes that come together, if the heap gives what is asked for.
fn granule(options: AllocOptions) -> Result<u64, Error> {
    let refuse = |what| {
        Err(Error::Argument(format!(
            "a buffer on a card behind the driver is memory of its heap: {what}"
        )))
    };
    if options.residence == Residence::Host {
        return refuse(
            "memory of the program is used where it is without one (Context::share_process)",
        );
    }
    if options.memory.is_some() {
        return refuse("it is where the driver's heap is");
    }
    if options.contiguity == Contiguity::Required {
        return refuse("it is in pieces, which nobody says where they are");
    }
    if options.access == Access::Read {
        return refuse("kernels may read and write it");
    }
    match options.pages {
        PagePolicy::Auto => Ok(PageSize::SIZE_4K.bytes()),
        PagePolicy::Only(size) if size > PageSize::SIZE_2M => refuse("its pieces have up to 2 MiB"),
        PagePolicy::Only(size) => Ok(size.bytes()),
    }
}
