// SPDX-License-Identifier: Apache-2.0
//! Faults in words.

use std::fmt;

use godwit_core::layout;

/// What the fault record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FaultRecord {
    pub cause: u32,
    pub port: u32,
    pub context: u32,
    pub write: bool,
    pub id: u16,
    pub address: u64,
    /// Faults that found the record occupied, since the counters were cleared.
    pub lost: u32,
}

/// An access that translation refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Why: a code of the RISC-V IOMMU fault record, `layout::CAUSE_*`.
    pub cause: u32,
    /// Port it came from.
    pub port: u32,
    /// Kernel on that port; `None` for an external port.
    pub kernel: Option<String>,
    /// Hardware number of the port's context.
    pub context: u32,
    /// Whether it was a write.
    pub write: bool,
    /// AXI ID of the access.
    pub id: u16,
    /// Virtual address of the burst's first byte.
    pub address: u64,
    /// The live buffer of the context that is nearest to the address.
    pub nearest: Option<NearBuffer>,
    /// Why the host did not bring its page, if it was asked to.
    pub page: Option<String>,
    /// Further faults that were not recorded, since the counters were cleared.
    pub lost: u32,
}

/// The buffer nearest to a faulting address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearBuffer {
    /// Its first address.
    pub address: u64,
    /// Its length in bytes, as mapped.
    pub len: u64,
    /// Whether kernels may write it.
    pub writable: bool,
}

impl Fault {
    pub(crate) fn new(
        record: FaultRecord,
        kernel: Option<String>,
        nearest: Option<NearBuffer>,
        page: Option<String>,
    ) -> Self {
        Self {
            cause: record.cause,
            port: record.port,
            kernel,
            context: record.context,
            write: record.write,
            id: record.id,
            address: record.address,
            nearest,
            page,
            lost: record.lost,
        }
    }

    /// The cause in words.
    pub fn reason(&self) -> &'static str {
        match self.cause {
            layout::CAUSE_LOAD_ACCESS_FAULT | layout::CAUSE_STORE_ACCESS_FAULT => {
                "the page table could not be read"
            }
            layout::CAUSE_LOAD_PAGE_FAULT => "no mapping that allows reading",
            layout::CAUSE_STORE_PAGE_FAULT => "no mapping that allows writing",
            layout::CAUSE_PORT_OFF => "the port is not bound to a context",
            layout::CAUSE_CONTEXT_OFF => "the context has no page table",
            layout::CAUSE_CONTEXT_MISCONFIGURED => {
                "the context's mode is not one that the hardware has"
            }
            layout::CAUSE_BURST_CROSSES_PAGE => {
                "the burst crosses a 4 KiB boundary or is not of type INCR"
            }
            _ => "unknown cause",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kernel {
            Some(kernel) => write!(f, "kernel `{kernel}` (port {})", self.port)?,
            None => write!(f, "port {}", self.port)?,
        }
        let access = if self.write { "write to" } else { "read of" };
        write!(
            f,
            ": {access} {:#x} refused: {} (cause {})",
            self.address,
            self.reason(),
            self.cause
        )?;
        match self.nearest {
            Some(near) => write!(
                f,
                "; {}",
                Position {
                    near,
                    address: self.address
                }
            )?,
            None => write!(f, "; its context has no buffers")?,
        }
        if let Some(why) = &self.page {
            write!(f, "; the page does not come: {why}")?;
        }
        match self.lost {
            0 => Ok(()),
            lost => write!(f, "; {lost} more faults were not recorded"),
        }
    }
}

/// Where an address is, seen from a buffer.
struct Position {
    near: NearBuffer,
    address: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NearBuffer {
            address,
            len,
            writable,
        } = self.near;
        if self.address < address {
            write!(f, "{} bytes before", address - self.address)?;
        } else if self.address - address < len {
            write!(f, "at byte {} of", self.address - address)?;
        } else {
            write!(f, "{} bytes past the end of", self.address - address - len)?;
        }
        let access = if writable {
            "readable and writable"
        } else {
            "read-only"
        };
        write!(
            f,
            " the buffer of {len} bytes at {address:#x}, which is {access}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(address: u64, nearest: Option<NearBuffer>, lost: u32) -> Fault {
        let cause = layout::CAUSE_STORE_PAGE_FAULT;
        let record = FaultRecord {
            cause,
            port: 2,
            context: 1,
            write: true,
            id: 3,
            address,
            lost,
        };
        Fault::new(record, Some("split".into()), nearest, None)
    }

    #[test]
    fn a_fault_says_where_it_is() {
        let near = Some(NearBuffer {
            address: 0x10000,
            len: 0x1000,
            writable: true,
        });
        let past = fault(0x11040, near, 0).to_string();
        assert_eq!(
            past,
            "kernel `split` (port 2): write to 0x11040 refused: no mapping that allows writing (cause 15); 64 bytes past \
             the end of the buffer of 4096 bytes at 0x10000, which is readable and writable"
        );
        let refused = Fault {
            page: Some("it is of no reservation".into()),
            ..fault(0x11040, near, 0)
        };
        assert!(
            refused
                .to_string()
                .ends_with("; the page does not come: it is of no reservation")
        );
        assert!(
            fault(0xfff0, near, 0)
                .to_string()
                .contains("16 bytes before the buffer")
        );
        assert!(
            fault(0x10008, near, 0)
                .to_string()
                .contains("at byte 8 of the buffer")
        );
        assert!(
            fault(0, None, 5)
                .to_string()
                .ends_with("its context has no buffers; 5 more faults were not recorded")
        );
    }

    #[test]
    fn every_cause_of_the_spec_has_words() {
        for cause in [
            layout::CAUSE_LOAD_ACCESS_FAULT,
            layout::CAUSE_STORE_ACCESS_FAULT,
            layout::CAUSE_LOAD_PAGE_FAULT,
            layout::CAUSE_STORE_PAGE_FAULT,
            layout::CAUSE_PORT_OFF,
            layout::CAUSE_CONTEXT_OFF,
            layout::CAUSE_CONTEXT_MISCONFIGURED,
            layout::CAUSE_BURST_CROSSES_PAGE,
        ] {
            assert_ne!(
                Fault {
                    cause,
                    ..fault(0, None, 0)
                }
                .reason(),
                "unknown cause"
            );
        }
    }
}
