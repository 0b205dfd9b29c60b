// SPDX-License-Identifier: Apache-2.0
//! Blocks of the driver's `/dev/godwit-cmt`, as areas of a pool. Their addresses are their offsets in the file, whose they are.

use std::fs::File;
use std::io;

use godwit_core::range::Area;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

use crate::CmtError;

const PATH: &str = "/dev/godwit-cmt";
/// `GODWIT_CMT_ANY_NODE`.
const ANY_NODE: u32 = u32::MAX;

/// `struct godwit_cmt_alloc` of the driver's `uapi/godwit.h`.
#[repr(C)]
#[derive(Default)]
struct Alloc {
    bytes: u64,
    align: u64,
    min: u64,
    max: u64,
    node: u32,
    flags: u32,
    address: u64,
    reason: u32,
    reserved: u32,
    free_bytes: u64,
    largest_bytes: u64,
    placed_bytes: u64,
}

/// `GODWIT_CMT_IOC_ALLOC`.
const IOC_ALLOC: Opcode = opcode::read_write::<Alloc>(b'g', 0x61);

/// Asks for one block. When there is none so large, the largest free piece is said.
fn ask(file: &File, bytes: u64, align: u64) -> Result<Area, (Errno, u64)> {
    let mut what = Alloc {
        bytes,
        align,
        node: ANY_NODE,
        ..Alloc::default()
    };
    // SAFETY: the opcode is that of the structure.
    match unsafe { ioctl(file, Updater::<IOC_ALLOC, Alloc>::new(&mut what)) } {
        Ok(()) => Ok(Area {
            base: what.address,
            bytes: what.bytes,
            node: 0,
        }),
        Err(error) => Err((error, what.largest_bytes)),
    }
}

/// Takes so many bytes, in as few pieces as there are. All of them go back when the file is closed and nothing of it is mapped.
pub(crate) fn take(bytes: u64, granule: u64) -> Result<(File, Vec<Area>), CmtError> {
    let failed = |why: String| CmtError::Memory(format!("{PATH}: {why}"));
    let file = File::options()
        .read(true)
        .write(true)
        .open(PATH)
        .map_err(|error| {
            failed(format!(
                "{error}; the driver has it when it was given memory (cmt_mib or cmt_areas)"
            ))
        })?;
    let mut areas: Vec<Area> = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let area = ask(&file, left, granule).or_else(|(error, largest)| {
            // A piece that is not aligned has an aligned one in it that is less than a granule smaller.
            let most = left.min(largest) / granule * granule;
            let sizes = [most, most.saturating_sub(granule)];
            sizes
                .into_iter()
                .filter(|size| *size > 0)
                .find_map(|size| ask(&file, size, granule).ok())
                .ok_or_else(|| {
                    failed(format!(
                        "{} ({bytes} bytes asked for, {} of them are there)",
                        io::Error::from(error),
                        bytes - left
                    ))
                })
        })?;
        left -= area.bytes.min(left);
        areas.push(area);
    }
    Ok((file, areas))
}
