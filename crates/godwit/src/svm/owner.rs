// SPDX-License-Identifier: Apache-2.0
//! What the pager wants of those that have pages: an address space on a card.

use std::sync::Arc;

use godwit_card::Memory;
use godwit_core::policy::StayCosts;

use super::PAGE;
use super::evict::GROUP;
use super::stays::Crossed;
use crate::Error;

/// Pages that an owner gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// First address for program and card; pages in a row.
    pub va: u64,
    /// Bytes, whole pages.
    pub len: u64,
    /// Where their bytes are, in memory that the owner was [shown](Owner::show) or [reaches](Owner::reach); without, they are zero.
    pub from: Option<u64>,
    /// The card may write them.
    pub writable: bool,
    /// The card uses them where their bytes are.
    pub in_place: bool,
}

/// Pages that an owner loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaving {
    /// First address.
    pub va: u64,
    /// Bytes, whole pages.
    pub len: u64,
    /// Where their bytes go, in memory that the owner was [shown](Owner::show); without, they are of no more use.
    pub to: Option<u64>,
    /// The card used them in place, and may have written them there.
    pub written: bool,
    /// Those that the card has not written are not copied: their bytes are elsewhere, too.
    pub unless_clean: bool,
}

/// What a card tells of pages that left it.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Ranges that it has not written, as far as it can tell, and that were [not copied](Leaving::unless_clean).
    pub clean: Vec<(u64, u64)>,
    /// Groups that crossed the link.
    pub crossed: Vec<Crossed>,
}

/// One that has pages. Called by the pager's thread only; none of it may touch memory of the program other than that of the pieces.
pub(crate) trait Owner: Send {
    /// The pager's own memory, where bytes of pages are and go: these addresses, as long as the process lives. No page of it is missing
    /// when it is named.
    fn show(&mut self, at: u64, len: u64);

    /// Takes all these pages, or none. When they are `awaited` kernels may use each as soon as it is there; all are turn by turn.
    fn take(&mut self, pieces: &[Piece], awaited: bool) -> Result<(), Error>;

    /// Lets the card write pages that it has.
    fn allow_writes(&mut self, va: u64, len: u64) -> Result<(), Error>;

    /// Returns when nothing on the card can reach these pages any more, and their bytes are where they go; what was written in place is
    /// then where it belongs. With `counted` it is told which lines of those in place nobody heard of yet. An owner that is gone or broken
    /// reaches none.
    fn withdraw(&mut self, leaving: &[Leaving], counted: bool) -> Left;

    /// Copies the bytes of pages that it has, and goes on having.
    fn fetch(&self, pages: &[Leaving]);

    /// As [`Owner::withdraw`], but their bytes stay where [`Owner::lies`] says until they are released. Returns the virtual time that it
    /// took, in picoseconds.
    fn part(&mut self, leaving: &Leaving) -> u64;

    /// Where the bytes of pages are that it has: addresses of pages, bytes, and addresses in this process.
    fn lies(&self, va: u64, len: u64) -> Vec<(u64, u64, u64)>;

    /// Another card has read these pages where they lie: its own link was used for that.
    fn sent(&mut self, va: u64, len: u64);

    /// Lets time pass in which it waits for another card.
    fn waits(&mut self, ps: u64);

    /// The memory that its pages take room in, for other cards to reach.
    fn to_reach(&self) -> Option<Arc<Memory>>;

    /// Whether it can take pages from the memory of another card.
    fn reach(&mut self, memory: &Arc<Memory>) -> bool;

    /// Ends that: the memory is about to go.
    fn reach_no_more(&mut self, memory: &Arc<Memory>);

    /// Ends its having pages that were withdrawn.
    fn release(&mut self, va: u64, len: u64);

    /// Nobody waits for the pager: what [`Owner::release`] left for later is done now.
    fn rest(&mut self) {}

    /// Has its pages that go on to be used in place counted where the card does that: the pager hears of groups of 64 KiB that cross the
    /// link. What pages cost there; none where nothing is counted.
    fn count_lines(&mut self) -> Option<PageCosts>;

    /// Has what a line over the link costs measured, in the launch that works or else the next: the pager hears of it before that ends.
    fn measure_lines(&mut self);

    /// Takes pages that it uses in place into its memory, all of them; false, and nothing has changed, when there is no room. On an error
    /// it reaches none of them any more, and what it wrote is where it belongs.
    fn take_over(&mut self, pieces: &[Piece]) -> Result<bool, Error>;

    /// Whether it has written any of these pages since it got them, as far as the card can tell; if not, it may have.
    fn has_written(&self, va: u64, len: u64) -> bool;

    /// Whether it knows which pages kernels have used ([`Owner::take_used`]).
    fn tells_use(&self) -> bool {
        false
    }

    /// Whether kernels have used any page of a group of 64 KiB, of which it has these ranges, since the last time that this was asked. What they use
    /// with translations that the card still holds counts from the next [`Owner::withdraw`] on.
    fn take_used(&mut self, _group: u64, _ranges: &[(u64, u64)]) -> bool {
        false
    }

    /// Its own thread, which must never wait for the pager. It lives as long as the owner does.
    fn thread(&self) -> u32;

    /// Its virtual time when it was last asked for something else.
    fn now_ps(&self) -> u64;

    /// The memory that its pages take room in.
    fn memory(&self) -> DeviceMemory;

    /// Bytes of it that nobody has.
    fn free_bytes(&self) -> u64;

    /// Whether the card reaches memory that it was [shown](Owner::show) by itself, so that pages can stay there.
    fn reaches_host(&self) -> bool;

    /// How it asks for pages while kernels run; without, launches get all of theirs before.
    fn demand(&self) -> Option<Demand>;
}

/// A card's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceMemory {
    /// The same for all owners of one memory.
    pub id: usize,
    pub bytes: u64,
}

/// What pages cost on a card, in picoseconds of its virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageCosts {
    /// A copy over the link, whatever its size: it is waited for, where lines in place are asked for while others come.
    pub copy: u64,
    /// The bytes of one, over the link.
    pub copy_page: u64,
    /// The host's work on pages that go to the card: once, and for each.
    pub leave: u64,
    /// See `leave`.
    pub leave_page: u64,
}

impl PageCosts {
    /// Copies of so many bytes, group by group.
    pub fn copies(&self, bytes: u64) -> u64 {
        bytes / PAGE * self.copy_page + bytes.div_ceil(GROUP) * self.copy
    }

    /// Of a group of pages, of which a line costs so much in place. What the card writes is copied home, too.
    pub fn group(&self, line: u64, written: bool) -> StayCosts {
        let pages = GROUP / PAGE;
        let begin = self.copies(GROUP) * (1 + u64::from(written));
        StayCosts {
            line,
            begin,
            r#move: begin + self.leave + pages * self.leave_page,
        }
    }
}

/// How a card asks for pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demand {
    /// How many pages could be moved in the time that a request takes.
    pub request_pages: u32,
    /// Most pages that come with one that was asked for.
    pub most_pages: u32,
}

/// A page that kernels wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// First address.
    pub va: u64,
    /// Somebody writes it.
    pub write: bool,
    /// What the answer names.
    pub group: u32,
}

/// Why a page does not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub va: u64,
    pub why: String,
}

/// A page that was asked for: it is there, or will not come.
pub(crate) type Answer = (Asked, Result<(), Refused>);

/// Whom answers are given. None of it waits.
pub(crate) trait Asker: Send {
    /// Answers pages, all those of one question.
    fn answer(&self, answers: Vec<Answer>);
}

/// Pages that were asked for, and who waits for the answers. Whoever drops it unanswered refuses all.
pub(crate) struct Questions {
    asked: Vec<Asked>,
    /// Virtual time at which they came.
    pub now_ps: u64,
    asker: Box<dyn Asker>,
}

impl Questions {
    pub fn new(asked: Vec<Asked>, now_ps: u64, asker: Box<dyn Asker>) -> Self {
        Self {
            asked,
            now_ps,
            asker,
        }
    }

    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// Answers all.
    pub fn answer(mut self, of: impl Fn(&Asked) -> Result<(), Refused>) {
        self.end(of);
    }

    fn end(&mut self, of: impl Fn(&Asked) -> Result<(), Refused>) {
        let asked = std::mem::take(&mut self.asked);
        if asked.is_empty() {
            return;
        }
        let answers = asked.into_iter().map(|asked| (asked, of(&asked)));
        self.asker.answer(answers.collect());
    }
}

impl Drop for Questions {
    fn drop(&mut self) {
        self.end(|asked| {
            Err(Refused {
                va: asked.va,
                why: "the pager of shared memory could not serve it".into(),
            })
        });
    }
}
