// SPDX-License-Identifier: Apache-2.0
//! Address space of this process that a buffer gets on both sides: reserved first, then filled with device memory.

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use crate::hardware::frames::FRAME_BYTES;

/// Windows start here: above what a program and its heap occupy.
const LOW_START: u64 = 16 << 30;
/// They end here: below the libraries and stacks, and in reach of Sv39.
const LOW_END: u64 = 1 << 38;
/// Another thread may map into a gap between finding and taking it, again and again when it takes windows, too. Each time it
/// got something, so this is no limit that a program meets, but an end for a kernel that says so of every address.
const ATTEMPTS: usize = 1 << 16;

/// A reserved range of this process's addresses; unmapped when dropped.
pub(crate) struct Window {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a window is a range of addresses that belongs to this value; it has no thread affinity.
unsafe impl Send for Window {}
// SAFETY: no method changes the window through `&self`.
unsafe impl Sync for Window {}

/// Where a window must lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placement {
    /// Length in bytes, a multiple of the frame size.
    pub len: u64,
    /// The address is `phase` modulo `align` (a power of two).
    pub align: u64,
    /// See `align`.
    pub phase: u64,
    /// No address at or above this one.
    pub limit: u64,
}

impl Window {
    /// Reserves address space without memory behind it: at the lowest free address between `LOW_START` and `LOW_END`,
    /// where the system itself puts nothing, so that the same program gets the same addresses, and its launches take
    /// the same cycles, in every run. When there is no room, anywhere below the limit.
    pub fn reserve(place: Placement) -> Result<Self, Errno> {
        debug_assert!(place.len % FRAME_BYTES == 0 && place.align.is_power_of_two());
        debug_assert!(place.phase < place.align && place.phase % FRAME_BYTES == 0);
        let low = Placement {
            limit: place.limit.min(LOW_END),
            ..place
        };
        Self::lowest(low).or_else(|_| Self::anywhere(place))
    }

    /// Reserves exactly these addresses, or fails with `EXIST`: something is there.
    pub fn at(address: u64, len: u64) -> Result<Self, Errno> {
        match Self::map_nothing(address, len, MapFlags::FIXED_NOREPLACE) {
            // A kernel older than 4.17 takes the flag for a hint.
            Ok(window) if window.address() != address => Err(Errno::EXIST),
            result => result,
        }
    }

    /// In the lowest gap.
    fn lowest(place: Placement) -> Result<Self, Errno> {
        for _ in 0..ATTEMPTS {
            let maps = std::fs::read_to_string("/proc/self/maps").map_err(|_| Errno::NOMEM)?;
            let address = find_gap(&maps, place).ok_or(Errno::NOMEM)?;
            match Self::map_nothing(address, place.len, MapFlags::FIXED_NOREPLACE) {
                Err(Errno::EXIST) => continue,
                // A kernel older than 4.17 takes the flag for a hint.
                Ok(window) if window.address() != address => return Err(Errno::NOSYS),
                result => return result,
            }
        }
        Err(Errno::EXIST)
    }

    /// Where the kernel likes, with as much around it as alignment needs; the rest is given back.
    fn anywhere(place: Placement) -> Result<Self, Errno> {
        let slack = place.align.max(FRAME_BYTES);
        let length = place.len.checked_add(slack).ok_or(Errno::NOMEM)?;
        let whole = Self::map_nothing(0, length, MapFlags::empty())?;
        let address = align_up(whole.address(), place).ok_or(Errno::NOMEM)?;
        let window = whole.keep(address, place.len as usize);
        if window.end() > place.limit {
            Err(Errno::NOMEM)
        } else {
            Ok(window)
        }
    }

    fn map_nothing(address: u64, len: u64, flags: MapFlags) -> Result<Self, Errno> {
        let len = usize::try_from(len).map_err(|_| Errno::NOMEM)?;
        let flags = flags | MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: without FIXED, or with FIXED_NOREPLACE, nothing that is mapped already is replaced.
        let base = unsafe {
            rustix::mm::mmap_anonymous(address as *mut _, len, ProtFlags::empty(), flags)
        }?;
        Ok(Self {
            base: NonNull::new(base.cast()).ok_or(Errno::NOMEM)?,
            len,
        })
    }

    /// Cuts the window down to `[address, address + len)`.
    fn keep(self, address: u64, len: usize) -> Self {
        let whole = std::mem::ManuallyDrop::new(self);
        let before = (address - whole.address()) as usize;
        let after = whole.len - before - len;
        let start = whole.base.as_ptr();
        // SAFETY: both ranges belong to the window, lie outside what is kept, and nothing refers to them. `before +
        // len` is at most the window's length.
        unsafe {
            if before > 0 {
                let _ = rustix::mm::munmap(start.cast(), before);
            }
            if after > 0 {
                let _ = rustix::mm::munmap(start.add(before + len).cast(), after);
            }
            Self {
                base: whole.base.add(before),
                len,
            }
        }
    }

    /// Puts `len` bytes of `fd` from `file_offset` on at `offset` of the window, readable and writable.
    pub fn fill(
        &mut self,
        offset: u64,
        fd: BorrowedFd<'_>,
        file_offset: u64,
        len: u64,
    ) -> Result<(), Errno> {
        if offset
            .checked_add(len)
            .is_none_or(|end| end > self.len as u64)
        {
            return Err(Errno::INVAL);
        }
        // SAFETY: the range was just checked to lie within the window, which belongs to this value; nothing refers to
        // its inside yet, for `as_ptr` is only used once it is filled.
        unsafe {
            rustix::mm::mmap(
                self.base.as_ptr().add(offset as usize).cast(),
                len as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::FIXED | MapFlags::NORESERVE,
                fd,
                file_offset,
            )
        }?;
        Ok(())
    }

    /// Makes all of it zeroed memory of this process alone, and its first bytes, if there is a file, a copy of that file's: a
    /// write stays here.
    pub fn open(&mut self, file: Option<(BorrowedFd<'_>, u64)>) -> Result<(), Errno> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let private = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let start = self.base.as_ptr().cast();
        // SAFETY: the window belongs to this value, and nothing refers to its inside yet.
        unsafe { rustix::mm::mmap_anonymous(start, self.len, access, private) }?;
        let Some((fd, bytes)) = file else {
            return Ok(());
        };
        // Pages behind the file's end would end the process that touches them.
        let pages = bytes.next_multiple_of(FRAME_BYTES).min(self.len as u64) as usize;
        if pages > 0 {
            // SAFETY: as above, and within the window.
            unsafe { rustix::mm::mmap(start, pages, access, private, fd, 0) }?;
        }
        Ok(())
    }

    /// Makes `len` bytes from `offset` on memory of this process alone that reads as zero, or, if not `accessible`, addresses without memory.
    pub fn blank(&mut self, offset: u64, len: u64, accessible: bool) -> Result<(), Errno> {
        if offset
            .checked_add(len)
            .is_none_or(|end| end > self.len as u64)
        {
            return Err(Errno::INVAL);
        }
        let access = match accessible {
            true => ProtFlags::READ | ProtFlags::WRITE,
            false => ProtFlags::empty(),
        };
        // SAFETY: within the window, which belongs to this value; whoever refers to its inside was told that it is gone.
        unsafe {
            let start = self.base.as_ptr().add(offset as usize).cast();
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            rustix::mm::mmap_anonymous(start, len as usize, access, flags)?;
            rustix::mm::madvise(start, len as usize, rustix::mm::Advice::LinuxDontFork)
        }
    }

    /// Copies the page at `offset` to `file_offset` of `fd`. An error, and no signal, if its file has lost it.
    pub fn store(&self, offset: u64, fd: BorrowedFd<'_>, file_offset: u64) -> Result<(), Errno> {
        debug_assert!(offset + FRAME_BYTES <= self.len as u64);
        // SAFETY: the page is in the window; the kernel alone looks at it, and says so if it cannot.
        let page = unsafe {
            std::slice::from_raw_parts(
                self.base.as_ptr().add(offset as usize),
                FRAME_BYTES as usize,
            )
        };
        match rustix::io::pwrite(fd, page, file_offset)? {
            written if written == page.len() => Ok(()),
            _ => Err(Errno::IO),
        }
    }

    /// First address.
    pub fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Bytes, whole pages.
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    fn end(&self) -> u64 {
        self.address() + self.len as u64
    }

    /// First byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the range is ours and whoever was given its pointer was told that it dies here.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The first address at or after `from` that the placement allows.
fn align_up(from: u64, place: Placement) -> Option<u64> {
    let base = from & !(place.align - 1);
    let candidate = base.checked_add(place.phase)?;
    if candidate >= from {
        Some(candidate)
    } else {
        candidate.checked_add(place.align)
    }
}

/// The lowest free range of `maps` (the text of /proc/self/maps) that the placement allows.
fn find_gap(maps: &str, place: Placement) -> Option<u64> {
    let mut free_from = LOW_START;
    let occupied = maps.lines().filter_map(|line| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        Some((
            u64::from_str_radix(start, 16).ok()?,
            u64::from_str_radix(end, 16).ok()?,
        ))
    });
    for (start, end) in occupied.chain([(place.limit, u64::MAX)]) {
        let candidate = align_up(free_from, place)?;
        let gap_end = start.min(place.limit);
        if candidate
            .checked_add(place.len)
            .is_some_and(|last| last <= gap_end)
        {
            return Some(candidate);
        }
        free_from = free_from.max(end);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SV39: u64 = 1 << 38;
    const SV48: u64 = 1 << 47;

    fn place(len: u64, align: u64, phase: u64, limit: u64) -> Placement {
        Placement {
            len,
            align,
            phase,
            limit,
        }
    }

    #[test]
    fn windows_are_where_they_were_asked_for() {
        for limit in [SV39, SV48] {
            for (align, phase) in [(4096, 0), (1 << 21, 0), (1 << 30, 0), (1 << 21, 0x5000)] {
                let window = Window::reserve(place(0x3000, align, phase, limit)).unwrap();
                assert_eq!(window.address() % align, phase);
                assert!(window.end() <= limit);
            }
        }
    }

    /// They all want the lowest gap, so that each finds it taken again and again.
    #[test]
    fn threads_that_take_windows_at_once_all_get_them_low() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let of_200 = |_| Window::reserve(place(0x3000, 1 << 21, 0x5000, SV39)).unwrap();
                    let windows: Vec<_> = (0..200).map(of_200).collect();
                    assert!(windows.iter().all(|window| window.end() <= LOW_END));
                });
            }
        });
    }

    #[test]
    fn a_window_that_does_not_fit_low_is_anywhere_or_nowhere() {
        let large = |limit| Window::reserve(place(LOW_END, 1 << 21, 0x5000, limit));
        let window = large(SV48).unwrap();
        assert_eq!(window.address() % (1 << 21), 0x5000);
        assert!(window.end() <= SV48);
        assert_eq!(large(SV39).err(), Some(Errno::NOMEM));
    }

    #[test]
    fn windows_of_a_small_address_space_do_not_overlap() {
        let windows: Vec<_> = (0..20)
            .map(|_| Window::reserve(place(1 << 22, 1 << 21, 0, SV39)).unwrap())
            .collect();
        let mut ranges: Vec<_> = windows
            .iter()
            .map(|window| (window.address(), window.end()))
            .collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }

    #[test]
    fn a_filled_window_is_the_file() {
        let memory = godwit_card::Memory::new(1 << 16).unwrap();
        memory.write(0x3000, b"frame").unwrap();
        let mut window = Window::reserve(place(0x4000, 4096, 0, SV39)).unwrap();
        window.fill(0, memory.fd(), 0x8000, 0x1000).unwrap();
        window.fill(0x1000, memory.fd(), 0x3000, 0x1000).unwrap();
        // SAFETY: both pages were filled above.
        unsafe {
            assert_eq!(
                std::slice::from_raw_parts(window.as_ptr().add(0x1000), 5),
                b"frame"
            );
            window.as_ptr().write(7);
        }
        let mut byte = [0];
        memory.read(0x8000, &mut byte).unwrap();
        assert_eq!(byte, [7]);
        assert_eq!(
            window.fill(0x3000, memory.fd(), 0, 0x2000),
            Err(Errno::INVAL)
        );
    }

    #[test]
    fn gaps_are_found_between_mappings() {
        let maps = "400000000-400002000 r--p 0 00:00 0 a\n400003000-400010000 rw-p 0 00:00 0\n7f0000000000-7f0000001000 r--p";
        assert_eq!(
            find_gap(maps, place(0x1000, 0x1000, 0, SV39)),
            Some(0x4_0000_2000)
        );
        assert_eq!(
            find_gap(maps, place(0x2000, 0x1000, 0, SV39)),
            Some(0x4_0001_0000)
        );
        assert_eq!(
            find_gap(maps, place(0x2000, 1 << 21, 0x3000, SV39)),
            Some(0x4_0020_3000)
        );
        assert_eq!(find_gap(maps, place(SV39, 4096, 0, SV39)), None);
    }
}
