// SPDX-License-Identifier: Apache-2.0
//! A page-table walker that follows the RISC-V privileged specification to the letter (section "Virtual Address
//! Translation Process", with Svnapot and Svade), step by step under the specification's own names.
//!
//! It shares no code with core/: tests compare the two, and a co-simulation takes it as the oracle for the hardware.

use crate::layout;
use crate::types::{Mode, Napot, PageSize};

/// Kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Needs R and A.
    Load,
    /// Needs W, A and D.
    Store,
}

/// Where an access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Translation {
    /// Physical address of the byte.
    pub pa: u64,
    /// Page that the leaf maps; of one above 1 GiB (which core/ never makes) the 1 GiB around the byte.
    pub size: PageSize,
    /// Whether the page allows stores, too.
    pub writable: bool,
}

/// A page fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageFault {
    /// Cause, as the hardware reports it.
    pub cause: u32,
    /// Level of the entry that caused it (0 holds 4 KiB leaves); the number of levels for an address that is not
    /// canonical.
    pub level: u32,
}

/// Translates one access of U-mode (MXR = 0) by a card with pages `napot`: `read` reads the entry at a physical address.
///
/// # Errors
/// [`PageFault`] exactly where the specification asks for one.
pub fn translate(
    napot: Napot,
    mut read: impl FnMut(u64) -> u64,
    mode: Mode,
    root: u64,
    va: u64,
    access: Access,
) -> Result<Translation, PageFault> {
    let levels = mode.levels();
    let cause = match access {
        Access::Load => layout::CAUSE_LOAD_PAGE_FAULT,
        Access::Store => layout::CAUSE_STORE_PAGE_FAULT,
    };
    let fault = |level| PageFault { cause, level };

    // "must have bits 63-39 all equal to bit 38, or else a page-fault exception will occur" (39, 48, 57 bits).
    let unused = 64 - mode.va_bits();
    if ((va << unused) as i64 >> unused) as u64 != va {
        return Err(fault(levels));
    }
    let vpn = |i: u32| (va >> (12 + 9 * i)) & 0x1ff;

    // 1. Let a be satp.ppn x PAGESIZE, and let i = LEVELS - 1.
    let mut a = root;
    let mut i = levels - 1;
    let pte = loop {
        // 2. Let pte be the value of the PTE at address a + va.vpn[i] x PTESIZE.
        let pte = read(a + vpn(i) * 8);
        // 3. If pte.v = 0, or if pte.r = 0 and pte.w = 1, or if any bits or encodings that are reserved for future
        //    standard use are set within pte, stop and raise a page fault.
        if pte & layout::PTE_V == 0
            || (pte & layout::PTE_R == 0 && pte & layout::PTE_W != 0)
            || pte & (layout::PTE_RESERVED_MASK | layout::PTE_PBMT_MASK) != 0
        {
            return Err(fault(i));
        }
        // 4. If pte.r = 1 or pte.x = 1, it is a leaf.
        if pte & (layout::PTE_R | layout::PTE_X) != 0 {
            break pte;
        }
        //    Otherwise it points to the next level. D, A, U and N are reserved there. i = i - 1; if i < 0, fault.
        if pte & (layout::PTE_D | layout::PTE_A | layout::PTE_U | layout::PTE_N) != 0 || i == 0 {
            return Err(fault(i));
        }
        i -= 1;
        a = (pte & layout::PTE_PPN_MASK) >> layout::PTE_PPN_SHIFT << 12;
    };

    let mut ppn = (pte & layout::PTE_PPN_MASK) >> layout::PTE_PPN_SHIFT;
    // Bits of the frame number that come from the address. Larger leaves than 1 GiB are legal, too; as in the hardware, the answer is the
    // 1 GiB of it around the address.
    let mut order = 9 * i;
    // Svnapot: legal only at level 0 and with ppn[0] = xxxx1000. With any power of two the same at every level, for one to eight bits.
    if pte & layout::PTE_N != 0 {
        let sizes = match napot {
            Napot::Svnapot => 4..=4,
            Napot::Any => 1..=8,
        };
        let of_level = ppn >> order;
        let found = sizes
            .into_iter()
            .find(|k| of_level & ((1 << k) - 1) == 1 << (k - 1));
        let Some(k) = found.filter(|_| i == 0 || napot == Napot::Any) else {
            return Err(fault(i));
        };
        ppn &= !(1 << (order + k - 1));
        order += k;
    }
    // 5. If i > 0 and pte.ppn[i-1:0] != 0, this is a misaligned superpage.
    if ppn & ((1 << order) - 1) != 0 {
        return Err(fault(i));
    }
    // 6. and 7. Is the access allowed by the u bit (U-mode) and by r, w, x?
    let needed = match access {
        Access::Load => layout::PTE_U | layout::PTE_R,
        Access::Store => layout::PTE_U | layout::PTE_W,
    };
    // 9. (Svade) If pte.a = 0, or if the access is a store and pte.d = 0, raise a page fault.
    let accessed = match access {
        Access::Load => layout::PTE_A,
        Access::Store => layout::PTE_A | layout::PTE_D,
    };
    if pte & needed != needed || pte & accessed != accessed {
        return Err(fault(i));
    }
    // 10. pa.pgoff = va.pgoff; for a superpage pa.ppn[i-1:0] = va.vpn[i-1:0]; the rest comes from pte.ppn.
    let offset = va & ((1 << (12 + order)) - 1);
    Ok(Translation {
        pa: (ppn << 12) | offset,
        size: PageSize::of_order(order)
            .map_or(PageSize::SIZE_1G, |size| size.min(PageSize::SIZE_1G)),
        writable: pte & layout::PTE_W != 0 && pte & layout::PTE_D != 0,
    })
}
