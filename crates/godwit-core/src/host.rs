// SPDX-License-Identifier: Apache-2.0
//! Memory of this process that a device is to be given, whatever allocator it came from.

use std::sync::Arc;

/// Memory of this process with an owner. Who keeps the owner may use the memory.
///
/// # Safety
/// From `as_ptr` on, `bytes` bytes and the rest of the last page are mapped, readable and writable, and nobody else is given
/// them before the value is dropped or `check` has said so.
pub unsafe trait HostMemory: Send + Sync {
    /// The first byte.
    fn as_ptr(&self) -> *mut u8;

    /// Length.
    fn bytes(&self) -> u64;

    /// Why it must not be used any more. Only owners that can lose their memory, such as those of C, have a reason.
    /// A device asks before it uses the memory, and waits for the answer: nothing of the device may be called here.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

// SAFETY: the memory is the inner owner's, which lives as long.
unsafe impl<T: HostMemory + ?Sized> HostMemory for Arc<T> {
    fn as_ptr(&self) -> *mut u8 {
        (**self).as_ptr()
    }

    fn bytes(&self) -> u64 {
        (**self).bytes()
    }

    fn check(&self) -> Result<(), String> {
        (**self).check()
    }
}
