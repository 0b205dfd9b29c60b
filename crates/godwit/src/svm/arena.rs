// SPDX-License-Identifier: Apache-2.0
//! Memory that an allocator cuts small: it never moves.
//!
//! A thread in `malloc` holds a lock of its arena and touches free memory there. Were that away, it would wait for the pager, and
//! the pager, or a card's thread, for the lock. So what lies in arenas of the C library is lent. Large allocations are mappings of their own, and
//! [`keep_apart`] has it stay so.

use std::sync::OnceLock;

use super::PAGE;

/// Bytes and alignment of the pieces that arenas of threads consist of (glibc's `HEAP_MAX_SIZE`).
const PIECE: u64 = 64 << 20;
/// Where such a piece has its arena, if it is the first of it: after its own header, of one of these lengths.
const HEADERS: std::ops::RangeInclusive<u64> = 0x20..=0x60;

/// Allocations of so many bytes or more are mappings of their own from now on. The C library would raise this limit to the size of each
/// such allocation that is freed, up to 32 MiB.
const APART: i32 = 128 << 10;

/// Keeps large allocations out of arenas.
pub(super) fn keep_apart() {
    #[cfg(target_env = "gnu")]
    // SAFETY: a limit of the allocator, which may be set at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, APART);
    }
}

/// Whether an address lies in an arena. `read` copies memory where it is, and says whether it is there: what is watched or the shadow is none,
/// for an arena's header shares its page with nobody who could give it away.
pub(super) fn contains(address: u64, read: impl Fn(u64, &mut [u8]) -> bool) -> bool {
    in_main(address) || in_piece(address, read)
}

/// The main arena grows from where the program ends.
fn in_main(address: u64) -> bool {
    static START: OnceLock<u64> = OnceLock::new();

    // SAFETY: moves nothing.
    let end = unsafe { libc::sbrk(0) } as u64;
    let start = *START.get_or_init(|| heap_start().unwrap_or(end));
    (start..end).contains(&address)
}

/// Where the system's list of mappings has the heap begin, which never changes.
fn heap_start() -> Option<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let heap = maps.lines().find(|line| line.ends_with("[heap]"))?;
    u64::from_str_radix(heap.split('-').next()?, 16).ok()
}

/// Whether there is the header of a piece of an arena: its arena, the piece before it, and how much of it is in use.
fn in_piece(address: u64, read: impl Fn(u64, &mut [u8]) -> bool) -> bool {
    let start = address & !(PIECE - 1);
    let mut header = [0; 24];
    if start == 0 || !read(start, &mut header) {
        return false;
    }
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&header[at..at + 8]);
        u64::from_ne_bytes(bytes)
    };
    let (arena, before, used) = (word(0), word(8), word(16));
    HEADERS.contains(&(arena % PIECE))
        && before % PIECE == 0
        && (before != 0 || arena / PIECE == start / PIECE)
        && (PAGE..=PIECE).contains(&used)
        && address < start + used
}

#[cfg(test)]
#[cfg(target_env = "gnu")]
mod tests {
    use super::super::memory::read_process;
    use super::*;

    fn is_in_arena(bytes: usize) -> bool {
        let memory = vec![7u8; bytes];
        contains(memory.as_ptr() as u64 + bytes as u64 / 2, read_process)
    }

    #[test]
    fn small_allocations_are_in_arenas_and_large_ones_are_not() {
        keep_apart();
        let both = || {
            for _ in 0..20 {
                assert!(is_in_arena(40_000));
                assert!(!is_in_arena(1 << 20));
            }
        };
        // The main arena is that of the first thread, of which a test knows nothing; each other thread may get one of its own.
        both();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(both);
            }
        });
        let main = heap_start().map(in_main);
        assert_ne!(main, Some(false));
        let on_stack = [0u8; 64];
        assert!(!contains(on_stack.as_ptr() as u64, read_process));
    }
}
