// SPDX-License-Identifier: Apache-2.0
//! The policies through their safe face: what C's unit tests do not say.

use std::collections::BTreeSet;

use godwit_core::policy::{
    Around, Block, Evictor, Fault, FaultPage, Prefetcher, Stay, StayCosts, StayPlace, coalesce,
};
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

proptest! {
    #[test]
    fn a_group_has_its_page_and_stays_in_its_block(
        touches in proptest::collection::vec((0u64..3, 0u64..64, any::<bool>()), 1..300),
        fewest in 0u32..5,
        more in 0u32..6,
    ) {
        let (mut around, most) = (Around::default(), fewest + more);
        let mut next = [0; 3];
        for (owner, page, goes_on) in touches {
            let page = if goes_on { next[owner as usize] } else { page << more };
            let (first, count) = around.touched(owner, page, fewest, most);
            prop_assert!(first <= page && page < first + u64::from(count));
            prop_assert!(count <= 1 << most);
            prop_assert_eq!(first >> most, (first + u64::from(count) - 1) >> most);
            next[owner as usize] = first + u64::from(count);
        }
    }
}

#[test]
fn a_panic_of_the_callback_arrives_and_the_evictor_goes_on() {
    let mut evictor = Evictor::new(4, 32);
    assert!(evictor.added(0, 16, true) && evictor.added(1, 16, true) && !evictor.added(4, 1, true));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        evictor.choose(false, None, Some(&mut |_| panic!("no A bits")))
    }));
    assert!(result.is_err());
    let group = evictor.choose(false, Some(0), Some(&mut |_| false));
    assert_eq!(group, Some(1));
    assert_eq!((evictor.removed(1), evictor.pages()), (16, 16));
}

/// What a stay of so many lines costs, reported so many at a time, and what it costs at least with foresight: beside what both places
/// cost alike.
fn stay_costs(stay: &mut Stay, lines: u32, step: u32, costs: &StayCosts, salt: u32) -> (u64, u64) {
    let mut cost = 0;
    if stay.begin() == StayPlace::Device {
        cost += costs.begin;
    }
    let mut left = lines;
    while left > 0 && stay.place() == StayPlace::InPlace {
        let now = left.min(step);
        stay.crossed(now);
        cost += u64::from(now) * costs.line;
        left -= now;
        if stay.due(costs) {
            stay.moved();
            cost += costs.r#move;
        }
    }
    stay.end(costs, false, salt);
    (cost, costs.begin.min(u64::from(lines) * costs.line))
}

proptest! {
    #[test]
    fn no_stay_costs_more_than_moving_twice_and_what_is_the_same_each_time_costs_hardly_more_than_the_least(
        line in 1u64..1000,
        begin in 1u64..100_000,
        more in 0u64..100_000,
        lines in 0u32..5000,
        step in 1u32..64,
        salt: u32,
    ) {
        let costs = StayCosts { line, begin, r#move: begin + more };
        let mut stay = Stay::default();
        let (mut sum, mut least) = (0, 0);
        for turn in 0..400 {
            let (cost, best) = stay_costs(&mut stay, lines, step, &costs, salt);
            // It is seen after a report of some lines at the earliest.
            prop_assert!(cost <= 2 * costs.r#move + u64::from(step) * line, "turn {turn}: {cost}");
            if turn > 0 {
                sum += cost;
                least += best;
            }
        }
        // 16 to 31 stays, then 32, then every 64 one looks: 7 or 8 of 399, each for a report's lines and the way twice at most.
        let looks = 8 * (costs.begin + costs.r#move + u64::from(step) * line);
        prop_assert!(sum <= least + looks, "{sum} of {least}");
    }

    #[test]
    fn what_changes_is_followed(
        stays in proptest::collection::vec((0u32..400, any::<bool>(), any::<bool>()), 1..200),
        salt: u32,
    ) {
        let costs = StayCosts { line: 3, begin: 200, r#move: 500 };
        let mut stay = Stay::default();
        for (lines, evicted, room) in stays {
            prop_assert_eq!(stay.place(), StayPlace::Home);
            let place = stay.begin();
            prop_assert!(place != StayPlace::Home);
            stay.crossed(lines);
            if stay.due(&costs) {
                prop_assert_eq!(place, StayPlace::InPlace);
                prop_assert!(u64::from(lines) * costs.line >= costs.begin);
                if room {
                    stay.moved();
                    prop_assert_eq!(stay.place(), StayPlace::Device);
                } else {
                    stay.refused();
                    prop_assert_eq!(stay.place(), StayPlace::InPlace);
                }
            }
            let short = evicted && stay.place() == StayPlace::Device;
            stay.end(&costs, evicted, salt);
            if short {
                // Device memory is short: the next one does not ask for it at once.
                let mut next = stay;
                prop_assert_eq!(next.begin(), StayPlace::InPlace);
            }
        }
    }
}
