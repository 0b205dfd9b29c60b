// SPDX-License-Identifier: Apache-2.0
//! What is decided about pages that move: which requests belong together, what comes along, what has to leave, and what does not move at
//! all. The decisions and their reasons are in `core/include/godwit/{fault,prefetch,around,evict,stay}.h`.

use std::ffi::c_void;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::policy_ffi as ffi;

pub use ffi::{
    gw_fault as Fault, gw_fault_group as FaultGroup, gw_fault_stats as FaultStats,
    gw_prefetch_block as Block, gw_prefetch_fault as FaultPage, gw_prefetch_plan as Plan,
    gw_stay_costs as StayCosts,
};

/// Pages of a [`Block`].
pub const BLOCK_PAGES: u64 = 512;
/// Largest group of [`coalesce`]: 2 MiB.
pub const MAX_ORDER: u32 = 9;

impl Fault {
    /// A request for `page` of `context` whose answer names `tag`.
    pub fn new(context: u32, page: u64, tag: u32, write: bool) -> Fault {
        Fault {
            page,
            context,
            tag,
            flags: u32::from(write) * ffi::GW_FAULT_WRITE,
        }
    }

    /// The access was a write.
    pub fn is_write(&self) -> bool {
        self.flags & ffi::GW_FAULT_WRITE != 0
    }

    /// An equal request stands before it, after [`coalesce`]: there is one answer for both.
    pub fn is_repeat(&self) -> bool {
        self.flags & ffi::GW_FAULT_REPEAT != 0
    }
}

impl FaultGroup {
    /// Any of its requests is a write.
    pub fn is_write(&self) -> bool {
        self.flags & ffi::GW_FAULT_WRITE != 0
    }

    /// Number of its pages.
    pub fn pages(&self) -> u64 {
        1 << self.order
    }
}

/// Sorts requests by context, page and tag, and says which naturally aligned groups of at most 2^`max_order` pages they
/// make. Every request is in one group; groups are in the order of the requests.
pub fn coalesce(faults: &mut [Fault], max_order: u32) -> (Vec<FaultGroup>, FaultStats) {
    // A batch has at most as many requests as a card has outstanding; longer lists do not exist.
    let count = u32::try_from(faults.len()).unwrap_or(u32::MAX);
    let mut groups = vec![FaultGroup::default(); count as usize];
    let mut stats = FaultStats::default();
    // SAFETY: both arrays have `count` elements.
    let made = unsafe {
        ffi::gw_fault_coalesce(
            faults.as_mut_ptr(),
            count,
            max_order,
            groups.as_mut_ptr(),
            &raw mut stats,
        )
    };
    groups.truncate(made as usize);
    (groups, stats)
}

impl Block {
    /// Marks a page of the block as used: asked for, or accessed.
    pub fn set_used(&mut self, page: u64) {
        self.used[(page % BLOCK_PAGES / 64) as usize] |= 1 << (page % 64);
    }

    /// Marks a page of the block as resident.
    pub fn set_resident(&mut self, page: u64) {
        self.resident[(page % BLOCK_PAGES / 64) as usize] |= 1 << (page % 64);
    }
}

impl Plan {
    /// The pages to be fetched, that of the fault among them.
    pub fn pages(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |index| {
            self.page
                .wrapping_add((self.stride as u64).wrapping_mul(index))
        })
    }
}

/// Which pages come along with one that was asked for.
#[derive(Debug, Clone)]
pub struct Prefetcher(ffi::gw_prefetch);

impl Prefetcher {
    /// `fault_pages`: how many pages could be moved in the time that a fault takes, 1 to 512. `max_window`: pages of a
    /// stream's largest plan, 1 to 4096. Values beyond are taken for the nearest.
    pub fn new(fault_pages: u32, max_window: u32) -> Prefetcher {
        let mut state = ffi::gw_prefetch::default();
        // SAFETY: the struct is written as a whole.
        unsafe { ffi::gw_prefetch_init(&raw mut state, fault_pages, max_window) };
        Prefetcher(state)
    }

    /// Pages of a stream's largest plan from now on, as for [`new`](Self::new); `full`: they push out others, and streams begin small.
    pub fn limit(&mut self, max_window: u32, full: bool) {
        // SAFETY: the state is this object's.
        unsafe { ffi::gw_prefetch_limit(&raw mut self.0, max_window, full) };
    }

    /// What to fetch for a fault. Faults of a batch come in ascending order, without those that an earlier plan covers.
    ///
    /// # Panics
    /// If the page is not within the limits of `fault`.
    pub fn plan(&mut self, fault: &FaultPage, block: &Block) -> Plan {
        assert!(
            (fault.first..=fault.last).contains(&fault.page),
            "page {:#x} is outside its limits {:#x} to {:#x}",
            fault.page,
            fault.first,
            fault.last
        );
        let mut plan = Plan::default();
        // SAFETY: all pointers are to whole structs of this call.
        unsafe { ffi::gw_prefetch_plan(&raw mut self.0, fault, block, &raw mut plan) };
        plan
    }

    /// Counts the faults so far.
    pub fn time(&self) -> u32 {
        // SAFETY: the state is this object's.
        unsafe { ffi::gw_prefetch_time(&raw const self.0) }
    }

    /// The page at which another stream of the context will be asked for to go on, after the one that did last in the batch that began at
    /// `since`. Its plan is that of a fault there. To be asked after the faults of a batch, until it says nothing.
    pub fn expect(&mut self, context: u32, since: u32) -> Option<u64> {
        let mut page = 0;
        // SAFETY: the state is this object's, and the page a local.
        let expects =
            unsafe { ffi::gw_prefetch_expect(&raw mut self.0, context, since, &raw mut page) };
        expects.then_some(page)
    }

    /// Prefetched pages have left the device: how many, and how many of them had been used.
    pub fn returned(&mut self, pages: u32, used: u32) {
        // SAFETY: the state is this object's.
        unsafe { ffi::gw_prefetch_returned(&raw mut self.0, pages, used) };
    }
}

/// Which groups of pages leave a full device. Groups have numbers from 0 on.
pub struct Evictor {
    state: ffi::gw_evict,
    // The state points into it.
    nodes: Box<[ffi::gw_evict_node]>,
}

// SAFETY: the pointers in the state are to memory that the object owns.
unsafe impl Send for Evictor {}

impl fmt::Debug for Evictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evictor")
            .field("groups", &self.nodes.len())
            .field("pages", &self.pages())
            .finish()
    }
}

/// Whether any page of a group was accessed since the last call; clears the A bits.
pub type AccessBits<'a> = &'a mut dyn FnMut(u32) -> bool;

struct Callback<'a> {
    accessed: Option<AccessBits<'a>>,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

unsafe extern "C" fn accessed(ctx: *mut c_void, group: u32) -> bool {
    // SAFETY: `choose` handed in this object, and nothing else uses it meanwhile.
    let callback = unsafe { &mut *ctx.cast::<Callback<'_>>() };
    // A panic must not pass through C.
    let used = AssertUnwindSafe(|| callback.accessed.as_mut().is_some_and(|bits| bits(group)));
    match catch_unwind(used) {
        Ok(used) => used,
        Err(panic) => {
            callback.panic = Some(panic);
            false
        }
    }
}

impl Evictor {
    /// For `groups` groups and a device of `capacity` pages, less than 2^31.
    pub fn new(groups: u32, capacity: u64) -> Evictor {
        let mut nodes = vec![ffi::gw_evict_node::default(); groups as usize].into_boxed_slice();
        let mut state = ffi::gw_evict::default();
        // SAFETY: the nodes are zero and live as long as the state.
        unsafe { ffi::gw_evict_init(&raw mut state, nodes.as_mut_ptr(), groups, capacity) };
        Evictor { state, nodes }
    }

    /// `pages` more pages of `group` are resident; `asked`: one of them was asked for. False, and nothing has changed:
    /// there is no such group, or it would have more than 65535.
    pub fn added(&mut self, group: u32, pages: u32, asked: bool) -> bool {
        // SAFETY: state and nodes are this object's.
        unsafe { ffi::gw_evict_added(&raw mut self.state, group, pages, asked) }
    }

    /// The group has left; its pages.
    pub fn removed(&mut self, group: u32) -> u32 {
        // SAFETY: as above.
        unsafe { ffi::gw_evict_removed(&raw mut self.state, group) }
    }

    /// A batch of so many pages is to come at once; before [`choose`](Self::choose) for it.
    pub fn coming(&mut self, pages: u64) {
        // SAFETY: as above.
        unsafe { ffi::gw_evict_coming(&raw mut self.state, pages) }
    }

    /// A group with so many pages that was chosen and removed could not leave after all. False, and nothing has changed: there is no such
    /// group, it is resident, or it cannot have so many pages.
    pub fn spared(&mut self, group: u32, pages: u32) -> bool {
        // SAFETY: as above.
        unsafe { ffi::gw_evict_spared(&raw mut self.state, group, pages) }
    }

    /// The device has room for so many pages from now on, less than 2^31.
    pub fn resize(&mut self, capacity: u64) {
        // SAFETY: as above.
        unsafe { ffi::gw_evict_resize(&raw mut self.state, capacity) }
    }

    /// The group that is to leave next, but never `keep`. `accessed` reads and clears the A bits of a group; none: there are no A bits.
    pub fn choose(
        &mut self,
        for_prefetch: bool,
        keep: Option<u32>,
        accessed: Option<AccessBits<'_>>,
    ) -> Option<u32> {
        let bits = accessed.is_some().then_some(self::accessed as _);
        let mut callback = Callback {
            accessed,
            panic: None,
        };
        let keep = keep.unwrap_or(ffi::GW_EVICT_NONE);
        // SAFETY: as above; the callback's context outlives the call.
        let group = unsafe {
            ffi::gw_evict_choose(
                &raw mut self.state,
                for_prefetch,
                keep,
                bits,
                (&raw mut callback).cast(),
            )
        };
        if let Some(panic) = callback.panic {
            resume_unwind(panic);
        }
        (group != ffi::GW_EVICT_NONE).then_some(group)
    }

    /// Resident pages.
    pub fn pages(&self) -> u64 {
        // SAFETY: as above.
        unsafe { ffi::gw_evict_pages(&raw const self.state) }
    }
}

/// Where a group of pages is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StayPlace {
    /// With the host.
    Home,
    /// The device uses it in the host's memory.
    InPlace,
    /// In the device's memory.
    Device,
}

/// Which pages go back to the host with one that it touches: more, where touches go on one behind the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Around(ffi::gw_around);

impl Around {
    /// The host touches `page` of `owner`'s memory: the first page of the group that goes back, which has it, and how many these are, from
    /// `1 << fewest` to `1 << most`.
    ///
    /// # Panics
    /// If `fewest` is more than `most`, or that more than 31.
    pub fn touched(&mut self, owner: u64, page: u64, fewest: u32, most: u32) -> (u64, u32) {
        assert!(fewest <= most && most < u32::BITS, "{fewest} to {most}");
        let (mut first, fewest, most) = (0, 1 << fewest, 1 << most);
        // SAFETY: the struct is this object's, and what is written is above.
        let count = unsafe {
            ffi::gw_around_touched(&raw mut self.0, owner, page, fewest, most, &raw mut first)
        };
        (first, count)
    }
}

/// A group of pages that stays in the host's memory or moves, as what was seen of it says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stay(ffi::gw_stay);

impl Stay {
    /// Where it is.
    pub fn place(&self) -> StayPlace {
        match self.0.place {
            ffi::GW_STAY_HOME => StayPlace::Home,
            ffi::GW_STAY_IN_PLACE => StayPlace::InPlace,
            _ => StayPlace::Device,
        }
    }

    /// A device wants it, and it is at home; where it goes.
    pub fn begin(&mut self) -> StayPlace {
        // SAFETY: the struct is this object's, here and below.
        unsafe { ffi::gw_stay_begin(&raw mut self.0) };
        self.place()
    }

    /// So many lines of it have crossed the link, either way.
    pub fn crossed(&mut self, lines: u32) {
        // SAFETY: as above.
        unsafe { ffi::gw_stay_crossed(&raw mut self.0, lines) }
    }

    /// Whether it is in place and is to move now.
    pub fn due(&self, costs: &StayCosts) -> bool {
        // SAFETY: as above.
        unsafe { ffi::gw_stay_due(&raw const self.0, costs) }
    }

    /// It has moved.
    pub fn moved(&mut self) {
        // SAFETY: as above.
        unsafe { ffi::gw_stay_moved(&raw mut self.0) }
    }

    /// It was to move, and there is no room.
    pub fn refused(&mut self) {
        // SAFETY: as above.
        unsafe { ffi::gw_stay_refused(&raw mut self.0) }
    }

    /// Whether all its lines are to be known at the end of this stay, those that nobody reported, too.
    pub fn wants_lines(&self) -> bool {
        // SAFETY: as above.
        unsafe { ffi::gw_stay_wants_lines(&raw const self.0) }
    }

    /// It is at home again; `evicted`: for want of device memory. `salt`: a number that differs from group to group.
    pub fn end(&mut self, costs: &StayCosts, evicted: bool, salt: u32) {
        // SAFETY: as above.
        unsafe { ffi::gw_stay_end(&raw mut self.0, costs, evicted, salt) }
    }
}
