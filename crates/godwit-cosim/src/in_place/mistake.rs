// SPDX-License-Identifier: Apache-2.0
//! Rules that the host, or the oracle, can be told to break: a run should find a difference.

/// What is done wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mistake {
    /// The host reads its memory without a clean.
    ReadWithoutClean,
    /// The host reads as soon as the clean is in the queue, not behind its fence.
    ReadBeforeFence,
    /// The host writes lines of its own and does not drop them.
    WriteWithoutDrop,
    /// The host drops one line more than it wrote.
    DropNextLine,
    /// A page that moves is copied before the fence.
    CopyBeforeFence,
    /// A page is taken away, its translations stay.
    KeepTranslations,
    /// A page is taken away, its lines are cleaned and stay in the cache.
    KeepLines,
    /// A page is taken away without a flush.
    SkipFlush,
    /// A page's flush comes before the invalidation of its translations.
    FlushFirst,
    /// A context ends with its entry still there.
    KeepContext,
    /// What the link has lost is taken for written.
    IgnoreLoss,
    /// Of each write that is no whole line the oracle forgets a byte.
    ForgetByte,
}
