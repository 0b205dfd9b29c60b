// SPDX-License-Identifier: Apache-2.0
//! `userfaultfd`: the system tells who touches a page that is not there, and moves pages under running threads.
//!
//! Pages are taken with `UFFDIO_MOVE` (Linux 6.8): the page itself changes its place, so that no store of a running thread can be
//! lost between a copy and the removal of what was copied.

use std::io::{Error as IoError, Result as IoResult};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use linux_raw_sys::general as sys;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::mm::UserfaultfdFlags;

use crate::Error;

/// First letter of the ioctls.
const GROUP: u8 = sys::UFFDIO as u8;
const API: Opcode = opcode::read_write::<sys::uffdio_api>(GROUP, sys::_UFFDIO_API as u8);
const REGISTER: Opcode =
    opcode::read_write::<sys::uffdio_register>(GROUP, sys::_UFFDIO_REGISTER as u8);
const UNREGISTER: Opcode = opcode::read::<sys::uffdio_range>(GROUP, sys::_UFFDIO_UNREGISTER as u8);
const WAKE: Opcode = opcode::read::<sys::uffdio_range>(GROUP, sys::_UFFDIO_WAKE as u8);
const COPY: Opcode = opcode::read_write::<sys::uffdio_copy>(GROUP, sys::_UFFDIO_COPY as u8);
const PROTECT: Opcode =
    opcode::read_write::<sys::uffdio_writeprotect>(GROUP, sys::_UFFDIO_WRITEPROTECT as u8);
const ZERO: Opcode = opcode::read_write::<sys::uffdio_zeropage>(GROUP, sys::_UFFDIO_ZEROPAGE as u8);
const MOVE: Opcode = opcode::read_write::<sys::uffdio_move>(GROUP, sys::_UFFDIO_MOVE as u8);
/// `USERFAULTFD_IOC_NEW` of /dev/userfaultfd.
const NEW: Opcode = opcode::none(GROUP, 0);

/// What changes of the address space must be heard of.
const EVENTS: u64 = (sys::UFFD_FEATURE_EVENT_REMAP
    | sys::UFFD_FEATURE_EVENT_REMOVE
    | sys::UFFD_FEATURE_EVENT_UNMAP) as u64;

/// Something happened to registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A thread waits for a page.
    Touch {
        address: u64,
        write: bool,
        thread: u32,
    },
    /// The mapping moved, and its registration with it.
    Remap { from: u64, to: u64, len: u64 },
    /// Its content was given up (`MADV_DONTNEED`).
    Remove { start: u64, end: u64 },
    /// It is gone.
    Unmap { start: u64, end: u64 },
}

/// How far an operation on a range came, in bytes, and what stopped it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    pub bytes: u64,
    pub stopped: Option<Errno>,
}

/// One userfaultfd.
pub(super) struct Uffd {
    fd: OwnedFd,
    user_mode_only: bool,
}

impl Uffd {
    /// One that tells of changes of the address space when `events`.
    pub fn open(events: bool) -> Result<Self, Error> {
        let wanted = u64::from(sys::UFFD_FEATURE_MOVE)
            | if events {
                EVENTS | u64::from(sys::UFFD_FEATURE_THREAD_ID)
            } else {
                0
            };
        // A descriptor takes its features once: the first one only tells what there is.
        let (probe, _) = descriptor()?;
        let has = handshake(&probe, 0).map_err(unusable)?;
        if has & wanted != wanted {
            return Err(Error::Sharing(format!(
                "shared memory needs userfaultfd with UFFDIO_MOVE and events of the address space (features {wanted:#x}), and \
                 this system's has {has:#x}: take Linux 6.8 or newer, or allocate buffers on the card"
            )));
        }
        let (fd, user_mode_only) = descriptor()?;
        handshake(&fd, wanted).map_err(unusable)?;
        Ok(Self { fd, user_mode_only })
    }

    /// Only touches of the program itself are heard; a system call that is given a page which is away fails.
    pub fn user_mode_only(&self) -> bool {
        self.user_mode_only
    }

    /// From now on missing pages of the range, which lies in anonymous mappings, are told.
    pub fn register(&self, start: u64, len: u64) -> Result<(), Errno> {
        self.register_as(start, len, sys::UFFDIO_REGISTER_MODE_MISSING)
    }

    /// ... and writes to pages that are guarded ([`Uffd::copy_guarded`]).
    pub fn register_guarded(&self, start: u64, len: u64) -> Result<(), Errno> {
        let mode = sys::UFFDIO_REGISTER_MODE_MISSING | sys::UFFDIO_REGISTER_MODE_WP;
        self.register_as(start, len, mode)
    }

    fn register_as(&self, start: u64, len: u64, mode: u32) -> Result<(), Errno> {
        let mut register = sys::uffdio_register {
            range: sys::uffdio_range { start, len },
            mode: mode.into(),
            ioctls: 0,
        };
        self.call::<REGISTER, _>(&mut register)
    }

    /// Undoes [`Uffd::register`].
    pub fn unregister(&self, start: u64, len: u64) -> Result<(), Errno> {
        self.call::<UNREGISTER, _>(&mut sys::uffdio_range { start, len })
    }

    /// Lets threads that wait for pages of the range touch them again.
    pub fn wake(&self, start: u64, len: u64) -> Result<(), Errno> {
        self.call::<WAKE, _>(&mut sys::uffdio_range { start, len })
    }

    /// Fills missing pages with a copy of what is at `from`, and wakes who waits.
    pub fn copy(&self, to: u64, from: u64, len: u64) -> Progress {
        self.copy_as(to, from, len, 0)
    }

    /// The same; the first write to each of them is told.
    pub fn copy_guarded(&self, to: u64, from: u64, len: u64) -> Progress {
        self.copy_as(to, from, len, sys::UFFDIO_COPY_MODE_WP.into())
    }

    fn copy_as(&self, to: u64, from: u64, len: u64, mode: u64) -> Progress {
        let mut copy = sys::uffdio_copy {
            dst: to,
            src: from,
            len,
            mode,
            copy: 0,
        };
        let result = self.call::<COPY, _>(&mut copy);
        progress(result, copy.copy, len)
    }

    /// Ends the guard of pages, and wakes who waits to write them.
    pub fn unguard(&self, start: u64, len: u64) -> Result<(), Errno> {
        self.call::<PROTECT, _>(&mut sys::uffdio_writeprotect {
            range: sys::uffdio_range { start, len },
            mode: 0,
        })
    }

    /// Makes missing pages read as zero, and wakes who waits.
    pub fn zero(&self, start: u64, len: u64) -> Progress {
        let mut zero = sys::uffdio_zeropage {
            range: sys::uffdio_range { start, len },
            mode: 0,
            zeropage: 0,
        };
        let result = self.call::<ZERO, _>(&mut zero);
        progress(result, zero.zeropage, len)
    }

    /// Moves the pages at `from` to `to`, which is registered here and where none are, and wakes who waits there.
    pub fn relocate(&self, to: u64, from: u64, len: u64) -> Progress {
        let mut relocate = sys::uffdio_move {
            dst: to,
            src: from,
            len,
            mode: 0,
            move_: 0,
        };
        let result = self.call::<MOVE, _>(&mut relocate);
        progress(result, relocate.move_, len)
    }

    /// The next event, if there is one.
    pub fn read(&self) -> Result<Option<Event>, Errno> {
        loop {
            let mut message = MaybeUninit::<sys::uffd_msg>::uninit();
            let len = size_of::<sys::uffd_msg>();
            // SAFETY: the buffer has room for one message, which is what the system writes at a time.
            let bytes = unsafe {
                std::slice::from_raw_parts_mut(message.as_mut_ptr().cast::<MaybeUninit<u8>>(), len)
            };
            let (read, _) = match rustix::io::read(&self.fd, bytes) {
                Ok(read) => read,
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            if read.len() < len {
                return Err(Errno::IO);
            }
            // SAFETY: the system has written a whole message.
            if let Some(event) = unsafe { decode(&message.assume_init()) } {
                return Ok(Some(event));
            }
        }
    }

    fn call<const OPCODE: Opcode, T>(&self, argument: &mut T) -> Result<(), Errno> {
        // SAFETY: every opcode of this file is used with the structure that it is made of.
        unsafe { ioctl(&self.fd, Updater::<OPCODE, T>::new(argument)) }
    }
}

impl AsFd for Uffd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn progress(result: Result<(), Errno>, done: i64, len: u64) -> Progress {
    match result {
        Ok(()) => Progress {
            bytes: len,
            stopped: None,
        },
        Err(errno) => Progress {
            bytes: u64::try_from(done).unwrap_or(0),
            stopped: Some(errno),
        },
    }
}

/// # Safety
/// `message` was written by the system.
unsafe fn decode(message: &sys::uffd_msg) -> Option<Event> {
    // SAFETY: the event says which part of the union is meant, and all of them are plain numbers.
    unsafe {
        match u32::from(message.event) {
            sys::UFFD_EVENT_PAGEFAULT => {
                let fault = message.arg.pagefault;
                Some(Event::Touch {
                    address: fault.address,
                    write: fault.flags & u64::from(sys::UFFD_PAGEFAULT_FLAG_WRITE) != 0,
                    thread: fault.feat.ptid,
                })
            }
            sys::UFFD_EVENT_REMAP => {
                let remap = message.arg.remap;
                Some(Event::Remap {
                    from: remap.from,
                    to: remap.to,
                    len: remap.len,
                })
            }
            sys::UFFD_EVENT_REMOVE => {
                let remove = message.arg.remove;
                Some(Event::Remove {
                    start: remove.start,
                    end: remove.end,
                })
            }
            sys::UFFD_EVENT_UNMAP => {
                let unmap = message.arg.remove;
                Some(Event::Unmap {
                    start: unmap.start,
                    end: unmap.end,
                })
            }
            _ => None,
        }
    }
}

/// A new descriptor, and whether it hears of the program's own touches only: all where that is allowed.
fn descriptor() -> Result<(OwnedFd, bool), Error> {
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
    // SAFETY: a new descriptor changes nothing yet.
    match unsafe { rustix::mm::userfaultfd(flags) } {
        Ok(fd) => return Ok((fd, false)),
        Err(Errno::PERM) => {}
        Err(error) => return Err(unusable(error)),
    }
    if let Ok(fd) = from_device() {
        return Ok((fd, false));
    }
    let own = UserfaultfdFlags::from_bits_retain(sys::UFFD_USER_MODE_ONLY);
    // SAFETY: as above.
    match unsafe { rustix::mm::userfaultfd(flags | own) } {
        Ok(fd) => Ok((fd, true)),
        Err(error) => Err(unusable(error)),
    }
}

/// A descriptor of /dev/userfaultfd, where the owner of the machine has allowed it.
fn from_device() -> IoResult<OwnedFd> {
    use std::os::fd::FromRawFd;

    let device = rustix::fs::open(
        "/dev/userfaultfd",
        OFlags::RDWR | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: the request takes flags by value and answers a new descriptor, which is nobody else's.
    let fd = unsafe {
        let fd = libc::ioctl(
            std::os::fd::AsRawFd::as_raw_fd(&device),
            NEW as libc::c_ulong,
            flags,
        );
        if fd < 0 {
            return Err(IoError::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    Ok(fd)
}

/// Agrees on features; returns those that there are.
fn handshake(fd: &OwnedFd, features: u64) -> Result<u64, Errno> {
    let mut api = sys::uffdio_api {
        api: sys::UFFD_API.into(),
        features,
        ioctls: 0,
    };
    // SAFETY: the opcode is made of this structure.
    unsafe { ioctl(fd, Updater::<API, _>::new(&mut api)) }?;
    Ok(api.features)
}

fn unusable(errno: Errno) -> Error {
    let how = match errno {
        Errno::NOSYS => "this system is built without it; allocate buffers on the card instead",
        Errno::PERM => {
            "this process may not use it: a container needs a seccomp profile that allows userfaultfd, a program without \
             rights /proc/sys/vm/unprivileged_userfaultfd = 1 or access to /dev/userfaultfd; or allocate buffers on the card"
        }
        _ => "allocate buffers on the card instead",
    };
    Error::Sharing(format!(
        "shared memory needs userfaultfd, which answers: {errno}; {how}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        for (errno, hint) in [
            (Errno::NOSYS, "built without it"),
            (Errno::PERM, "unprivileged_userfaultfd"),
            (Errno::MFILE, "allocate buffers on the card"),
        ] {
            let Error::Sharing(text) = unusable(errno) else {
                panic!("another error")
            };
            assert!(text.contains(hint), "{text}");
        }
    }

    #[test]
    fn progress_counts_what_was_done_before_the_stop() {
        let stop = |done| progress(Err(Errno::AGAIN), done, 0x3000);
        assert_eq!(stop(0x1000).bytes, 0x1000);
        assert_eq!(stop(-11).bytes, 0);
        assert_eq!(progress(Ok(()), 0x3000, 0x3000).stopped, None);
    }
}
