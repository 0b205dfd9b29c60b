// SPDX-License-Identifier: Apache-2.0
//! The C ABI of `card/sim/gw_card.h`, loaded at run time. A test below compiles the header and compares.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use libloading::Library;

use crate::CardError;

/// `GW_CARD_ABI`.
pub(crate) const ABI: u32 = 4;

// begin: generated statuses by `python -m godwit.spec pages`
/// `GW_CARD_OK`: done.
pub(crate) const OK: c_int = 0;
/// `GW_CARD_EINVAL`: bad argument or option.
pub(crate) const EINVAL: c_int = -1;
/// `GW_CARD_EHANG`: the watchdog found no progress: the error names the stuck handshake.
pub(crate) const EHANG: c_int = -2;
/// `GW_CARD_EBUS`: a register access was answered with an AXI error.
pub(crate) const EBUS: c_int = -3;
/// `GW_CARD_ENOMEM`: host memory for the card could not be had.
pub(crate) const ENOMEM: c_int = -4;
/// `GW_CARD_EIO`: a wave or trace file could not be written.
pub(crate) const EIO: c_int = -5;
/// `GW_CARD_EDESIGN`: an RTL assertion failed or the card broke the AXI protocol; only closing is left.
pub(crate) const EDESIGN: c_int = -6;
// end: generated

pub(crate) const LAUNCH_NONE: u32 = 0;
pub(crate) const LAUNCH_RUNNING: u32 = 1;
pub(crate) const LAUNCH_INTERRUPT: u32 = 2;

/// Opaque `gw_card`.
#[repr(C)]
pub(crate) struct RawCard {
    _opaque: [u8; 0],
}

/// `gw_card_stats`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawStats {
    pub cycles: u64,
    pub time_ps: u64,
    pub link_ps: u64,
    pub link_bytes: u64,
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub pt_reads: u64,
    pub row_hits: u64,
    pub row_misses: u64,
    pub host_reads: u64,
    pub host_writes: u64,
}

/// `gw_launch_times`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawLaunchTimes {
    pub state: u32,
    pub reserved: u32,
    pub start_cycle: u64,
    pub end_cycle: u64,
    pub stats: RawStats,
}

/// `gw_port_req`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawPortReq {
    pub token: u64,
    pub addr: u64,
    pub earliest_cycle: u64,
    pub data: *const c_void,
    pub port: u32,
    pub write: u8,
    pub id: u8,
    pub len: u8,
    pub size: u8,
}

/// `gw_port_done`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawPortDone {
    pub token: u64,
    pub offered_cycle: u64,
    pub accepted_cycle: u64,
    pub first_cycle: u64,
    pub done_cycle: u64,
    pub order: u64,
    pub resp: u32,
    pub size_bytes: u32,
}

/// `gw_mem_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawMemEvent {
    pub cycle: u64,
    pub addr: u64,
    pub port: u32,
    pub write: u8,
    pub id: u8,
    pub len: u8,
    pub size: u8,
}

/// Declares the table of functions and its loader from the prototypes, so that a name is written once.
macro_rules! functions {
    ($($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// Every function of the ABI, and the library that keeps them alive.
        pub(crate) struct Functions {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            _library: Library,
        }

        impl Functions {
            /// Loads the library at `path`.
            ///
            /// # Safety
            /// The library must implement `gw_card.h`; its initialisers run.
            pub unsafe fn load(path: &Path) -> Result<Self, CardError> {
                let failed = |source| CardError::Load { path: path.to_owned(), source };
                // SAFETY: the caller vouches for the library's initialisers.
                let library = unsafe { Library::new(path) }.map_err(failed)?;
                $(
                    // SAFETY: the caller vouches that the symbol has the type gw_card.h gives it.
                    let $name = *unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) $(-> $ret)?>(
                            concat!("gw_card_", stringify!($name), "\0").as_bytes(),
                        )
                    }
                    .map_err(failed)?;
                )*
                Ok(Self { $($name,)* _library: library })
            }
        }
    };
}

functions! {
    abi: fn() -> u32;
    describe: fn() -> *const c_char;
    open: fn(*const c_char, *mut c_char, usize) -> *mut RawCard;
    close: fn(*mut RawCard);
    error: fn(*const RawCard) -> *const c_char;
    memory: fn(*mut RawCard, *mut c_int, *mut u64, *mut *mut c_void) -> c_int;
    reg_read: fn(*mut RawCard, u64, *mut u32) -> c_int;
    reg_write: fn(*mut RawCard, u64, u32) -> c_int;
    run: fn(*mut RawCard, u64, u32, *mut u32) -> c_int;
    take_rises: fn(*mut RawCard) -> u32;
    transfer: fn(*mut RawCard, c_int, u64, *mut c_void, u64) -> c_int;
    host_window: fn(*mut RawCard, u64, *mut c_void, u64) -> c_int;
    get_stats: fn(*const RawCard, *mut RawStats) -> c_int;
    launch_times: fn(*const RawCard, u32, *mut RawLaunchTimes) -> c_int;
    port_submit: fn(*mut RawCard, *const RawPortReq, usize) -> c_int;
    port_drain: fn(*mut RawCard, u64, u32, *mut u32, *mut u64) -> c_int;
    port_poll: fn(*mut RawCard, *mut RawPortDone, usize, *mut c_void, usize) -> usize;
    record_events: fn(*mut RawCard, c_int) -> c_int;
    take_events: fn(*mut RawCard, *mut RawMemEvent, usize) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// Compiles the header with the C compiler and compares every structure, so that neither side can drift alone.
    #[test]
    fn layouts_are_those_of_the_header() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let directory =
            std::env::temp_dir().join(format!("godwit-card-abi-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let source = directory.join("layout.c");
        std::fs::write(
            &source,
            r#"#include <stdio.h>
               #include "gw_card.h"
               #define O(s, f) (unsigned)offsetof(s, f)
               int main(void) {
                   printf("%u %u %u %u %u %u %u %u %u %u %u %u\n", GW_CARD_ABI, (unsigned)sizeof(gw_card_stats),
                          O(gw_card_stats, host_writes), (unsigned)sizeof(gw_port_req), O(gw_port_req, data),
                          O(gw_port_req, size), (unsigned)sizeof(gw_port_done), O(gw_port_done, size_bytes),
                          (unsigned)sizeof(gw_mem_event), O(gw_mem_event, size),
                          (unsigned)sizeof(gw_launch_times), O(gw_launch_times, stats));
                   return 0;
               }"#,
        )
        .unwrap();
        let program = directory.join("layout");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let compiled = std::process::Command::new(&compiler)
            .arg("-I")
            .arg(root.join("card/sim"))
            .args([source.as_os_str(), "-o".as_ref(), program.as_os_str()])
            .status()
            .unwrap_or_else(|error| panic!("a C compiler is needed ({compiler}): {error}"));
        assert!(compiled.success());
        let printed = std::process::Command::new(&program)
            .output()
            .unwrap()
            .stdout;
        std::fs::remove_dir_all(&directory).unwrap();
        let ours = [
            ABI as usize,
            size_of::<RawStats>(),
            offset_of!(RawStats, host_writes),
            size_of::<RawPortReq>(),
            offset_of!(RawPortReq, data),
            offset_of!(RawPortReq, size),
            size_of::<RawPortDone>(),
            offset_of!(RawPortDone, size_bytes),
            size_of::<RawMemEvent>(),
            offset_of!(RawMemEvent, size),
            size_of::<RawLaunchTimes>(),
            offset_of!(RawLaunchTimes, stats),
        ];
        let ours = ours.map(|number| number.to_string()).join(" ");
        assert_eq!(String::from_utf8(printed).unwrap().trim(), ours);
    }
}
