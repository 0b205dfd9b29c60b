// SPDX-License-Identifier: Apache-2.0
//! A card that lies, for the driver's tests: words that are read of it are not what they are, its queues in the guest's memory
//! hold what nobody asked for, and messages come for nothing.
//!
//! From its first lie to its next reset the card itself does not reach the guest's memory, as if an IOMMU had taken it from it: a
//! real card that says that a copy has ended, and goes on with it, writes what is somebody else's by then, and no driver can help
//! that. So whatever harm comes is of what the driver believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_core::{dma_regs, layout, regs};

use crate::guest_memory::GuestMemory;
use crate::interrupts::Vectors;

/// Has a card lie, from any thread: a seed, and below it how often.
#[derive(Clone, Default)]
pub struct Liar(Arc<AtomicU64>);

impl Liar {
    /// From now on one in `one_in` words is a lie, in ways that repeat by the seed; 0: none.
    pub fn lie(&self, one_in: u32, seed: u32) {
        let both = u64::from(seed) << 32 | u64::from(one_in);
        self.0.store(both, Ordering::Relaxed);
    }

    fn one_in(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & 0xffff_ffff
    }

    fn seed(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> 32
    }
}

/// Numbers that repeat by their seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A register of 64 bits that says where something in the guest's memory is, and the bit that has the card use it.
struct Told {
    register: u64,
    control: u64,
    enable: u32,
    where_is: u64,
    used: bool,
}

impl Told {
    const fn new(base: u32, register: u64, control: u64, enable: u32) -> Self {
        Self {
            register: base as u64 + register,
            control: base as u64 + control,
            enable,
            where_is: 0,
            used: false,
        }
    }

    fn hears(&mut self, offset: u64, value: u32) {
        let value64 = u64::from(value);
        if offset == self.register {
            self.where_is = self.where_is & !0xffff_ffff | value64;
        } else if offset == self.register + 4 {
            self.where_is = self.where_is & 0xffff_ffff | value64 << 32;
        } else if offset == self.control {
            self.used = value & self.enable != 0;
        }
    }
}

/// Registers that get stuck between two resets.
const MOST_STUCK: usize = 3;

/// What a card makes up.
pub(crate) struct Lies {
    liar: Liar,
    chance: Chance,
    /// Words that were true somewhere, some time.
    remembered: [u32; 8],
    /// Registers that have one answer for ever, and which.
    stuck: Vec<(u64, u32)>,
    pages: Told,
    fence: Told,
    /// It has lied since its last reset.
    began: bool,
    /// Words that were not so, and times that something was made up.
    told: u64,
}

impl Lies {
    pub fn new() -> Self {
        let mmu = layout::REGISTER_SPACE_MMU_BASE;
        let dma = layout::REGISTER_SPACE_DMA_BASE;
        Self {
            liar: Liar::default(),
            chance: Chance(0),
            remembered: [0; 8],
            stuck: Vec::new(),
            pages: Told::new(
                mmu,
                regs::PAGE_QUEUE_PQB,
                regs::PAGE_QUEUE_PQCSR,
                regs::PAGE_QUEUE_PQCSR_PQEN_MASK,
            ),
            fence: Told::new(
                dma,
                dma_regs::FENCE_ADDR,
                dma_regs::CSR,
                dma_regs::CSR_ENABLE_MASK,
            ),
            began: false,
            told: 0,
        }
    }

    pub fn liar(&self) -> Liar {
        self.liar.clone()
    }

    /// Whether it is to lie, and has not begun.
    pub fn are_due(&self) -> bool {
        !self.began && self.liar.one_in() != 0
    }

    /// Its first lie can come.
    pub fn begin(&mut self) {
        self.chance = Chance(self.liar.seed());
        self.began = true;
    }

    /// Whether it has lied since its last reset.
    pub fn have_begun(&self) -> bool {
        self.began
    }

    /// How many lies there were.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// A word was written to a register.
    pub fn hears(&mut self, offset: u64, value: u32) {
        self.pages.hears(offset, value);
        self.fence.hears(offset, value);
    }

    /// The card is as after its power-up.
    pub fn begins_anew(&mut self) {
        self.pages.used = false;
        self.fence.used = false;
        self.stuck.clear();
        self.began = false;
    }

    /// One in as many times as is said.
    fn now(&mut self) -> bool {
        match self.liar.one_in() {
            0 => false,
            one_in => self.chance.below(one_in) == 0,
        }
    }

    /// What a register says instead of a word. Some stay with it: a driver that waits for them to change waits for ever.
    pub fn register(&mut self, offset: u64, truth: u32) -> u32 {
        let stuck = self.stuck.iter().find(|(at, _)| *at == offset).copied();
        if let Some((_, lie)) = stuck
            && self.liar.one_in() != 0
        {
            self.told += 1;
            return lie;
        }
        let said = self.word(truth);
        if said != truth && self.stuck.len() < MOST_STUCK && self.chance.below(4) == 0 {
            self.stuck.push((offset, said));
        }
        said
    }

    /// What is said instead of a word.
    fn word(&mut self, truth: u32) -> u32 {
        let kept = self.chance.below(8) as usize;
        let other = std::mem::replace(&mut self.remembered[kept], truth);
        if !self.began || !self.now() {
            return truth;
        }
        self.told += 1;
        match self.chance.below(16) {
            0..5 => self.chance.next() as u32,
            5..10 => truth ^ 1 << self.chance.below(32),
            10..13 => other,
            13 => 0,
            14 => truth.wrapping_add(1),
            // As a card that is gone.
            _ => u32::MAX,
        }
    }

    /// The same of memory, by words of 32 bits.
    pub fn memory(&mut self, truth: &mut [u8]) {
        for bytes in truth.chunks_exact_mut(4) {
            let word = bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u32::from(*byte));
            bytes.copy_from_slice(&self.word(word).to_le_bytes());
        }
    }

    /// Writes what is not so where the driver looks, and has it look.
    pub fn make_up(&mut self, guest: &GuestMemory, vectors: &mut Vectors) {
        if !self.began || !self.now() {
            return;
        }
        self.told += 1;
        if self.pages.used {
            // Of the frame's number, which begins at bit 10 of the register; the queue has a frame.
            let ring = self.pages.where_is >> 10 << 12 & !layout::HOST_APERTURE_BASE;
            for _ in 0..=self.chance.below(16) {
                let record = self
                    .chance
                    .below(4096 / u64::from(layout::PAGE_QUEUE_BYTES));
                let at = ring + record * u64::from(layout::PAGE_QUEUE_BYTES);
                guest.write(at, &self.record());
            }
        }
        if self.fence.used {
            let at = self.fence.where_is & !layout::HOST_APERTURE_BASE & !3;
            guest.write(at, &(self.chance.next() as u32).to_le_bytes());
        }
        vectors.send(self.chance.below(u64::from(vectors.count())) as usize);
    }

    /// A page request: of any bits, or of a low context and page, which may be somebody's.
    fn record(&mut self) -> [u8; 16] {
        let mask = if self.chance.below(2) == 0 {
            u64::MAX
        } else {
            0x0000_ffff_ffff_ffff >> self.chance.below(32)
        };
        let (low, high) = (self.chance.next() & mask, self.chance.next() & mask);
        let mut record = [0; 16];
        record[..8].copy_from_slice(&low.to_le_bytes());
        record[8..].copy_from_slice(&high.to_le_bytes());
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lying(one_in: u32, seed: u32) -> Lies {
        let mut lies = Lies::new();
        lies.liar().lie(one_in, seed);
        assert!(lies.are_due());
        lies.begin();
        lies
    }

    #[test]
    fn a_card_tells_the_truth_unless_it_is_to_lie_and_has_begun() {
        let mut lies = Lies::new();
        assert!(!lies.are_due());
        assert!((0..100).all(|word| lies.word(word) == word));
        lies.liar().lie(1, 7);
        assert_eq!(lies.word(5), 5);
        assert_eq!(lies.told(), 0);
        lies.begin();
        assert!((0..100).filter(|word| lies.word(*word) != *word).count() > 80);
        assert_eq!(lies.told(), 100);
        lies.liar().lie(0, 0);
        assert!((0..100).all(|word| lies.word(word) == word));
        lies.begins_anew();
        assert!(!lies.have_begun());
    }

    #[test]
    fn some_registers_get_stuck_until_lies_end() {
        let mut lies = lying(1, 3);
        for at in 0..100 {
            lies.register(at, 7);
        }
        assert_eq!(lies.stuck.len(), MOST_STUCK);
        let (at, lie) = lies.stuck[0];
        assert!((0..100).all(|truth| lies.register(at, truth) == lie));
        lies.liar().lie(0, 0);
        assert_eq!(lies.register(at, 7), 7);
    }

    #[test]
    fn lies_repeat_by_their_seed() {
        let said = |seed| {
            let mut bytes = [0x5a; 64];
            let mut lies = lying(3, seed);
            lies.memory(&mut bytes);
            (bytes, lies.record())
        };
        assert_eq!(said(1), said(1));
        assert_ne!(said(1), said(2));
    }

    #[test]
    fn only_what_the_card_is_to_use_is_spoiled() {
        let mut lies = Lies::new();
        let control = regs::PAGE_QUEUE_PQCSR;
        lies.hears(regs::PAGE_QUEUE_PQB, 0x1234_5407);
        lies.hears(regs::PAGE_QUEUE_PQB + 4, 0x20_0000);
        assert!(!lies.pages.used);
        lies.hears(control, regs::PAGE_QUEUE_PQCSR_PQEN_MASK);
        assert!(lies.pages.used);
        assert_eq!(lies.pages.where_is, 0x20_0000_1234_5407);
        lies.hears(control, 0);
        assert!(!lies.pages.used);
    }
}
