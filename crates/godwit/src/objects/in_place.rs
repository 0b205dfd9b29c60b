// SPDX-License-Identifier: Apache-2.0
//! Buffers in the program's own memory, which kernels reach over the host link.

use godwit_core::layout;

use crate::Error;
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::hardware::window::{Placement, Window};
use crate::objects::alloc::{AllocOptions, PagePolicy, Plan};
use crate::objects::context::Context;
use crate::objects::mapping::{DeviceMapping, map_device};

/// Zeroed memory of this process, mapped into the context where it is: its bus address is its address here.
pub(crate) fn open(
    context: &Context,
    bytes: u64,
    options: AllocOptions,
) -> Result<(Window, Plan), Error> {
    let align = match options.pages {
        PagePolicy::Auto => FRAME_BYTES,
        PagePolicy::Only(size) => size.bytes(),
    };
    let limit = context.address_limit();
    let Some(len) = bytes.checked_next_multiple_of(align) else {
        return Err(Error::Argument(format!(
            "{bytes} bytes are more than any memory has"
        )));
    };
    let failed = |errno: rustix::io::Errno| Error::AddressSpace {
        bytes: len,
        limit,
        reason: errno.into(),
    };
    let mut window = Window::reserve(Placement {
        len,
        align,
        phase: 0,
        limit,
    })
    .map_err(failed)?;
    window.open(None).map_err(failed)?;
    let va = window.address();
    let plan = Plan {
        extents: vec![Extent {
            pa: layout::HOST_APERTURE_BASE | va,
            len,
        }],
        len,
        align,
        phase: 0,
    };
    context.card().shared.with(|state| {
        let id = context.check(context.card(), state)?;
        // SAFETY: private memory of the window's, which `end` closes to the card before it goes; the kernel alone serves its faults, and
        // who has its pointer was told that kernels may change it.
        unsafe { state.device.open_process_window(va, len) }?;
        let mapping = DeviceMapping {
            va,
            plan: &plan,
            access: options.access,
            max_page: options.pages.max_page(),
            owner: None,
        };
        let mapped = map_device(state, (id, context.serial()), mapping);
        if mapped.is_err() {
            state.device.close_process_window(va)?;
        }
        mapped
    })?;
    Ok((window, plan))
}

/// Takes the memory away from the card; it is unmapped already.
pub(crate) fn end(context: &Context, window: &Window) -> Result<(), Error> {
    let (va, len) = (window.address(), window.len());
    context.card().shared.with(|state| {
        // What a kernel that was stopped left in the page cache must not come when the memory is somebody else's.
        state.flush(Some(&[(layout::HOST_APERTURE_BASE | va, len)]))?;
        Ok(state.device.close_process_window(va)?)
    })
}
