// SPDX-License-Identifier: Apache-2.0
//! What a driver does, with the real RTL behind the socket. Needs the card `default`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod common;

use std::os::fd::OwnedFd;

use common::{Client, connect, wait};
use godwit::regs;
use godwit_card::{Description, Memory, OpenOptions, SimCard};
use godwit_core::{Mode, PageSize, PageTable, Perm, TableMemory, layout};

const PAGE: u64 = 4096;
/// Where the guest's memory is on the bus.
const BUS: u64 = 0x1_0000_0000;
const CONTEXT: u64 = 3;

/// Tables in device memory, through the mapping that the client was given.
struct Tables {
    memory: Memory,
    next: u64,
}

impl TableMemory for Tables {
    fn read(&self, pa: u64) -> u64 {
        self.memory.read_u64(pa).unwrap()
    }

    fn write(&mut self, pa: u64, entry: u64) {
        self.memory.write_u64(pa, entry).unwrap();
    }

    fn alloc(&mut self) -> Option<u64> {
        self.next += PAGE;
        Some(self.next - PAGE)
    }

    fn free(&mut self, _: u64) {}
}

struct Kernel {
    base: u64,
    description: godwit_card::Kernel,
    done: OwnedFd,
}

impl Kernel {
    fn new(client: &mut Client, card: &Description, name: &str) -> Self {
        let slot = card
            .kernels
            .iter()
            .position(|kernel| kernel.name == name)
            .unwrap() as u64;
        let base = u64::from(layout::REGISTER_SPACE_KERNEL_BASE)
            + slot * u64::from(layout::REGISTER_SPACE_KERNEL_STRIDE);
        let description = card.kernels[slot as usize].clone();
        let binding = u64::from(layout::PORT_MODE_TRANSLATE) << regs::PORT_BINDING_MODE_SHIFT
            | CONTEXT << regs::PORT_BINDING_CONTEXT_ID_SHIFT;
        for port in description.ports() {
            let register = regs::PORT_BINDING + u64::from(*port) * regs::PORT_STRIDE;
            client.set_reg(register, binding as u32);
        }
        let done = client.vector(layout::PCI_VECTOR_KERNEL0 + slot as u32);
        client.set_reg(base + u64::from(layout::HLS_GIE), 1);
        client.set_reg(base + u64::from(layout::HLS_IER), 1);
        Self {
            base,
            description,
            done,
        }
    }

    fn offset(&self, name: &str) -> u64 {
        let args = &self.description.args;
        self.base + args.iter().find(|arg| arg.name == name).unwrap().offset
    }

    /// Starts it and waits for its interrupt; the sum and the status.
    fn run(&self, client: &mut Client, values: u64, count: u64) -> (u64, u32) {
        client.set_reg64(self.offset("values"), values);
        client.set_reg64(self.offset("count"), count);
        client.set_reg(self.offset("dtype"), 1);
        client.set_reg64(self.offset("validity"), 0);
        client.set_reg64(self.offset("offset"), 0);
        client.set_reg(self.base + u64::from(layout::HLS_AP_CTRL), 1);
        assert_eq!(wait(&self.done), 1);
        let status = self.base + u64::from(layout::HLS_ISR);
        let up = client.reg(status);
        assert_eq!(up & 1, 1);
        if client.reg(status) & 1 != 0 {
            client.set_reg(status, 1);
        }
        let sum = self.offset("sum");
        let sum = u64::from(client.reg(sum)) | u64::from(client.reg(sum + 4)) << 32;
        (sum, client.reg(self.offset("status")))
    }
}

#[test]
fn a_kernel_sums_memory_of_the_guest_through_page_tables_in_device_memory() {
    const COUNT: u64 = 3000;
    let options = OpenOptions::new().set("watchdog_cycles", 0);
    let card = SimCard::open("sim:default", &options).unwrap_or_else(|error| panic!("{error}"));
    let description = godwit_card::Device::description(&card).clone();
    let (mut client, server) = connect(card);

    let guest = Memory::new(8 * PAGE).unwrap();
    let values: Vec<u64> = (0..COUNT)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    guest.write(0, &bytes).unwrap();
    client.set_master(true);
    client.map(3, (0, BUS, 8 * PAGE), Some(guest.fd())).unwrap();

    let magic = client.reg(regs::ID) >> regs::ID_MAGIC_SHIFT;
    assert_eq!(magic, regs::ID_MAGIC_VALUE);
    assert_eq!(client.reg(regs::SPEC_HASH), layout::SPEC_HASH);
    let (_, memory_bytes) = client.region(2).unwrap();
    let memory = Memory::map(client.fds.remove(0), 0, memory_bytes).unwrap();
    let tables = Tables {
        memory,
        next: memory_bytes / 2,
    };
    let mut table = PageTable::new(tables, Mode::Sv48).unwrap();
    let va = 0x7f12_3456_7000;
    let pa = layout::HOST_APERTURE_BASE + BUS;
    table
        .map(va, pa, 8 * PAGE, Perm::Read, PageSize::Size4K)
        .unwrap();
    let root = u64::from(Mode::Sv48.code()) << layout::FSC_MODE_SHIFT
        | table.root() >> layout::PT_PAGE_SHIFT << layout::FSC_PPN_SHIFT;
    client.set_reg64(
        regs::CONTEXTS_FSC + CONTEXT * regs::CONTEXTS_FSC_STRIDE,
        root,
    );

    let kernel = Kernel::new(&mut client, &description, "array_sum");
    let sum = values
        .iter()
        .fold(0u64, |sum, value| sum.wrapping_add(*value));
    assert_eq!(kernel.run(&mut client, va, COUNT), (sum, 0));
    // What the guest stores is seen by the next launch.
    guest.write_u64(0, 1).unwrap();
    assert_eq!(kernel.run(&mut client, va, COUNT), (sum + 1, 0));

    // Beyond what is mapped: the kernel ends with a read error, and the MMU says so.
    client.set_reg(regs::IRQ_ENABLE, regs::IRQ_ENABLE_FAULT_MASK);
    let fault = client.vector(layout::PCI_VECTOR_MMU);
    assert_eq!(kernel.run(&mut client, va + 8 * PAGE, 8).1, 1);
    assert_eq!(wait(&fault), 1);
    assert_ne!(client.reg(regs::FAULT) & regs::FAULT_VALID_MASK, 0);
    drop(client);
    let served = server.end().unwrap();
    assert_eq!((served.errors, served.bus_errors), (0, 0));
    assert_eq!(served.interrupts, 4);
}
