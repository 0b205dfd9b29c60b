// SPDX-License-Identifier: Apache-2.0
//! Commands of the MMU's command queue: IOTINVAL.VMA, IOFENCE.C and ATS.PRGR of the RISC-V IOMMU specification, and CACHE.RANGE of
//! the page cache.

use crate::layout;

/// log2 of the largest range, in pages, that the hardware drops as a range; a larger one drops the whole context.
const MAX_ORDER: u32 = 18;
/// With more commands than this for one call, dropping the whole context is cheaper than naming everything.
const MAX_COMMANDS: usize = 64;
const PAGE_SHIFT: u32 = layout::PT_PAGE_SHIFT;
/// Most bytes of one flush: the field has 32 bits for lines.
const MAX_FLUSH: u64 = LINE_BYTES << 32;
/// Unit of the page cache.
const LINE_BYTES: u64 = layout::DMA_LINE_BYTES as u64;
/// Page numbers of 64-bit addresses.
const VPN_BITS: u32 = 64 - PAGE_SHIFT;

/// A command, as it stands in memory: two doublewords, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command(pub [u64; 2]);

impl Command {
    /// Bytes of a command.
    pub const BYTES: u64 = layout::COMMAND_BYTES as u64;

    const fn head(opcode: u32, func3: u32) -> u64 {
        (opcode as u64) << layout::COMMAND_FIELD_OPCODE_SHIFT
            | (func3 as u64) << layout::COMMAND_FIELD_FUNC3_SHIFT
    }

    /// Drops every translation, global ones included.
    pub const fn drop_everything() -> Self {
        let head = Self::head(layout::COMMAND_IOTINVAL, layout::COMMAND_IOTINVAL_VMA);
        Self([head, 0])
    }

    /// Drops the translations of a context.
    pub const fn drop_context(context: u32) -> Self {
        let Self([head, _]) = Self::drop_everything();
        Self([
            head | layout::IOTINVAL_PSCV_MASK | (context as u64) << layout::IOTINVAL_PSCID_SHIFT,
            0,
        ])
    }

    /// Drops the translations of a context that overlap 2^`order` pages from page `vpn` on, which is a multiple of them.
    fn drop_pages(context: u32, vpn: u64, order: u32) -> Self {
        let Self([head, _]) = Self::drop_context(context);
        // The lowest zero bit of a range's page number stands below its size.
        let (vpn, range) = match order.checked_sub(1) {
            None => (vpn, 0),
            Some(zero) => (vpn | ((1 << zero) - 1), layout::IOTINVAL_WHERE_S_MASK),
        };
        Self([
            head | layout::IOTINVAL_AV_MASK,
            range | vpn << layout::IOTINVAL_WHERE_VPN_SHIFT & layout::IOTINVAL_WHERE_VPN_MASK,
        ])
    }

    /// Waits until no access uses what the commands before it dropped, then sets `cqcsr.fence_w_ip`.
    pub const fn fence() -> Self {
        let head = Self::head(layout::COMMAND_IOFENCE, layout::COMMAND_IOFENCE_C);
        Self([head | layout::IOFENCE_WSI_MASK, 0])
    }

    /// The same for every access under way, whatever was dropped.
    pub const fn drain() -> Self {
        let Self([head, _]) = Self::fence();
        Self([head | layout::IOFENCE_PR_MASK | layout::IOFENCE_PW_MASK, 0])
    }

    /// Ends a page request of a context: how its group, as the record named it, ended.
    pub const fn respond(context: u32, group: u32, code: u64) -> Self {
        let head = Self::head(layout::COMMAND_ATS, layout::COMMAND_ATS_PRGR);
        Self([
            head | layout::ATS_PRGR_PV_MASK | (context as u64) << layout::ATS_PRGR_PID_SHIFT,
            (group as u64) << layout::ATS_PRGR_PAYLOAD_PLACE_SHIFT
                | code << layout::ATS_PRGR_PAYLOAD_CODE_SHIFT,
        ])
    }

    /// Writes what the page cache has changed of host memory there, and drops it: all that it has.
    pub const fn flush_everything() -> Self {
        let head = Self::head(layout::COMMAND_CACHE, layout::COMMAND_CACHE_RANGE);
        Self([
            head | layout::CACHE_RANGE_CLEAN_MASK | layout::CACHE_RANGE_DROP_MASK,
            0,
        ])
    }

    /// The same of whole lines: `bytes` from a physical address on, 256 GiB at most.
    const fn flush(pa: u64, bytes: u64) -> Self {
        let Self([head, _]) = Self::flush_everything();
        let lines = bytes / LINE_BYTES - 1;
        Self([
            head | layout::CACHE_RANGE_AV_MASK | lines << layout::CACHE_RANGE_LINES_SHIFT,
            pa & layout::CACHE_RANGE_WHERE_LINE_MASK,
        ])
    }

    /// The command as it stands in memory.
    pub fn to_le_bytes(self) -> [u8; Self::BYTES as usize] {
        let mut bytes = [0; Self::BYTES as usize];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// Commands that drop at least these ranges (first address, bytes; whole pages) of a context: naturally aligned pieces,
/// or the whole context when that is less work.
pub fn drop_ranges(context: u32, ranges: impl IntoIterator<Item = (u64, u64)>) -> Vec<Command> {
    let mut commands = Vec::new();
    for (va, bytes) in ranges {
        let (mut vpn, mut left) = (va >> PAGE_SHIFT, bytes >> PAGE_SHIFT);
        while left > 0 {
            let order = vpn.trailing_zeros().min(left.ilog2()).min(MAX_ORDER);
            if commands.len() == MAX_COMMANDS {
                return vec![Command::drop_context(context)];
            }
            commands.push(Command::drop_pages(context, vpn, order));
            // The last piece may end with the address space.
            vpn = (vpn + (1 << order)) & ((1 << VPN_BITS) - 1);
            left -= 1 << order;
        }
    }
    commands
}

/// Commands that flush at least these ranges (first physical address, bytes; whole lines): each, or everything when that is less
/// work.
pub fn flush_ranges(ranges: &[(u64, u64)]) -> Vec<Command> {
    if ranges.len() > MAX_COMMANDS || ranges.iter().any(|(_, bytes)| *bytes > MAX_FLUSH) {
        return vec![Command::flush_everything()];
    }
    ranges
        .iter()
        .map(|(pa, bytes)| Command::flush(*pa, *bytes))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a command drops: (first page, pages), or `None` for the whole context.
    fn pages(command: Command) -> Option<(u64, u64)> {
        let Command([head, place]) = command;
        assert_eq!(head & 0x7f, 1);
        assert_eq!((head >> 32) & 1, 1);
        assert_eq!((head >> 12) & 0xf_ffff, 7);
        if head & 1 << 10 == 0 {
            return None;
        }
        let vpn = place >> 10;
        let order = if place & 1 << 9 == 0 {
            0
        } else {
            vpn.trailing_ones() + 1
        };
        Some((vpn >> order << order, 1 << order))
    }

    #[test]
    fn ranges_are_cut_into_aligned_pieces_that_cover_them_exactly() {
        for (va, bytes) in [
            (0, 0x1000),
            (0x7000, 0x9000),
            (0x1000, 0x1000),
            (0x1_2345_6000, 0x123_4000),
            (0x4000_0000, 0x4000_0000),
            (0xffff_ffff_ffff_f000, 0x1000),
            (0xffff_ff80_0000_1000, 0xf000),
        ] {
            let mut next = va >> 12;
            for command in drop_ranges(7, [(va, bytes)]) {
                let (first, count) = pages(command).unwrap();
                assert_eq!(first, next, "{va:#x} {bytes:#x}");
                assert!(count <= 1 << MAX_ORDER);
                next += count;
            }
            assert_eq!(next, (va >> 12) + (bytes >> 12));
        }
    }

    #[test]
    fn many_pieces_become_the_context() {
        let odd = |count| (0..count).map(|i| (0x1000 + i * 0x2000, 0x1000));
        assert_eq!(drop_ranges(7, odd(64)).len(), 64);
        let all = drop_ranges(7, odd(65));
        assert_eq!(all.len(), 1);
        assert_eq!(pages(all[0]), None);
    }

    #[test]
    fn flushes_name_lines() {
        assert_eq!(
            flush_ranges(&[(1 << 55 | 0x1040, 0x80)]),
            [Command([64 | 7 << 10 | 1 << 32, 1 << 55 | 0x1040])]
        );
        let all = [Command([64 | 6 << 10, 0])];
        assert_eq!(flush_ranges(&[(0, 64); 65]), all);
        assert_eq!(flush_ranges(&[(0, (64 << 32) + 64)]), all);
        assert_eq!(
            flush_ranges(&[(0, 64 << 32)])[0].0[0] >> 32,
            u64::from(u32::MAX)
        );
    }

    #[test]
    fn fences_signal() {
        assert_eq!(Command::fence().0, [2 | 1 << 11, 0]);
        assert_eq!(Command::drain().0, [2 | 7 << 11, 0]);
        assert_eq!(Command::drop_everything().to_le_bytes()[..2], [1, 0]);
    }
}
