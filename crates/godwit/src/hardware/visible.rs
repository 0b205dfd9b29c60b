// SPDX-License-Identifier: Apache-2.0
//! Which addresses of this process are device memory: the system's own list of mappings says it, so that it holds for every
//! allocator that has mapped the card's memory.

use godwit_card::Memory;

use crate::hardware::frames::Extent;

/// A mapping of this process: addresses [start, end) are the file's bytes from `offset` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
}

/// Where [address, address + len) is in `memory`: pieces in the order of the addresses, each as long as can be. The error is the
/// first address that is none of it.
pub(crate) fn locate(memory: &Memory, address: u64, len: u64) -> Result<Vec<Extent>, u64> {
    let file = rustix::fs::fstat(memory.fd()).map_err(|_| address)?;
    let device = (
        rustix::fs::major(file.st_dev),
        rustix::fs::minor(file.st_dev),
    );
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|_| address)?;
    pieces(mappings(&maps, device, file.st_ino), address, len)
}

/// The mappings of one file in the text of /proc/self/maps, in the order of their addresses.
fn mappings(maps: &str, device: (u32, u32), inode: u64) -> impl Iterator<Item = Mapping> + '_ {
    maps.lines().filter_map(move |line| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let offset = words.nth(1)?;
        let (major, minor) = words.next()?.split_once(':')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let found = (number(major)?, number(minor)?);
        let wanted = (u64::from(device.0), u64::from(device.1));
        (found == wanted && words.next()?.parse() == Ok(inode)).then_some(Mapping {
            start: number(start)?,
            end: number(end)?,
            offset: number(offset)?,
        })
    })
}

fn pieces(
    mappings: impl Iterator<Item = Mapping>,
    address: u64,
    len: u64,
) -> Result<Vec<Extent>, u64> {
    let end = address + len;
    let mut found: Vec<Extent> = Vec::new();
    let mut next = address;
    for mapping in mappings {
        if next == end || mapping.start > next {
            break;
        }
        if mapping.end <= next {
            continue;
        }
        let piece = Extent {
            pa: mapping.offset + (next - mapping.start),
            len: mapping.end.min(end) - next,
        };
        next += piece.len;
        match found.last_mut() {
            Some(last) if last.end() == piece.pa => last.len += piece.len,
            _ => found.push(piece),
        }
    }
    if next == end { Ok(found) } else { Err(next) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "1000-3000 rw-s 00010000 00:01 77  /memfd:godwit (deleted)\n\
        3000-4000 rw-s 00012000 00:01 77 /memfd:godwit (deleted)\n\
        4000-5000 rw-s 00040000 00:01 77 /memfd:godwit (deleted)\n\
        5000-6000 rw-s 00041000 00:01 78 /memfd:other (deleted)\n\
        6000-7000 rw-p 00000000 00:00 0\n";

    fn located(address: u64, len: u64) -> Result<Vec<Extent>, u64> {
        pieces(mappings(MAPS, (0, 1), 77), address, len)
    }

    #[test]
    fn pieces_are_joined_where_the_file_goes_on() {
        let extent = |pa, len| Extent { pa, len };
        assert_eq!(located(0x1000, 0x3000), Ok(vec![extent(0x10000, 0x3000)]));
        assert_eq!(
            located(0x2000, 0x3000),
            Ok(vec![extent(0x11000, 0x2000), extent(0x40000, 0x1000)])
        );
    }

    #[test]
    fn the_first_address_that_is_no_device_memory_is_named() {
        assert_eq!(located(0x4000, 0x2000), Err(0x5000));
        assert_eq!(located(0x6000, 0x1000), Err(0x6000));
        assert_eq!(located(0x0, 0x2000), Err(0));
    }

    #[test]
    fn a_mapping_of_this_process_is_found() {
        let memory = Memory::new(1 << 16).unwrap();
        // SAFETY: a new mapping at an address of the system's choice.
        let at = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                0x4000,
                rustix::mm::ProtFlags::READ,
                rustix::mm::MapFlags::SHARED,
                memory.fd(),
                0x8000,
            )
        }
        .unwrap();
        assert_eq!(
            locate(&memory, at as u64 + 0x1000, 0x2000),
            Ok(vec![Extent {
                pa: 0x9000,
                len: 0x2000
            }])
        );
        let local = Box::new([0u8; 4096]);
        assert!(locate(&memory, local.as_ptr() as u64, 4096).is_err());
        // SAFETY: mapped above, and not used any more.
        unsafe { rustix::mm::munmap(at, 0x4000) }.unwrap();
    }
}
