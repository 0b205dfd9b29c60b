// SPDX-License-Identifier: Apache-2.0
//! The simulated card: a shared library that implements `card/sim/gw_card.h`.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use serde_json::Value;

use crate::abi::{
    self, Functions, RawCard, RawLaunchTimes, RawMemEvent, RawPortDone, RawPortReq, RawStats,
};
use crate::{
    CardError, CardFile, Description, Device, Drained, LaunchEnd, LaunchTimes, MemEvent, Memory,
    OpenOptions, PortAnswers, PortBatch, Ports, Stats,
};

/// Answers taken from the card by one call.
const POLL_CHUNK: usize = 4096;
/// Largest burst: 256 beats of 128 bytes.
const MAX_BURST_BYTES: usize = 256 * 128;

/// A verilated card in this process.
pub struct SimCard {
    functions: Functions,
    card: NonNull<RawCard>,
    description: Description,
    options: OpenOptions,
    /// How often it was reset.
    resets: u32,
    memory: Arc<Memory>,
    /// Memory the card reaches through the aperture, by bus address.
    windows: HashMap<u64, Arc<Memory>>,
    /// Read bytes submitted to ports and not polled yet: an upper bound of what a poll brings.
    pending_read_bytes: usize,
    scratch: Vec<RawPortReq>,
}

// SAFETY: a card may be used from any thread as long as calls do not overlap, and all calls need `&mut self` (or, for
// the statistics, `&self` of a type that is not `Sync`).
unsafe impl Send for SimCard {}

impl SimCard {
    /// Opens the card `device` (`sim:NAME` or `sim:/path/to/libgw_card.so`).
    pub fn open(device: &str, options: &OpenOptions) -> Result<Self, CardError> {
        Self::open_file(&CardFile::find(device)?, options)
    }

    /// Opens a card that was found.
    pub fn open_file(file: &CardFile, options: &OpenOptions) -> Result<Self, CardError> {
        let path = &file.library;
        // SAFETY: the user names a card; a library without the ABI's symbols or version is refused below.
        let functions = unsafe { Functions::load(path) }?;
        // SAFETY: takes nothing, returns a number.
        let found = unsafe { (functions.abi)() };
        if found != abi::ABI {
            return Err(CardError::Abi {
                path: path.clone(),
                found,
                wanted: abi::ABI,
            });
        }
        let mut description = describe(&functions, path)?;
        if let Some(wanted) = options
            .spec_hash
            .filter(|wanted| *wanted != description.spec_hash)
        {
            let (name, found) = (description.name, description.spec_hash);
            return Err(CardError::Spec {
                name,
                found,
                wanted,
            });
        }
        let card = open_raw(&functions, &description.name, options)?;
        // The card has taken the options, so they are legal.
        description.change(&options.options);
        // From here on `Drop` would close the card, but only once `SimCard` exists: close it by hand until then.
        match map_memory(&functions, card) {
            Ok(memory) => Ok(Self {
                functions,
                card,
                description,
                options: options.clone(),
                resets: 0,
                memory: Arc::new(memory),
                windows: HashMap::new(),
                pending_read_bytes: 0,
                scratch: Vec::new(),
            }),
            Err(error) => {
                // SAFETY: the card was opened above and is used no more.
                unsafe { (functions.close)(card.as_ptr()) };
                Err(error)
            }
        }
    }

    /// Another card of the same kind, opened as this one was, that has this one's memory.
    fn open_another(&self) -> Result<NonNull<RawCard>, CardError> {
        let options = self.options.numbered(self.resets + 1);
        let card = open_raw(&self.functions, &self.description.name, &options)?;
        let shared = raw_memory(&self.functions, card).and_then(|own| {
            if own.size != self.memory.size() {
                return Err(CardError::HostMemory(format!(
                    "card `{}` has {} bytes of memory when it is opened again, not {}",
                    self.description.name,
                    own.size,
                    self.memory.size()
                )));
            }
            // SAFETY: the card's own mapping, of this size; it has done nothing yet, and finds its memory by its address alone.
            unsafe { self.memory.map_over(own.base) }
        });
        match shared {
            Ok(()) => Ok(card),
            Err(error) => {
                // SAFETY: the card was opened above and is used no more.
                unsafe { (self.functions.close)(card.as_ptr()) };
                Err(error)
            }
        }
    }

    /// Turns a status into a result with the card's message.
    fn check(&self, status: c_int) -> Result<(), CardError> {
        if status == abi::OK {
            return Ok(());
        }
        // SAFETY: the card is open; the message is valid until the next call, and copied here.
        let message = unsafe { text((self.functions.error)(self.card.as_ptr())) };
        Err(match status {
            abi::EINVAL => CardError::Invalid(message),
            abi::EHANG => CardError::Hang(message),
            abi::EBUS => CardError::Bus(message),
            abi::ENOMEM => CardError::HostMemory(message),
            abi::EIO => CardError::Io(message),
            abi::EDESIGN => CardError::Design(message),
            other => CardError::Io(format!("card status {other}: {message}")),
        })
    }
}

/// Copies a C string; null is empty.
///
/// # Safety
/// `pointer` is null or a valid C string.
unsafe fn text(pointer: *const std::ffi::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

fn describe(functions: &Functions, path: &Path) -> Result<Description, CardError> {
    // SAFETY: the function returns a static string.
    let json = unsafe { text((functions.describe)()) };
    Description::parse(&json).map_err(|problem| CardError::Description {
        path: path.to_owned(),
        problem,
    })
}

fn open_raw(
    functions: &Functions,
    name: &str,
    options: &OpenOptions,
) -> Result<NonNull<RawCard>, CardError> {
    // `serde_json` writes a zero as \u0000, so this cannot fail.
    let json = CString::new(Value::Object(options.options.clone()).to_string())
        .map_err(|error| CardError::Options(error.to_string()))?;
    let mut message = [0u8; 1024];
    // SAFETY: the options are a C string and the buffer has the size that is said.
    let card =
        unsafe { (functions.open)(json.as_ptr(), message.as_mut_ptr().cast(), message.len()) };
    NonNull::new(card).ok_or_else(|| {
        let end = message
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(message.len());
        let message = String::from_utf8_lossy(&message[..end]).into_owned();
        CardError::Open {
            name: name.to_owned(),
            message,
        }
    })
}

/// A card's own mapping of its memory.
struct OwnMemory {
    fd: c_int,
    size: u64,
    base: NonNull<u8>,
}

fn raw_memory(functions: &Functions, card: NonNull<RawCard>) -> Result<OwnMemory, CardError> {
    let (mut fd, mut size, mut base) = (-1, 0, std::ptr::null_mut());
    // SAFETY: the card is open and the pointers are to locals.
    let status = unsafe { (functions.memory)(card.as_ptr(), &mut fd, &mut size, &mut base) };
    match NonNull::new(base.cast()) {
        Some(base) if status == abi::OK && fd >= 0 => Ok(OwnMemory { fd, size, base }),
        // SAFETY: the card is open; the message is copied at once.
        _ => Err(CardError::HostMemory(unsafe {
            text((functions.error)(card.as_ptr()))
        })),
    }
}

fn map_memory(functions: &Functions, card: NonNull<RawCard>) -> Result<Memory, CardError> {
    let OwnMemory { fd, size, .. } = raw_memory(functions, card)?;
    // SAFETY: the card keeps its descriptor open; it is only duplicated here.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) }
        .try_clone_to_owned()
        .map_err(|error| {
            CardError::HostMemory(format!(
                "the memory's descriptor cannot be duplicated: {error}"
            ))
        })?;
    Memory::map(fd, 0, size)
}

impl Device for SimCard {
    fn description(&self) -> &Description {
        &self.description
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn reg_read(&mut self, offset: u64) -> Result<u32, CardError> {
        let mut value = 0;
        // SAFETY: the card is open and `value` a local.
        let status = unsafe { (self.functions.reg_read)(self.card.as_ptr(), offset, &mut value) };
        self.check(status).map(|()| value)
    }

    fn reg_write(&mut self, offset: u64, value: u32) -> Result<(), CardError> {
        // SAFETY: the card is open.
        let status = unsafe { (self.functions.reg_write)(self.card.as_ptr(), offset, value) };
        self.check(status)
    }

    fn run(&mut self, max_cycles: u64, irq_mask: u32) -> Result<u32, CardError> {
        let mut irq = 0;
        // SAFETY: the card is open and `irq` a local.
        let status =
            unsafe { (self.functions.run)(self.card.as_ptr(), max_cycles, irq_mask, &mut irq) };
        self.check(status).map(|()| irq)
    }

    fn take_rises(&mut self) -> u32 {
        // SAFETY: the card is open.
        unsafe { (self.functions.take_rises)(self.card.as_ptr()) }
    }

    fn set_host_window(
        &mut self,
        bus_addr: u64,
        memory: Option<Arc<Memory>>,
    ) -> Result<(), CardError> {
        let (host, size) = match &memory {
            Some(memory) => (memory.host_ptr(), memory.size()),
            None => (std::ptr::null_mut(), 0),
        };
        // SAFETY: the card is open; the memory is kept in `windows` until the card no longer knows it.
        let status = unsafe {
            (self.functions.host_window)(self.card.as_ptr(), bus_addr, host.cast(), size)
        };
        self.check(status)?;
        match memory {
            Some(memory) => self.windows.insert(bus_addr, memory),
            None => self.windows.remove(&bus_addr),
        };
        Ok(())
    }

    unsafe fn open_process_window(&mut self, addr: u64, len: u64) -> Result<(), CardError> {
        // SAFETY: the card is open; the caller vouches for the memory.
        let status =
            unsafe { (self.functions.host_window)(self.card.as_ptr(), addr, addr as *mut _, len) };
        self.check(status)
    }

    fn close_process_window(&mut self, addr: u64) -> Result<(), CardError> {
        // SAFETY: the card is open; without memory a window ends.
        let status = unsafe {
            (self.functions.host_window)(self.card.as_ptr(), addr, std::ptr::null_mut(), 0)
        };
        self.check(status)
    }

    fn charge_copy(&mut self, to_device: bool, addr: u64, len: u64) -> Result<(), CardError> {
        // SAFETY: the card is open; without host memory only time passes.
        let status = unsafe {
            (self.functions.transfer)(
                self.card.as_ptr(),
                c_int::from(to_device),
                addr,
                std::ptr::null_mut(),
                len,
            )
        };
        self.check(status)
    }

    fn stats(&self) -> Result<Stats, CardError> {
        let mut raw = RawStats::default();
        // SAFETY: the card is open and `raw` a local.
        let status = unsafe { (self.functions.get_stats)(self.card.as_ptr(), &mut raw) };
        self.check(status)?;
        Ok(raw.into())
    }

    fn launch_times(&self, slot: u32) -> Result<Option<LaunchTimes>, CardError> {
        let mut raw = RawLaunchTimes::default();
        // SAFETY: the card is open and `raw` a local.
        let status = unsafe { (self.functions.launch_times)(self.card.as_ptr(), slot, &mut raw) };
        self.check(status)?;
        let end = match raw.state {
            abi::LAUNCH_NONE => return Ok(None),
            abi::LAUNCH_RUNNING => LaunchEnd::Running,
            abi::LAUNCH_INTERRUPT => LaunchEnd::Interrupt,
            _ => LaunchEnd::Polled,
        };
        Ok(Some(LaunchTimes {
            start_cycle: raw.start_cycle,
            end_cycle: raw.end_cycle,
            end,
            stats: raw.stats.into(),
        }))
    }

    /// The RTL and all around it begins anew; what a reset line alone would leave as it is, such as accesses that the models of memory
    /// and link have taken, is gone with it.
    fn reset(&mut self) -> Result<(), CardError> {
        let card = self.open_another()?;
        let before = std::mem::replace(&mut self.card, card);
        // SAFETY: opened before, and used no more.
        unsafe { (self.functions.close)(before.as_ptr()) };
        self.resets += 1;
        self.windows.clear();
        self.pending_read_bytes = 0;
        self.memory.clear(0, self.memory.size())
    }

    fn ports(&mut self) -> Option<&mut dyn Ports> {
        Some(self)
    }
}

impl From<RawStats> for Stats {
    fn from(raw: RawStats) -> Self {
        Self {
            cycles: raw.cycles,
            time_ps: raw.time_ps,
            link_ps: raw.link_ps,
            link_bytes: raw.link_bytes,
            reads: raw.reads,
            writes: raw.writes,
            read_bytes: raw.read_bytes,
            write_bytes: raw.write_bytes,
            pt_reads: raw.pt_reads,
            row_hits: raw.row_hits,
            row_misses: raw.row_misses,
            host_reads: raw.host_reads,
            host_writes: raw.host_writes,
        }
    }
}

impl Ports for SimCard {
    fn submit(&mut self, batch: &PortBatch) -> Result<(), CardError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let status = batch.with_raw(&mut scratch, |raw| {
            // SAFETY: the card is open; requests and their data live through the call, which copies them.
            unsafe { (self.functions.port_submit)(self.card.as_ptr(), raw.as_ptr(), raw.len()) }
        });
        self.scratch = scratch;
        self.check(status)?;
        self.pending_read_bytes += batch.read_bytes();
        Ok(())
    }

    fn drain(&mut self, max_cycles: u64, irq_mask: u32) -> Result<Drained, CardError> {
        let (mut irq, mut pending) = (0, 0);
        let card = self.card.as_ptr();
        // SAFETY: the card is open, and what is given back goes to locals.
        let status = unsafe {
            (self.functions.port_drain)(card, max_cycles, irq_mask, &mut irq, &mut pending)
        };
        self.check(status).map(|()| Drained { irq, pending })
    }

    fn poll(&mut self, answers: &mut PortAnswers) -> Result<(), CardError> {
        answers.done.clear();
        answers.data.clear();
        let mut used = 0;
        loop {
            let taken = answers.done.len();
            answers
                .done
                .resize(taken + POLL_CHUNK, RawPortDone::default());
            let room = self.pending_read_bytes.min(POLL_CHUNK * MAX_BURST_BYTES);
            answers.data.resize(used + room, 0);
            let (done, data) = (&mut answers.done[taken..], &mut answers.data[used..]);
            // SAFETY: the card is open and both buffers have the room that is said.
            let count = unsafe {
                (self.functions.port_poll)(
                    self.card.as_ptr(),
                    done.as_mut_ptr(),
                    done.len(),
                    data.as_mut_ptr().cast(),
                    data.len(),
                )
            };
            let bytes: usize = done[..count]
                .iter()
                .map(|done| done.size_bytes as usize)
                .sum();
            used += bytes;
            self.pending_read_bytes = self.pending_read_bytes.saturating_sub(bytes);
            answers.done.truncate(taken + count);
            if count < POLL_CHUNK {
                answers.data.truncate(used);
                return Ok(());
            }
        }
    }

    fn record_events(&mut self, on: bool) -> Result<(), CardError> {
        // SAFETY: the card is open.
        let status = unsafe { (self.functions.record_events)(self.card.as_ptr(), c_int::from(on)) };
        self.check(status)
    }

    fn take_events(&mut self) -> Result<Vec<MemEvent>, CardError> {
        let mut events = Vec::new();
        let mut chunk = [RawMemEvent::default(); 1024];
        loop {
            // SAFETY: the card is open and the buffer has the room that is said.
            let count = unsafe {
                (self.functions.take_events)(self.card.as_ptr(), chunk.as_mut_ptr(), chunk.len())
            };
            events.extend(chunk[..count].iter().map(|raw| MemEvent {
                cycle: raw.cycle,
                addr: raw.addr,
                port: raw.port,
                write: raw.write != 0,
                id: raw.id,
                beats: u16::from(raw.len) + 1,
                size: raw.size,
            }));
            if count < chunk.len() {
                return Ok(events);
            }
        }
    }
}

impl Drop for SimCard {
    fn drop(&mut self) {
        // SAFETY: opened in `open_file`, used no more; windows and memory outlive the call, since fields drop later.
        unsafe { (self.functions.close)(self.card.as_ptr()) };
    }
}
