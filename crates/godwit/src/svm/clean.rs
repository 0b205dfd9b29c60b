// SPDX-License-Identifier: Apache-2.0
//! Pages that a card might have written and has not, which hardware says ([`State::unmap_and_tell`](crate::state::State)): what the program
//! had is as new, and nothing is copied.

use super::blocks::{Place, Run};
use super::owner::Leaving;
use super::pages::Pages;
use super::report::Cause;

impl Pages {
    /// A run, all of which its card has not written (`clean`) or may have, is home, and counted.
    pub(super) fn comes_home(&mut self, mut run: Run, clean: bool, shift: u64, cause: Cause) {
        let Place::Away(away) = &mut run.place else {
            return;
        };
        if clean {
            away.writable = false;
            if !away.held {
                // As it never was touched.
                self.shadow.drop_pages(run.shadow, run.len);
            }
        }
        let Place::Away(away) = run.place else { return };
        if away.is_newer() && !away.in_place {
            self.report.came(cause, run.len);
        } else if !away.in_place {
            self.report.clean += run.len;
        }
        self.is_home(run, shift, cause);
    }
}

/// Parts of a range, in order, and whether each is in one of the others.
pub(super) fn split(start: u64, len: u64, others: &[(u64, u64)]) -> Vec<(u64, u64, bool)> {
    let (mut at, end) = (start, start + len);
    let mut parts = Vec::new();
    let inside = others
        .iter()
        .map(|(first, len)| (*first.max(&start), (*first + *len).min(end)));
    for (first, until) in inside.filter(|(first, until)| first < until) {
        if at < first {
            parts.push((at, first - at, false));
        }
        parts.push((first, until - first, true));
        at = until;
    }
    if at < end {
        parts.push((at, end - at, false));
    }
    parts
}

/// What of pages that leave is to be copied, and the ranges of them that need not be, being clean.
pub(crate) fn apart(leaving: &[Leaving], clean: &[(u64, u64)]) -> (Vec<Leaving>, Vec<(u64, u64)>) {
    let (mut copied, mut kept) = (Vec::new(), Vec::new());
    for page in leaving {
        let Some(to) = page.to else { continue };
        if !page.unless_clean {
            copied.push(*page);
            continue;
        }
        for (va, len, is_clean) in split(page.va, page.len, clean) {
            if is_clean {
                kept.push((va, len));
                continue;
            }
            let to = Some(to + (va - page.va));
            copied.push(Leaving {
                va,
                len,
                to,
                ..*page
            });
        }
    }
    (copied, kept)
}

/// How much of a page is not in the ranges that are clean.
pub(crate) fn bytes_outside(page: &Leaving, clean: &[(u64, u64)]) -> u64 {
    let parts = split(page.va, page.len, clean).into_iter();
    parts
        .map(|(_, len, is_clean)| if is_clean { 0 } else { len })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_split_where_others_begin_and_end() {
        assert_eq!(split(10, 20, &[]), [(10, 20, false)]);
        assert_eq!(split(10, 20, &[(0, 40)]), [(10, 20, true)]);
        let parts = split(10, 20, &[(0, 12), (15, 5), (28, 9), (50, 1)]);
        let wanted = [
            (10, 2, true),
            (12, 3, false),
            (15, 5, true),
            (20, 8, false),
            (28, 2, true),
        ];
        assert_eq!(parts, wanted);
    }

    #[test]
    fn what_is_clean_is_copied_only_if_its_bytes_are_nowhere_else() {
        let page = |va, to, unless_clean| Leaving {
            va,
            len: 8,
            to,
            written: false,
            unless_clean,
        };
        let leaving = [
            page(0, Some(100), true),
            page(8, Some(108), false),
            page(16, None, true),
        ];
        let (copied, clean) = apart(&leaving, &[(4, 30)]);
        let half = Leaving {
            len: 4,
            ..leaving[0]
        };
        assert_eq!(copied, [half, leaving[1]]);
        assert_eq!(clean, [(4, 4)]);
    }
}
