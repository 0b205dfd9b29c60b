// SPDX-License-Identifier: Apache-2.0
//! Memory of the program as a context has it: shared as a whole, and moved by hand.

use godwit_core::layout;

use crate::Error;
use crate::driver::uapi::{
    ADVICE_AUTO, ADVICE_IN_PLACE, ADVICE_MOVE, ADVICE_READ_MOSTLY, PLACE_CARD, PLACE_HOST,
    PLACE_SHOWN,
};
use crate::objects::context::Context;
use crate::objects::value::{HostRange, Plain};
use crate::svm::log::Migration;
use crate::svm::memory::{discard, pages_around, pages_inside};
use crate::svm::report::{Cause, Migrations};
use crate::svm::{Residence, Serving, Want};

/// Where pages of the program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residency {
    /// In the program.
    Host,
    /// In the memory of the card, for this context.
    Device,
    /// In the host's memory, where kernels of this context use it.
    InPlace,
    /// There, and the program has copies that it may read.
    Both,
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
    /// Its whole pages stay in the host's memory, and kernels use them there, where the card reaches it. Holds until something else is
    /// said, or the memory is freed.
    InPlace,
    /// Each group of 64 KiB of its whole pages stays in the host's memory or moves, as the lines say that kernels move over the link by using it
    /// there, on a card that counts them (`page_cache.counters`); elsewhere they move. What is learnt holds over launches. Holds as long as
    /// `InPlace` does.
    Auto,
    /// Its pages move to the card when kernels use them, as those do of which nothing was said.
    Migrate,
    /// Kernels and program read it far more often than they write: both have its pages at once, from when the program reads a page that a
    /// card has until somebody writes it. Holds as long as `InPlace` does.
    ReadMostly,
}

/// Pages in a row of which the driver says the same, from `start` on.
fn runs_of(start: u64, places: &[u8]) -> Vec<(u64, u64, Residency)> {
    let residency = |place: u8| match place & !PLACE_SHOWN {
        PLACE_CARD => Residency::Device,
        PLACE_HOST if place & PLACE_SHOWN != 0 => Residency::InPlace,
        _ => Residency::Host,
    };
    let mut at = start;
    let runs = places.chunk_by(|one, next| residency(*one) == residency(*next));
    runs.map(|run| {
        let (first, len) = (at, (run.len() as u64) << layout::PT_PAGE_SHIFT);
        at += len;
        (first, len, residency(run[0]))
    })
    .collect()
}

impl Context {
    /// Shares the memory of this process: from now on launches take [`Value::Memory`](crate::Value::Memory), any memory of the
    /// program, whose pages move to the card and back to the program when it touches them. Asked again it does nothing.
    /// Behind the driver a context has all memory of the process, which this checks.
    pub fn share_process(&self) -> Result<(), Error> {
        if let Some(context) = self.by_driver() {
            return context.check_demand();
        }
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
    pub fn migrate_to_device(&self, memory: impl Into<HostRange>) -> Result<(), Error> {
        self.bring(&[memory.into()], Cause::User)
    }

    /// The same for several memories, all or none: the host works on pages of the one while those of the other cross the link.
    pub fn migrate_all_to_device(&self, memory: &[HostRange]) -> Result<(), Error> {
        self.bring(memory, Cause::User)
    }

    /// Brings pages of the program home, from wherever they are; when a kernel works on them, after its end.
    pub fn migrate_to_host(&self, memory: impl Into<HostRange>) -> Result<(), Error> {
        let (address, bytes) = self.range(memory)?;
        if let Some(context) = self.by_driver() {
            return context.migrate(address, bytes, true).map(drop);
        }
        match self.sharing() {
            Some(sharing) => sharing.pager.to_host(address, bytes),
            None => Ok(()),
        }
    }

    /// Brings pages to the card because a kernel will use them, as far as there is room. A hint: whatever the memory is, it does not fail.
    pub fn prefetch(&self, memory: impl Into<HostRange>) {
        // A launch says what is wrong with the memory, or with the card.
        let _ = self.bring(&[memory.into()], Cause::Prefetch);
    }

    /// Says what will happen to memory. A hint, as [`prefetch`](Self::prefetch).
    pub fn advise(&self, memory: impl Into<HostRange>, advice: Advice) {
        // What cannot be done is not done.
        let _ = match advice {
            Advice::WillNeed => self.bring(&[memory.into()], Cause::Prefetch),
            Advice::WillNeedHost => self.migrate_to_host(memory),
            Advice::InPlace => self.serve_as(memory, Serving::InPlace),
            Advice::Auto => self.serve_as(memory, Serving::Auto),
            Advice::Migrate => self.serve_as(memory, Serving::Move),
            Advice::ReadMostly => self.serve_as(memory, Serving::ReadMostly),
        };
    }

    /// Gives up what is in the whole pages of a range, wherever they are: they need not be copied any more. Private anonymous memory then
    /// reads as zero. A hint: memory of another kind, or that is locked, may keep what is in it.
    pub fn discard<T: Plain>(&self, memory: &mut [T]) {
        if let Ok((address, bytes)) = self.range(memory)
            && let Some((start, len)) = pages_inside(address, bytes)
        {
            // Locked: it stays.
            let _ = discard(start, len);
        }
    }

    /// Memory is about to be freed: what of it is away comes to its end there. To be called for memory that was given as
    /// [kept](HostRange::kept); its content is lost. In a forked child, which has none of it on a card, nothing happens.
    pub fn forget<T: Plain>(&self, memory: &mut [T]) -> Result<(), Error> {
        let (address, bytes) = self.range(memory)?;
        match self.sharing() {
            Some(sharing) if sharing.pager.is_here() => sharing.pager.forget(address, bytes),
            _ => Ok(()),
        }
    }

    /// Where the pages of a range are: pages in a row with their first address and bytes. Behind the driver pages in the host's memory are
    /// in place while the card reaches them without asking; nothing keeps pages where they are said to be.
    pub fn residency(
        &self,
        memory: impl Into<HostRange>,
    ) -> Result<Vec<(u64, u64, Residency)>, Error> {
        let (address, bytes) = self.range(memory)?;
        let (start, len) = pages_around(address, bytes);
        if let Some(context) = self.by_driver() {
            return Ok(runs_of(start, &context.places(start, len)?));
        }
        let Some(sharing) = self.sharing() else {
            return Ok(vec![(start, len, Residency::Host)]);
        };
        let runs = sharing.pager.residency(address, bytes)?;
        let place = |run: &Residence| match run.owner {
            None => Residency::Host,
            Some(owner) if owner != sharing.owner => Residency::Elsewhere,
            Some(_) if run.in_place => Residency::InPlace,
            Some(_) if run.shown => Residency::Both,
            Some(_) => Residency::Device,
        };
        Ok(runs
            .iter()
            .map(|run| (run.start, run.len, place(run)))
            .collect())
    }

    /// What moved in this process, for all cards, and why.
    pub fn migrations(&self) -> Result<Migrations, Error> {
        self.told_here()?;
        match self.sharing() {
            Some(sharing) => sharing.pager.migrations(),
            None => Ok(Migrations::default()),
        }
    }

    fn serve_as(&self, memory: impl Into<HostRange>, serving: Serving) -> Result<(), Error> {
        let (address, bytes) = self.range(memory)?;
        if let Some(context) = self.by_driver() {
            let advice = match serving {
                Serving::InPlace => ADVICE_IN_PLACE,
                Serving::Move => ADVICE_MOVE,
                Serving::Auto => ADVICE_AUTO,
                Serving::ReadMostly => ADVICE_READ_MOSTLY,
            };
            return context.advise(address, bytes, advice);
        }
        let sharing = self.start_sharing()?;
        sharing.pager.advise(address, bytes, serving)
    }

    /// Everything that is counted of migrations, by name: [`Migrations::counts`], and the virtual time that migrations of this card took
    /// since it was opened, in picoseconds: `time_ps.request` from an interrupt until somebody works on it, `time_ps.leave` and
    /// `time_ps.return` the host's work on pages, `time_ps.link` waiting for their bytes, `time_ps.unmap` until no access uses them.
    pub fn migration_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        let steps = self.card().shared.with(|state| Ok(state.steps))?;
        let named = |(name, ps): (&str, u64)| (format!("time_ps.{name}"), ps);
        let mut counts = self.migrations()?.counts();
        counts.extend(steps.named().map(named));
        Ok(counts)
    }

    /// What moved to this context's card and home, one by one in the order of time, while any of its contexts shares; of very many the last
    /// 65,536 of the process.
    pub fn migration_log(&self) -> Result<Vec<Migration>, Error> {
        self.told_here()?;
        match self.sharing() {
            Some(sharing) => sharing.pager.log(sharing.owner),
            None => Ok(Vec::new()),
        }
    }

    fn bring(&self, memory: &[HostRange], cause: Cause) -> Result<(), Error> {
        for range in memory {
            self.range(*range)?;
        }
        if let Some(context) = self.by_driver() {
            let inside = |range: &HostRange| pages_inside(range.address, range.bytes);
            let mut ranges = memory.iter().filter_map(inside);
            return ranges
                .try_for_each(|(start, len)| context.migrate(start, len, false).map(drop));
        }
        let sharing = self.start_sharing()?;
        let want = |range: &HostRange| Want {
            start: range.address,
            len: range.bytes,
            writes: false,
            kept: range.kept,
        };
        let wants = memory.iter().map(want).collect();
        sharing.pager.to_device(sharing.owner, wants, cause)
    }

    /// What moved is the driver's to say, which tells it to the machine's owner, not to programs.
    fn told_here(&self) -> Result<(), Error> {
        match self.card().shared.driver() {
            Some(driver) => Err(driver.not_there()),
            None => Ok(()),
        }
    }

    fn range(&self, memory: impl Into<HostRange>) -> Result<(u64, u64), Error> {
        let HostRange { address, bytes, .. } = memory.into();
        self.check_memory(address, bytes)?;
        Ok((address, bytes))
    }
}
