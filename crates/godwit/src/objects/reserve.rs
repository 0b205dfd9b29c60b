// SPDX-License-Identifier: Apache-2.0
//! Buffers whose pages come when kernels touch them.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::hardware::frames::FRAME_BYTES;
use crate::hardware::window::{Placement, Window};
use crate::objects::alloc::{Access, Plan};
use crate::objects::buffer::{Buffer, Place};
use crate::objects::context::Context;
use crate::state::demand::{Demand, PageHandler, Source};

/// What is behind the pages of a reservation.
#[derive(Clone, Default)]
enum Backing {
    #[default]
    Zero,
    File(PathBuf),
    Handler(Arc<dyn PageHandler>),
}

/// Options of [`Context::reserve`].
#[derive(Clone, Default)]
pub struct ReserveOptions {
    backing: Backing,
    access: Access,
}

impl ReserveOptions {
    /// Zeroed pages, readable and writable.
    pub fn new() -> Self {
        Self::default()
    }

    /// Pages hold what this file holds, and zeros behind its end. The file is never written.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.backing = Backing::File(path.as_ref().to_path_buf());
        self
    }

    /// Pages are filled by this handler.
    pub fn handler(mut self, handler: Arc<dyn PageHandler>) -> Self {
        self.backing = Backing::Handler(handler);
        self
    }

    /// Allows kernels this.
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }
}

impl Context {
    /// Reserves `bytes` bytes of addresses; device memory comes page by page, when kernels touch it. 0 bytes: as many as the file has.
    ///
    /// A buffer like others: an argument of kernels, and memory of this process, which sees zeros, or the file, where no page has come
    /// yet; what it writes there before a page comes, the page has. Not while kernels run: a page that comes then may miss it.
    pub fn reserve(&self, bytes: u64, options: ReserveOptions) -> Result<Buffer, Error> {
        let shared = &self.card().shared;
        shared.with(|state| self.check(self.card(), state))?;
        let has = self.card().description().config.page_requests.places > 0;
        if !has {
            return Err(Error::Hardware(
                "the card has no page requests: build one with page_requests.places, such as `default`".into(),
            ));
        }
        let file = match &options.backing {
            Backing::File(path) => Some(open(path)?),
            _ => None,
        };
        let file_bytes = file.as_ref().map_or(0, |(_, bytes)| *bytes);
        let wanted = if bytes == 0 { file_bytes } else { bytes };
        let len = wanted
            .checked_next_multiple_of(FRAME_BYTES)
            .filter(|len| *len > 0);
        let Some(len) = len else {
            return Err(Error::Argument(
                "a reservation has at least one byte".into(),
            ));
        };
        let limit = self.address_limit();
        let failed = |errno: rustix::io::Errno| Error::AddressSpace {
            bytes: len,
            limit,
            reason: errno.into(),
        };
        let mut window = Window::reserve(Placement {
            len,
            align: FRAME_BYTES,
            phase: 0,
            limit,
        })
        .map_err(failed)?;
        let content = file
            .as_ref()
            .map(|(file, bytes)| (file.as_fd(), (*bytes).min(len)));
        window.open(content).map_err(failed)?;
        let source = match options.backing {
            Backing::Handler(handler) => Source::Handler(handler),
            _ => Source::Window { file_bytes },
        };
        let demand = Arc::new(Demand::new(window, source, len));
        let id = self.id() as usize;
        let perm = options.access.perm();
        shared.with(|state| state.reserve(id, self.serial(), &demand, perm))?;
        let plan = Plan {
            extents: Vec::new(),
            len,
            align: FRAME_BYTES,
            phase: 0,
        };
        Ok(Buffer::mapped(
            self,
            Place::Demand(demand),
            plan,
            wanted,
            options.access,
        ))
    }
}

impl Buffer {
    /// Whether its pages come when kernels touch them.
    pub fn is_reservation(&self) -> bool {
        self.demand().is_some()
    }

    /// Pages of a reservation that have come; of any other buffer all of them.
    pub fn resident_pages(&self) -> u64 {
        let all = self.mapped_len() / FRAME_BYTES;
        self.demand().map_or(all, |demand| demand.pages())
    }

    /// Brings the pages of `bytes` bytes from `offset` on before a kernel touches them, in no simulated time.
    pub fn bring(&self, offset: u64, bytes: u64) -> Result<(), Error> {
        let end = offset.checked_add(bytes).filter(|end| *end <= self.len());
        let Some(end) = end else {
            return Err(Error::Argument(format!(
                "{bytes} bytes at {offset} of a buffer of {} bytes",
                self.len()
            )));
        };
        if self.demand().is_none() || bytes == 0 {
            return Ok(());
        }
        let (id, serial) = (self.context().id() as usize, self.context().serial());
        let first = self.address() + offset / FRAME_BYTES * FRAME_BYTES;
        let pages = first..self.address() + end;
        self.context()
            .card()
            .shared
            .with(|state| state.bring(id, serial, pages))
    }

    /// Brings pages that only their handler can fill before this process looks at them.
    pub(crate) fn bring_handled(&self, offset: u64, bytes: usize) -> Result<(), Error> {
        if self.demand().is_some_and(|demand| demand.is_handled()) {
            return self.bring(offset, bytes as u64);
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<(File, u64), Error> {
    let failed = |error: std::io::Error| {
        Error::Argument(format!("the backing file {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    Ok((file, bytes))
}
