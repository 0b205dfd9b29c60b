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
use godwit_card::{ArgKind, Description, Device, Memory, OpenOptions, SimCard};
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

    /// Starts it with arguments of 32 or 64 bits.
    fn start(&self, client: &mut Client, args: &[(&str, u64)]) {
        for (name, value) in args {
            let offset = self.offset(name);
            match self.arg(name).kind {
                ArgKind::U32 => client.set_reg(offset, *value as u32),
                _ => client.set_reg64(offset, *value),
            }
        }
        client.set_reg(self.base + u64::from(layout::HLS_AP_CTRL), 1);
    }

    fn arg(&self, name: &str) -> &godwit_card::Arg {
        let args = &self.description.args;
        args.iter().find(|arg| arg.name == name).unwrap()
    }

    fn offset(&self, name: &str) -> u64 {
        self.base + self.arg(name).offset
    }

    /// Starts it and waits for its interrupt; the sum and the status.
    fn run(&self, client: &mut Client, values: u64, count: u64) -> (u64, u32) {
        let args = [
            ("values", values),
            ("count", count),
            ("dtype", 1),
            ("validity", 0),
            ("offset", 0),
        ];
        self.start(client, &args);
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

/// Where programs find the guest's memory.
const VA: u64 = 0x7f12_3456_7000;
const PAGES: u64 = 8;

fn open() -> SimCard {
    let options = OpenOptions::new().set("watchdog_cycles", 0);
    SimCard::open("sim:default", &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The guest's memory, with values in it, and their sum.
fn guest_memory(client: &mut Client, count: u64) -> (Memory, u64) {
    let guest = Memory::new(PAGES * PAGE).unwrap();
    let values: Vec<u64> = (0..count)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    guest.write(0, &bytes).unwrap();
    client
        .map(3, (0, BUS, PAGES * PAGE), Some(guest.fd()))
        .unwrap();
    let sum = values
        .iter()
        .fold(0u64, |sum, value| sum.wrapping_add(*value));
    (guest, sum)
}

/// Device memory, as the client maps it.
fn device_memory(client: &mut Client) -> Memory {
    let (_, bytes) = client.region(2).unwrap();
    Memory::map(client.fds.remove(0), 0, bytes).unwrap()
}

/// A context that has the guest's memory at `VA`; the address of its root table.
fn context(client: &mut Client) -> u64 {
    let memory = device_memory(client);
    let next = memory.size() / 2;
    let mut table = PageTable::new(Tables { memory, next }, Mode::Sv48).unwrap();
    let pa = layout::HOST_APERTURE_BASE + BUS;
    table
        .map(VA, pa, PAGES * PAGE, Perm::ReadWrite, PageSize::SIZE_4K)
        .unwrap();
    let root = u64::from(Mode::Sv48.code()) << layout::FSC_MODE_SHIFT
        | table.root() >> layout::PT_PAGE_SHIFT << layout::FSC_PPN_SHIFT;
    client.set_reg64(
        regs::CONTEXTS_FSC + CONTEXT * regs::CONTEXTS_FSC_STRIDE,
        root,
    );
    table.root()
}

#[test]
fn a_kernel_sums_memory_of_the_guest_through_page_tables_in_device_memory() {
    const COUNT: u64 = 3000;
    let card = open();
    let description = card.description().clone();
    let (mut client, server) = connect(card);
    let (guest, sum) = guest_memory(&mut client, COUNT);
    client.set_master(true);

    let magic = client.reg(regs::ID) >> regs::ID_MAGIC_SHIFT;
    assert_eq!(magic, regs::ID_MAGIC_VALUE);
    assert_eq!(client.reg(regs::SPEC_HASH), layout::SPEC_HASH);
    context(&mut client);

    let kernel = Kernel::new(&mut client, &description, "array_sum");
    assert_eq!(kernel.run(&mut client, VA, COUNT), (sum, 0));
    // What the guest stores is seen by the next launch.
    guest.write_u64(0, 1).unwrap();
    assert_eq!(kernel.run(&mut client, VA, COUNT), (sum + 1, 0));

    // Beyond what is mapped: the kernel ends with a read error, and the MMU says so.
    client.set_reg(regs::IRQ_ENABLE, regs::IRQ_ENABLE_FAULT_MASK);
    let fault = client.vector(layout::PCI_VECTOR_MMU);
    assert_eq!(kernel.run(&mut client, VA + 8 * PAGE, 8).1, 1);
    assert_eq!(wait(&fault), 1);
    assert_ne!(client.reg(regs::FAULT) & regs::FAULT_VALID_MASK, 0);
    drop(client);
    let served = server.end().unwrap();
    assert_eq!((served.errors, served.bus_errors), (0, 0));
    assert_eq!(served.interrupts, 4);
}

#[test]
fn a_reset_in_the_middle_of_a_copy_ends_it_and_the_card_works_afterwards() {
    const COUNT: u64 = 2 * PAGE / 8;
    let card = open();
    let description = card.description().clone();
    let (mut client, server) = connect(card);
    let (guest, sum) = guest_memory(&mut client, COUNT);
    let device = device_memory(&mut client);
    let mut all = [
        vec![0; (PAGES * PAGE) as usize],
        vec![0; (PAGES * PAGE) as usize],
    ];
    client.set_master(true);
    let mut root = context(&mut client);
    for reset in [Client::function_level_reset, Client::reset] {
        guest.clear(4 * PAGE, 2 * PAGE).unwrap();
        let copy = Kernel::new(&mut client, &description, "memcopy");
        let (to, bytes) = (VA + 4 * PAGE, 2 * PAGE);
        copy.start(
            &mut client,
            &[
                ("src", VA),
                ("dst", to),
                ("bytes", bytes),
                ("iterations", 1_000_000),
            ],
        );
        while guest.read_u64(5 * PAGE + 8).unwrap() == 0 {
            client.reg(regs::ID);
        }
        reset(&mut client).unwrap();
        // Whatever it had under way to the guest's memory, its own memory, registers and interrupts.
        guest.clear(4 * PAGE, 2 * PAGE).unwrap();
        guest.read(0, &mut all[0]).unwrap();
        assert_eq!(device.read_u64(root).unwrap(), 0);
        assert_eq!(device.read_u64(root + 0x7f0).unwrap(), 0);
        client.set_master(true);
        let fsc = regs::CONTEXTS_FSC + CONTEXT * regs::CONTEXTS_FSC_STRIDE;
        for _ in 0..300 {
            assert_eq!(client.reg(fsc), 0);
        }
        let control = copy.base + u64::from(layout::HLS_AP_CTRL);
        // Idle, and not started.
        assert_eq!(client.reg(control) & 0b101, 0b100);
        guest.read(0, &mut all[1]).unwrap();
        assert!(all[0] == all[1]);

        root = context(&mut client);
        let kernel = Kernel::new(&mut client, &description, "array_sum");
        assert_eq!(kernel.run(&mut client, VA, COUNT), (sum, 0));
    }
    drop(client);
    let served = server.end().unwrap();
    assert_eq!((served.resets, served.errors, served.bus_errors), (2, 0, 0));
}
