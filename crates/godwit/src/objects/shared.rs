// SPDX-License-Identifier: Apache-2.0
//! Memory of the program as a context has it: shared as a whole, and moved by hand.

use crate::Error;
use crate::objects::context::Context;
use crate::objects::value::Plain;
use crate::svm::Residence;
use crate::svm::memory::{discard, pages_around, pages_inside};
use crate::svm::report::{Cause, Migrations};

/// Where pages of the program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residency {
    /// In the program.
    Host,
    /// In the memory of the card, for this context.
    Device,
    /// On another card, or for another context.
    Elsewhere,
}

/// What the program says of memory. Hints only say what is likely: none fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Kernels will use it.
    WillNeed,
    /// The program will use it.
    WillNeedHost,
}

impl Context {
    /// Shares the memory of this process: from now on launches take [`Value::Memory`](crate::Value::Memory), any memory of the
    /// program, whose pages move to the card and back to the program when it touches them. Asked again it does nothing.
    pub fn share_process(&self) -> Result<(), Error> {
        self.start_sharing().map(drop)
    }

    /// Whether the memory of this process is shared, and system calls reach pages that are away, too: a process without the right to
    /// that (`vm.unprivileged_userfaultfd`) brings memory home before it gives it to one.
    pub fn shares_with_system_calls(&self) -> bool {
        self.sharing()
            .is_some_and(|sharing| !sharing.pager.user_mode_only())
    }

    /// Brings pages of the program to the card: those that the range covers wholly and that can move. What kernels only read comes
    /// home without a copy.
    pub fn migrate_to_device<T>(&self, memory: &[T]) -> Result<(), Error> {
        self.bring(memory, Cause::User)
    }

    /// Brings pages of the program home, from wherever they are; when a kernel works on them, after its end.
    pub fn migrate_to_host<T>(&self, memory: &[T]) -> Result<(), Error> {
        let (address, bytes) = self.range(memory)?;
        match self.sharing() {
            Some(sharing) => sharing.pager.to_host(address, bytes),
            None => Ok(()),
        }
    }

    /// Brings pages to the card because a kernel will use them, as far as there is room. Never fails for a range of memory.
    pub fn prefetch<T>(&self, memory: &[T]) -> Result<(), Error> {
        match self.bring(memory, Cause::Prefetch) {
            Err(Error::OutOfMemory { .. }) => Ok(()),
            result => result,
        }
    }

    /// Says what will happen to memory.
    pub fn advise<T>(&self, memory: &[T], advice: Advice) -> Result<(), Error> {
        match advice {
            Advice::WillNeed => self.prefetch(memory),
            Advice::WillNeedHost => self.migrate_to_host(memory),
        }
    }

    /// Gives up what is in the whole pages of a range, wherever they are: they need not be copied any more, and read as zero.
    /// Only for private memory that is not mapped from a file.
    pub fn discard<T: Plain>(&self, memory: &mut [T]) -> Result<(), Error> {
        let (address, bytes) = self.range(memory)?;
        let Some((start, len)) = pages_inside(address, bytes) else {
            return Ok(());
        };
        discard(start, len).map_err(|errno| {
            Error::Argument(format!(
                "{bytes} bytes at {address:#x} cannot be discarded: {errno}"
            ))
        })
    }

    /// Where the pages of a range are: pages in a row with their first address and bytes.
    pub fn residency<T>(&self, memory: &[T]) -> Result<Vec<(u64, u64, Residency)>, Error> {
        let (address, bytes) = self.range(memory)?;
        let Some(sharing) = self.sharing() else {
            let (start, len) = pages_around(address, bytes);
            return Ok(vec![(start, len, Residency::Host)]);
        };
        let runs = sharing.pager.residency(address, bytes)?;
        let place = |run: &Residence| match run.owner {
            None => Residency::Host,
            Some(owner) if owner == sharing.owner => Residency::Device,
            Some(_) => Residency::Elsewhere,
        };
        Ok(runs
            .iter()
            .map(|run| (run.start, run.len, place(run)))
            .collect())
    }

    /// What moved in this process, for all cards, and why.
    pub fn migrations(&self) -> Result<Migrations, Error> {
        match self.sharing() {
            Some(sharing) => sharing.pager.migrations(),
            None => Ok(Migrations::default()),
        }
    }

    fn bring<T>(&self, memory: &[T], cause: Cause) -> Result<(), Error> {
        let (address, bytes) = self.range(memory)?;
        let sharing = self.start_sharing()?;
        sharing
            .pager
            .to_device(sharing.owner, address, bytes, cause)
    }

    fn range<T>(&self, memory: &[T]) -> Result<(u64, u64), Error> {
        let range = (memory.as_ptr() as u64, size_of_val(memory) as u64);
        self.check_memory(range.0, range.1)?;
        Ok(range)
    }
}
