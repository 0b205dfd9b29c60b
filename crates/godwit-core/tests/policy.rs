// SPDX-License-Identifier: Apache-2.0
//! The policies through their safe face: what C's unit tests do not say.

use std::collections::BTreeSet;

use godwit_core::policy::{Block, Evictor, Fault, FaultPage, Prefetcher, coalesce};
use proptest::prelude::*;

proptest! {
    #[test]
    fn groups_hold_exactly_the_pages_that_were_asked_for(
        asked in proptest::collection::vec((0u32..3, 0u64..80, 0u32..4, any::<bool>()), 0..200),
        max_order in 0u32..10,
    ) {
        let mut faults: Vec<_> = asked
            .iter()
            .map(|&(context, page, tag, write)| Fault::new(context, page, tag, write))
            .collect();
        let (groups, stats) = coalesce(&mut faults, max_order);
        let pages: BTreeSet<_> = asked.iter().map(|&(context, page, ..)| (context, page)).collect();
        let moved: Vec<_> = groups
            .iter()
            .flat_map(|group| (0..group.pages()).map(|index| (group.context, group.page + index)))
            .collect();
        prop_assert_eq!(moved.len(), pages.len());
        prop_assert_eq!(moved.into_iter().collect::<BTreeSet<_>>(), pages);
        let answers: BTreeSet<_> = asked.iter().map(|&(context, page, tag, _)| (context, page, tag)).collect();
        prop_assert_eq!(stats.answers as usize, answers.len());
        prop_assert_eq!(faults.iter().filter(|fault| !fault.is_repeat()).count(), answers.len());
        for group in &groups {
            let writes = faults[group.first as usize..][..group.count as usize].iter().any(Fault::is_write);
            prop_assert_eq!(writes, group.is_write());
        }
    }
}

#[test]
fn a_linear_walk_of_32_mib_has_a_handful_of_faults() {
    let mut policy = Prefetcher::new(16, 4096);
    let mut resident = BTreeSet::new();
    let mut faults = 0;
    for page in 0..8192 {
        if resident.contains(&page) {
            continue;
        }
        faults += 1;
        let mut block = Block::default();
        for earlier in resident.range(page / 512 * 512..page / 512 * 512 + 512) {
            block.set_used(*earlier);
            block.set_resident(*earlier);
        }
        block.set_used(page);
        let fault = FaultPage {
            page,
            first: 0,
            last: 8191,
            context: 0,
        };
        resident.extend(policy.plan(&fault, &block).pages());
    }
    assert!(faults <= 7, "{faults} faults");
    assert_eq!(resident.len(), 8192);
}

#[test]
fn a_descending_plan_names_descending_pages() {
    let mut policy = Prefetcher::new(1, 64);
    let mut block = Block::default();
    for page in [500, 480, 460, 440] {
        block.set_used(page);
        block.set_resident(page);
    }
    block.set_used(420);
    let fault = FaultPage {
        page: 420,
        first: 375,
        last: 511,
        context: 0,
    };
    let pages: Vec<_> = policy.plan(&fault, &block).pages().collect();
    assert_eq!(pages, [420, 400, 380]);
}

#[test]
#[should_panic(expected = "outside its limits")]
fn a_page_outside_its_limits_is_refused() {
    let fault = FaultPage {
        page: 9,
        first: 10,
        last: 20,
        context: 0,
    };
    Prefetcher::new(16, 64).plan(&fault, &Block::default());
}

#[test]
fn a_panic_of_the_callback_arrives_and_the_evictor_goes_on() {
    let mut evictor = Evictor::new(4, 32);
    assert!(evictor.added(0, 16, true) && evictor.added(1, 16, true) && !evictor.added(4, 1, true));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        evictor.choose(false, None, &mut |_| panic!("no A bits"))
    }));
    assert!(result.is_err());
    let group = evictor.choose(false, Some(0), &mut |_| false);
    assert_eq!(group, Some(1));
    assert_eq!((evictor.removed(1), evictor.pages()), (16, 16));
}
