// SPDX-License-Identifier: Apache-2.0
//! An address space on a card.

use std::sync::{Arc, OnceLock};

use godwit_core::{Begins, Mapping, Mode, PageSize, PageTable, Perm, layout};

use crate::Error;
use crate::driver::{DriverContext, Why};
use crate::hardware::mmu::{self, Walks};
use crate::hardware::table_memory::FramePool;
use crate::objects::card::Card;
use crate::objects::sharing::Sharing;
use crate::state::{ContextState, State};
use crate::svm::shown::Shown;

/// Why launches end with their context.
const TAKEN_AWAY: Why = Why::Stopped("the context that it used was closed");

/// One address space (a process, as the hardware sees it). Clones are handles of the same one; it ends with the last of
/// them, and every buffer holds one.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    card: Card,
    id: usize,
    serial: u64,
    mode: Mode,
    /// On a card that the driver has.
    driver: Option<Arc<DriverContext>>,
    /// Of the program's memory.
    sharing: OnceLock<Sharing>,
    /// What this process sees of the heap in hardware.
    heap: OnceLock<Arc<Shown>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.card.shared.check_process().is_ok()
            && let Some(sharing) = self.sharing.get()
        {
            sharing.end(&self.card.shared);
        }
        if let Some(heap) = self.heap.get() {
            heap.end();
        }
        if let (Some(driver), Some(context)) = (self.card.shared.driver(), &self.driver) {
            if self.card.shared.check_process().is_ok() {
                driver.close_context(context, TAKEN_AWAY);
            }
            return;
        }
        // A card that is closed, hung or another process's has nothing left to be undone.
        let _ = self
            .card
            .shared
            .with(|state| state.close_context(self.id, self.serial));
    }
}

impl Context {
    pub(crate) fn new(card: &Card, mode: Option<Mode>) -> Result<Self, Error> {
        let levels = card.description().config.walker.levels;
        let widest = match levels {
            3 => Mode::Sv39,
            4 => Mode::Sv48,
            _ => Mode::Sv57,
        };
        let mode = mode.unwrap_or(widest);
        if mode.levels() > levels {
            return Err(Error::Argument(format!(
                "the card walks {levels} levels: {widest:?} at most, not {mode:?}"
            )));
        }
        if let Some(driver) = card.shared.driver() {
            card.shared.check_process()?;
            if mode != widest {
                return Err(Error::Argument(format!(
                    "the driver gives every context the card's widest mode, {widest:?}, not {mode:?}"
                )));
            }
            let context = driver.context()?;
            let id = context.info.context as usize;
            return Ok(Self::over(card, id, 0, mode, Some(context)));
        }
        card.shared.with(|state| {
            let id = state.contexts.iter().position(Option::is_none);
            let id = id.ok_or(Error::NoContext {
                count: state.contexts.len() as u32,
            })?;
            let table = PageTable::with_pages(card.shared.pool.clone(), mode, card.pages())?;
            let root = (mode, table.root());
            mmu::set_context(state.device.as_mut(), id, Some(root), Walks::default())?;
            let serial = state.serial();
            state.contexts[id] = Some(ContextState::new(serial, table));
            Ok(Self::over(card, id, serial, mode, None))
        })
    }

    fn over(
        card: &Card,
        id: usize,
        serial: u64,
        mode: Mode,
        driver: Option<Arc<DriverContext>>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                card: card.clone(),
                id,
                serial,
                mode,
                driver,
                sharing: OnceLock::new(),
                heap: OnceLock::new(),
            }),
        }
    }

    /// As the driver has it, if the card is behind it and this is one of it.
    pub(crate) fn by_driver(&self) -> Option<&DriverContext> {
        self.inner.driver.as_deref()
    }

    /// The card it is on.
    pub fn card(&self) -> &Card {
        &self.inner.card
    }

    /// Its translation mode.
    pub fn mode(&self) -> Mode {
        self.inner.mode
    }

    /// Its number in the hardware.
    pub fn id(&self) -> u32 {
        self.inner.id as u32
    }

    /// End of the addresses that a user program can have in this mode.
    pub(crate) fn address_limit(&self) -> u64 {
        1 << (self.inner.mode.va_bits() - 1)
    }

    /// Bytes of device memory that its page tables take.
    pub fn table_bytes(&self) -> Result<u64, Error> {
        self.with_table(|table| Ok(table.table_bytes()))
    }

    /// Physical address of its root table.
    pub fn root(&self) -> Result<u64, Error> {
        self.with_table(|table| Ok(table.root()))
    }

    /// The page around an address as the page table has it: the oracle of what the hardware must do.
    pub fn lookup(&self, va: u64) -> Result<Option<Mapping>, Error> {
        self.with_table(|table| match table.lookup(va) {
            Ok(mapping) => Ok(Some(mapping)),
            Err(error) if error.kind() == godwit_core::ErrorKind::Corrupt => Err(error.into()),
            Err(_) => Ok(None),
        })
    }

    /// Maps physical memory by hand; the process sees nothing of it. Pages are the largest that fit, up to `max_page`.
    pub fn map(
        &self,
        va: u64,
        pa: u64,
        bytes: u64,
        perm: Perm,
        max_page: PageSize,
    ) -> Result<(), Error> {
        self.with_table(|table| Ok(table.map_as(va, pa, bytes, perm, max_page, Begins::Written)?))
    }

    /// Undoes [`Context::map`], and returns when no access can use the mapping any more.
    pub fn unmap(&self, va: u64, bytes: u64) -> Result<(), Error> {
        let Inner {
            card, id, serial, ..
        } = &*self.inner;
        card.shared
            .with(|state| state.unmap(*id, *serial, va, bytes))
    }

    /// Changes what a mapping allows, and returns when no access can use what was taken away.
    pub fn protect(&self, va: u64, bytes: u64, perm: Perm) -> Result<(), Error> {
        let Inner {
            card, id, serial, ..
        } = &*self.inner;
        card.shared
            .with(|state| state.protect(*id, *serial, va, bytes, perm))
    }

    /// Ends the context now: kernels that use it are stopped, its mappings and tables are gone. Its buffers keep their
    /// memory for the host until they are dropped. Closing twice does nothing.
    pub fn close(&self) -> Result<(), Error> {
        let Inner {
            card, id, serial, ..
        } = &*self.inner;
        if let (Some(driver), Some(context)) = (card.shared.driver(), &self.inner.driver) {
            card.shared.check_process()?;
            driver.close_context(context, TAKEN_AWAY);
            return Ok(());
        }
        if let Some(sharing) = self.sharing() {
            sharing.end(&card.shared);
        }
        if let Some(heap) = self.inner.heap.get() {
            heap.end();
        }
        card.shared.with(|state| state.close_context(*id, *serial))
    }

    /// What this process sees of its heap, made by the first call.
    pub(crate) fn start_heap_view(
        &self,
        make: impl FnOnce(&Self) -> Result<Shown, Error>,
    ) -> Result<&Shown, Error> {
        if let Some(view) = self.inner.heap.get() {
            return Ok(view);
        }
        let view = Arc::new(make(self)?);
        if self.inner.heap.set(Arc::clone(&view)).is_ok() {
            self.card().shared.remember_heap(&view);
        }
        match self.inner.heap.get() {
            Some(view) => Ok(view),
            None => Err(Error::ContextClosed),
        }
    }

    /// That of the program's memory, if there is one.
    pub(crate) fn sharing(&self) -> Option<&Sharing> {
        self.inner.sharing.get()
    }

    /// The same, started by the first call.
    pub(crate) fn start_sharing(&self) -> Result<&Sharing, Error> {
        if let Some(sharing) = self.sharing() {
            return Ok(sharing);
        }
        let inner = &*self.inner;
        let sharing = Sharing::start(&inner.card.shared, inner.id, inner.serial)?;
        if let Err(second) = inner.sharing.set(sharing) {
            second.end(&inner.card.shared);
        }
        self.sharing().ok_or(Error::ContextClosed)
    }

    /// Refuses what is no memory that kernels of this context can reach.
    pub(crate) fn check_memory(&self, address: u64, bytes: u64) -> Result<(), Error> {
        match address.checked_add(bytes) {
            Some(end) if address != 0 && end <= self.address_limit() => Ok(()),
            Some(end) if address != 0 => Err(Error::Argument(format!(
                "memory at {address:#x} cannot be shared: it ends at {end:#x}, and the context's addresses end at {:#x}; take a \
                 wider mode, or a card that walks more levels",
                self.address_limit()
            ))),
            _ => Err(Error::Argument(format!(
                "{bytes} bytes at {address:#x} are no memory"
            ))),
        }
    }

    /// Refuses another card's.
    pub(crate) fn check_card(&self, card: &Card) -> Result<(), Error> {
        if Arc::ptr_eq(&self.inner.card.shared, &card.shared) {
            return Ok(());
        }
        Err(Error::Argument("the context is one of another card".into()))
    }

    /// Its number, if it is one of `card` and open.
    pub(crate) fn check(&self, card: &Card, state: &mut State) -> Result<usize, Error> {
        self.check_card(card)?;
        state.context(self.inner.id, self.inner.serial)?;
        Ok(self.inner.id)
    }

    pub(crate) fn serial(&self) -> u64 {
        self.inner.serial
    }

    fn with_table<R: Send>(
        &self,
        work: impl FnOnce(&mut PageTable<FramePool>) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        let Inner {
            card, id, serial, ..
        } = &*self.inner;
        card.shared
            .with(|state| work(&mut state.context(*id, *serial)?.table))
    }
}

impl Card {
    /// A new, empty address space; the widest mode the card walks when none is given.
    pub fn context(&self, mode: Option<Mode>) -> Result<Context, Error> {
        Context::new(self, mode)
    }

    /// From now on counts, of events that belong to a context, only those of `context`; of all contexts with `None`.
    pub fn count_only(&self, context: Option<&Context>) -> Result<(), Error> {
        let id = context.map(Context::id);
        self.shared
            .with(|state| Ok(mmu::count_only(state.device.as_mut(), id)?))
    }

    /// Says what the addresses of `port` are. Launches bind the ports of their kernels themselves.
    pub fn bind_port(&self, port: u32, binding: Binding<'_>) -> Result<(), Error> {
        let ports = self.description().port_count();
        if port >= ports {
            return Err(Error::Argument(format!(
                "port {port} of a card with {ports} ports"
            )));
        }
        self.shared.with(|state| {
            state.require_idle(port)?;
            match binding {
                Binding::Off => state.bind(port, layout::PORT_MODE_OFF, 0),
                Binding::Bare => state.bind(port, layout::PORT_MODE_BARE, 0),
                Binding::Translate(context) => {
                    let id = context.check(self, state)?;
                    state.bind(port, layout::PORT_MODE_TRANSLATE, id)
                }
            }
        })
    }
}

/// What a port's addresses are.
#[derive(Debug, Clone, Copy)]
pub enum Binding<'a> {
    /// Nothing: every access is answered with an error.
    Off,
    /// Virtual addresses of a context.
    Translate(&'a Context),
    /// Physical addresses.
    Bare,
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Context {}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("id", &self.inner.id)
            .field("mode", &self.inner.mode)
            .finish_non_exhaustive()
    }
}
