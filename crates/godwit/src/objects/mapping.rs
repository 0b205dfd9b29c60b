// SPDX-License-Identifier: Apache-2.0
//! Memory in a context's page table: what buffers of every kind have in common.

use std::sync::Arc;

use godwit_core::{Begins, HostMemory, PageSize, layout};

use crate::Error;
use crate::hardware::frames::Extent;
use crate::hardware::mmu;
use crate::objects::alloc::{Access, Plan};
use crate::state::{BufferState, State};

/// What is to be mapped for kernels, and how.
pub(crate) struct DeviceMapping<'a> {
    pub va: u64,
    pub plan: &'a Plan,
    pub access: Access,
    pub max_page: PageSize,
    /// Of memory that is not the card's own.
    pub owner: Option<Arc<dyn HostMemory>>,
}

/// Wishes an entry of the range TLB for every piece.
pub(crate) fn want_ranges(
    state: &mut State,
    context: u32,
    mut va: u64,
    extents: &[Extent],
    access: Access,
) {
    for extent in extents {
        state.ranges.want(mmu::Range {
            context,
            va,
            pa: extent.pa,
            len: extent.len,
            writable: access == Access::ReadWrite,
        });
        va += extent.len;
    }
}

/// Maps the planned frames into the context with this number and serial number, all or none, and notes the buffer there.
pub(crate) fn map_device(
    state: &mut State,
    (id, serial): (usize, u64),
    mapping: DeviceMapping<'_>,
) -> Result<(), Error> {
    let DeviceMapping { va, plan, .. } = mapping;
    let (perm, page) = (mapping.access.perm(), mapping.max_page);
    let mut mapped = 0;
    for extent in &plan.extents {
        let table = &mut state.context(id, serial)?.table;
        if let Err(error) = table.map_as(
            va + mapped,
            extent.pa,
            extent.len,
            perm,
            page,
            Begins::Written,
        ) {
            if mapped > 0 {
                state.unmap(id, serial, va, mapped)?;
            }
            return Err(error.into());
        }
        mapped += extent.len;
    }
    let buffer = BufferState {
        len: plan.len,
        writable: mapping.access == Access::ReadWrite,
        contiguous: plan.extents.len() == 1,
        owner: mapping.owner,
        host: plan
            .extents
            .first()
            .filter(|extent| extent.pa >= layout::HOST_APERTURE_BASE)
            .map(|extent| (extent.pa, extent.len)),
    };
    state.context(id, serial)?.buffers.insert(va, buffer);
    Ok(())
}
