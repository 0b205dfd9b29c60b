// SPDX-License-Identifier: Apache-2.0
//! The range allocator against a model that keeps a map of ranges and does all arithmetic the long way.

use std::collections::BTreeMap;
use std::sync::Barrier;

use godwit_core::range::{Area, RangeErrorKind, Ranges, Request, Run};
use proptest::prelude::*;

const GRANULE: u64 = 4096;

/// Areas as maximal intervals of granules, ranges in use by first granule.
#[derive(Default)]
struct Model {
    spans: Vec<(u64, u64)>,
    used: BTreeMap<u64, u64>,
}

impl Model {
    fn new(areas: &[Area]) -> Self {
        let mut sorted: Vec<_> = areas
            .iter()
            .map(|area| (area.base / GRANULE, (area.base + area.bytes) / GRANULE))
            .collect();
        sorted.sort_unstable();
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for (first, end) in sorted {
            match spans.last_mut() {
                Some(last) if last.1 == first => last.1 = end,
                _ => spans.push((first, end)),
            }
        }
        Self {
            spans,
            used: BTreeMap::new(),
        }
    }

    /// Free runs [first, end).
    fn free(&self) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        for &(first, end) in &self.spans {
            let mut at = first;
            for (&start, &stop) in self.used.range(first..end) {
                runs.push((at, start));
                at = stop;
            }
            runs.push((at, end));
        }
        runs.retain(|(first, end)| first < end);
        runs
    }

    fn place(&self, request: &Request) -> Option<u64> {
        let count = request.bytes.div_ceil(GRANULE);
        let align = request.align.div_ceil(GRANULE).max(1);
        let low = request.min.div_ceil(GRANULE);
        let high = (u128::from(request.max) + 1) / u128::from(GRANULE);
        self.free().into_iter().find_map(|(first, end)| {
            let at = first.max(low).next_multiple_of(align);
            let end = u128::from(end).min(high);
            (u128::from(at) + u128::from(count) <= end).then_some(at)
        })
    }
}

#[derive(Debug, Clone)]
enum Call {
    Alloc(Request),
    Free(usize),
    Resize(usize, u64),
    Split(usize, u64),
}

fn calls() -> impl Strategy<Value = Call> {
    let sizes =
        prop_oneof![1u64..20, 1u64..200, 1u64..5000].prop_map(|granules| granules * GRANULE - 1);
    let aligns = (0u32..24).prop_map(|shift| 1u64 << shift);
    let limits = prop_oneof![
        4 => Just((0, u64::MAX)),
        1 => (0u64..64 << 20, 0u64..64 << 20).prop_map(|(a, b)| (a.min(b), a.max(b))),
    ];
    prop_oneof![
        5 => (sizes, aligns, limits, any::<bool>()).prop_map(|(bytes, align, (min, max), plain)| {
            let align = if plain { 1 } else { align };
            Call::Alloc(Request { align, min, max, ..Request::new(bytes) })
        }),
        3 => any::<usize>().prop_map(Call::Free),
        1 => (any::<usize>(), 1u64..400).prop_map(|(which, granules)| Call::Resize(which, granules * GRANULE)),
        1 => (any::<usize>(), 1u64..40).prop_map(|(which, granules)| Call::Split(which, granules * GRANULE)),
    ]
}

fn areas() -> impl Strategy<Value = Vec<Area>> {
    prop::collection::vec(
        (prop_oneof![3 => Just(0u64), 1 => 1u64..600], 1u64..1500),
        1..12,
    )
    .prop_map(|parts| {
        let mut at = 0;
        let mut areas: Vec<_> = parts
            .into_iter()
            .map(|(gap, granules)| {
                let base = (at + gap) * GRANULE;
                at += gap + granules;
                Area {
                    base,
                    bytes: granules * GRANULE,
                    node: 0,
                }
            })
            .collect();
        areas.reverse();
        areas
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Address-ordered first fit, exactly: the lowest place that arithmetic finds, and a failure only when it finds none.
    #[test]
    fn every_call_does_what_exact_arithmetic_says(areas in areas(), calls in prop::collection::vec(calls(), 1..120)) {
        let ranges = Ranges::new(&areas, GRANULE).unwrap();
        let mut model = Model::new(&areas);
        for call in calls {
            match call {
                Call::Alloc(request) => match (ranges.alloc(&request), model.place(&request)) {
                    (Ok(pa), Some(at)) => {
                        prop_assert_eq!(pa, at * GRANULE);
                        model.used.insert(at, at + request.bytes.div_ceil(GRANULE));
                    }
                    (Err(error), None) => {
                        let why = error.why.unwrap();
                        let largest = model.free().iter().map(|(a, b)| b - a).max().unwrap_or(0);
                        prop_assert_eq!(why.largest, largest * GRANULE);
                        let fits = request.bytes <= why.largest;
                        let expected: &[RangeErrorKind] = if fits {
                            &[RangeErrorKind::Placement, RangeErrorKind::Unaligned]
                        } else {
                            &[RangeErrorKind::OutOfMemory, RangeErrorKind::Fragmented]
                        };
                        prop_assert!(expected.contains(&error.kind()), "{error}");
                    }
                    (found, expected) => prop_assert!(false, "{request:?}: {found:?}, expected {expected:?}"),
                },
                Call::Free(which) if !model.used.is_empty() => {
                    let (&first, &end) = model.used.iter().nth(which % model.used.len()).unwrap();
                    if end - first > 1 {
                        let inside = ranges.free((first + 1) * GRANULE).unwrap_err();
                        prop_assert_eq!(inside.kind(), RangeErrorKind::NotAStart);
                    }
                    prop_assert_eq!(ranges.free(first * GRANULE), Ok((end - first) * GRANULE));
                    model.used.remove(&first);
                    prop_assert_eq!(ranges.free(first * GRANULE).unwrap_err().kind(), RangeErrorKind::NotAStart);
                }
                Call::Resize(which, bytes) if !model.used.is_empty() => {
                    let (&first, &end) = model.used.iter().nth(which % model.used.len()).unwrap();
                    let wanted = first + bytes / GRANULE;
                    let fits = wanted <= end || model.free().iter().any(|&(a, b)| a == end && wanted <= b);
                    prop_assert_eq!(ranges.resize(first * GRANULE, bytes).is_ok(), fits);
                    if fits {
                        model.used.insert(first, wanted);
                    }
                }
                Call::Split(which, bytes) if !model.used.is_empty() => {
                    let (&first, &end) = model.used.iter().nth(which % model.used.len()).unwrap();
                    prop_assert_eq!(ranges.split(first * GRANULE, bytes), Ok(()));
                    let step = bytes / GRANULE;
                    for at in (first..end).step_by(step as usize) {
                        model.used.insert(at, (at + step).min(end));
                    }
                }
                _ => {}
            }
            prop_assert_eq!(ranges.check(), Ok(()));
        }
        let free: Vec<_> = ranges.runs().into_iter().filter(|run| !run.used).collect();
        let expected: Vec<_> = model
            .free()
            .into_iter()
            .map(|(a, b)| Run { used: false, pa: a * GRANULE, bytes: (b - a) * GRANULE })
            .collect();
        prop_assert_eq!(free, expected);
    }
}

/// The border of two areas is inside a granule that neither has whole.
#[test]
fn areas_are_joined_before_they_are_cut_into_granules() {
    let area = |base, bytes| Area {
        base,
        bytes,
        node: 0,
    };
    let half = GRANULE / 2;
    let ranges = Ranges::new(
        &[area(half * 5, half), area(half * 4, half), area(0, half)],
        GRANULE,
    )
    .unwrap();
    assert_eq!(ranges.alloc(&Request::new(GRANULE)), Ok(2 * GRANULE));
    assert!(ranges.alloc(&Request::new(1)).is_err());
    assert!(Ranges::new(&[area(half, half), area(half * 4, half)], GRANULE).is_err());
}

#[test]
fn sixteen_adjacent_areas_serve_twelve_times_twenty_mebibytes() {
    let areas: Vec<_> = (0..16)
        .map(|i| Area {
            base: i * (16 << 20),
            bytes: 16 << 20,
            node: i as u32,
        })
        .collect();
    let ranges = Ranges::new(&areas, GRANULE).unwrap();
    for i in 0..12 {
        assert_eq!(ranges.alloc(&Request::new(20 << 20)), Ok(i * (20 << 20)));
    }
    let error = ranges.alloc(&Request::new(20 << 20)).unwrap_err();
    assert_eq!(error.kind(), RangeErrorKind::OutOfMemory);
    assert_eq!(ranges.alloc(&Request::new(16 << 20)), Ok(240 << 20));
}

/// As many places as threads may hold: a failure would be a wrong answer, however they interleave.
#[test]
fn threads_that_together_never_exceed_memory_never_fail() {
    const THREADS: usize = 8;
    let area = Area {
        base: 0,
        bytes: 8 * 96 * GRANULE,
        node: 0,
    };
    let ranges = Ranges::new(&[area], GRANULE).unwrap();
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                for round in 0..300u64 {
                    let held: Vec<_> = (0..96)
                        .map(|_| ranges.alloc(&Request::new(GRANULE)).unwrap())
                        .collect();
                    // Out of order, so that words fill and empty in every way.
                    for i in 0..96 {
                        ranges.free(held[(i * 37 + round as usize) % 96]).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(ranges.check(), Ok(()));
    assert_eq!(ranges.free_bytes(), area.bytes);
}

#[test]
fn areas_whose_bitmaps_no_memory_holds_are_an_error() {
    let area = Area {
        base: 0,
        bytes: 1 << 63,
        node: 0,
    };
    assert!(Ranges::metadata_needed(&[area], GRANULE).unwrap() > 1 << 45);
    let error = Ranges::new(&[area], GRANULE).unwrap_err();
    assert_eq!(error.kind(), RangeErrorKind::Storage);
    assert!(error.to_string().contains("larger granules"), "{error}");
}
