// SPDX-License-Identifier: Apache-2.0
//! The heap of cards behind the driver as people hold it, over a driver of the tests' own.

use godwit_core::{PageSize, layout};

use crate::objects::driver_of_tests::{FOR_EVER, HEAP_BYTES, REGIONS, open, until_running};
use crate::{
    Access, AllocOptions, Contiguity, Error, ErrorKind, HeapRefusal, MallocOptions, PagePolicy,
    Residence, Value,
};

#[test]
fn memory_of_the_heap_is_where_the_driver_has_it() {
    let (card, machine) = open(0);
    let context = card.context(None).unwrap();
    let memory = context.malloc(5000, MallocOptions::new()).unwrap();
    // SAFETY: 5,000 bytes of this test's own.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory, 5000) };
    assert!(bytes.iter().all(|byte| *byte == 0));
    bytes.fill(7);
    context.realloc(memory, 1 << 20).unwrap();
    // SAFETY: as much as there is now.
    unsafe {
        assert_eq!((*memory.add(4999), *memory.add((1 << 20) - 1)), (7, 0));
    }
    let number = |address: u64| {
        let launch = card.kernel("add").unwrap().context(&context);
        launch
            .arg("values", Value::Number(address))
            .arg("count", 2u64)
    };
    let inside = memory as u64 + 4096;
    assert_eq!(
        number(inside).run().unwrap().result("sum"),
        Some((1 << 32) | 6)
    );
    context.realloc(memory, 100).unwrap();
    let outside = number(inside).run().unwrap_err().to_string();
    assert!(outside.contains("is in no memory"), "{outside}");
    context.populate(memory, 100).unwrap();
    let more = context.populate(memory, 101).unwrap_err();
    assert_eq!(more.kind(), ErrorKind::Argument);

    let small = context.malloc(1, MallocOptions::new().small()).unwrap();
    assert!(small as u64 >= layout::HEAP_WINDOW_SMALL);
    let found = card.heap_memory().unwrap();
    let all = u64::from(REGIONS) * HEAP_BYTES;
    assert_eq!((found.bytes, found.lacks), (all, true));
    assert!(found.free < all && card.heap_free().unwrap() == found.free);
    context.release(small).unwrap();
    context.release(memory).unwrap();
    assert!(
        machine
            .heap
            .lock()
            .unwrap()
            .live
            .values()
            .all(|(of, ..)| *of != context.id())
    );
    let refused = [
        (context.release(memory), HeapRefusal::NotLive),
        (context.realloc(memory, 1), HeapRefusal::NotLive),
        (
            context.malloc(0, MallocOptions::new()).map(drop),
            HeapRefusal::SizeZero,
        ),
    ];
    for (result, why) in refused {
        let error = result.unwrap_err();
        assert!(
            matches!(error, Error::Heap { refusal, .. } if refusal == why),
            "{error}"
        );
    }
}

#[test]
fn what_a_kernel_allocated_becomes_the_programs() {
    let (card, machine) = open(0);
    let context = card.context(None).unwrap();
    let mine = context.malloc(4096, MallocOptions::new()).unwrap() as u64;
    let theirs = mine + (8 << 30);
    let live = |of| (of, 1u64 << 20, 0u32);
    let mut heap = machine.heap.lock().unwrap();
    heap.live.insert(theirs, live(context.id()));
    heap.live.insert(theirs + (8 << 30), live(context.id() + 1));
    drop(heap);
    let memory = context.adopt(theirs, 5000).unwrap();
    assert_eq!(memory as u64, theirs);
    // SAFETY: 5,000 bytes of this test's own.
    unsafe { memory.add(4999).write(7) };
    assert_eq!(machine.heap.lock().unwrap().live[&theirs].1, 5000);
    let errors = [theirs, mine, theirs + (8 << 30), theirs + (16 << 30)].map(|pointer| {
        let error = context.adopt(pointer, 64).unwrap_err();
        error.to_string()
    });
    assert!(
        errors[..2].iter().all(|error| error.contains("already")),
        "{errors:?}"
    );
    assert!(
        errors[2..]
            .iter()
            .all(|error| error.contains("that a kernel allocated at")),
        "{errors:?}"
    );
    context.realloc(memory, 1 << 20).unwrap();
    context.release(memory).unwrap();
    assert!(!machine.heap.lock().unwrap().live.contains_key(&theirs));
}

#[test]
fn each_region_of_the_driver_is_a_memory_of_the_card() {
    let (card, machine) = open(0);
    let context = card.context(None).unwrap();
    let regions = card.heap_regions().unwrap();
    let about: Vec<_> = regions
        .iter()
        .map(|each| (each.memory, each.strict))
        .collect();
    assert_eq!(about, [(0, false), (1, true), (2, false)]);
    let of = |pointer: *mut u8| machine.heap.lock().unwrap().live[&(pointer as u64)].2;
    let options = MallocOptions::new();
    assert_eq!(of(context.malloc(8, options).unwrap()), 0);
    assert_eq!(of(context.malloc(8, options.memory(1)).unwrap()), 1);
    let refused = context.malloc(2 * HEAP_BYTES, options.memory(1));
    let why = refused.unwrap_err().to_string();
    assert!(
        why.contains("free in `second`") && why.contains("is strict"),
        "{why}"
    );
    let elsewhere = context.malloc(2 * HEAP_BYTES, options.prefer_memory(1));
    assert_eq!(of(elsewhere.unwrap()), 0);
    // The host's, behind the last memory of the card.
    assert_eq!(of(context.malloc(8, options.memory(2)).unwrap()), 2);
    let none = context.malloc(8, options.memory(3)).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::Argument);
}

#[test]
fn a_heap_that_is_full_says_so_and_what_was_freed_stops_its_launches() {
    let (card, machine) = open(0);
    let context = card.context(None).unwrap();
    let memory = context
        .malloc(2 * HEAP_BYTES, MallocOptions::new())
        .unwrap();
    let full = context.populate(memory, 2 * HEAP_BYTES).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::OutOfMemory);
    assert!(!full.to_string().contains("cycles"), "{full}");
    let launch = card.kernel("add").unwrap().context(&context);
    let launch = launch.arg("values", Value::Number(memory as u64));
    let launch = launch.arg("count", FOR_EVER).start().unwrap();
    until_running(&machine);
    context.release(memory).unwrap();
    let error = launch.wait().unwrap_err();
    assert!(
        matches!(error, Error::Cancelled { why, .. } if why.contains("freed")),
        "{error}"
    );
}

#[test]
fn buffers_are_memory_of_the_heap() {
    let (card, machine) = open(0);
    let context = card.context(None).unwrap();
    let buffer = context.alloc(5000, AllocOptions::new()).unwrap();
    assert_eq!((buffer.len(), buffer.mapped_len()), (5000, 8192));
    buffer.upload(4990, b"0123456789").unwrap();
    let mut back = [0; 6];
    buffer.download(4994, &mut back).unwrap();
    assert_eq!(&back, b"456789");
    let launch = card.kernel("add").unwrap().arg("values", &buffer);
    assert_eq!(
        launch.arg("count", 4u64).run().unwrap().result("sum"),
        Some((1 << 32) | 12)
    );
    let large = PagePolicy::Only(PageSize::SIZE_64K);
    let large = context.alloc(1, AllocOptions::new().pages(large)).unwrap();
    assert_eq!(large.mapped_len(), 1 << 16);
    let full = context
        .alloc(2 * HEAP_BYTES, AllocOptions::new())
        .unwrap_err();
    assert_eq!(full.kind(), ErrorKind::OutOfMemory);
    let options = AllocOptions::new();
    for options in [
        options.contiguity(Contiguity::Required),
        options.residence(Residence::Host),
        options.access(Access::Read),
        options.pages(PagePolicy::Only(PageSize::SIZE_1G)),
    ] {
        let error = context.alloc(8, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    }
    buffer.free().unwrap();
    drop(large);
    assert!(machine.heap.lock().unwrap().live.is_empty());
    let kept = context.alloc(8, AllocOptions::new()).unwrap();
    context.close().unwrap();
    kept.free().unwrap();
}

#[test]
fn memory_of_the_heap_reads_as_zero_when_its_context_is_closed() {
    let (card, _) = open(0);
    let context = card.context(None).unwrap();
    let memory = context.malloc(4096, MallocOptions::new()).unwrap();
    // SAFETY: a page of this test's own, as long as the handle of its context.
    unsafe {
        memory.write(9);
        context.close().unwrap();
        assert_eq!(memory.read(), 0);
    }
    let closed = context.malloc(1, MallocOptions::new());
    assert!(matches!(closed, Err(Error::ContextClosed)));
}
