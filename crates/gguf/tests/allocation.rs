//! Counts that a file claims must not become memory. A test binary of its own, because it counts what is allocated.
#![allow(unsafe_code)]

mod common;

use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has asked for.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator as it is; the counter is a plain thread-local without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller's promise; the pointer came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count(bytes: usize) {
    ASKED.with(|asked| asked.set(asked.get().saturating_add(bytes)));
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The message of a refusal, which must not ask for a megabyte.
#[track_caller]
fn refused_cheaply(raw: Raw) -> String {
    let before = ASKED.with(Cell::get);
    let message = raw.refused();
    let asked = ASKED.with(Cell::get) - before;
    assert!(asked < 1_000_000, "{asked} bytes asked for: {message}");
    message
}

#[test]
fn the_counter_counts() {
    let before = ASKED.with(Cell::get);
    drop(vec![1u8; 1_000_000]);
    assert!(ASKED.with(Cell::get) - before >= 1_000_000);
}

#[test]
fn a04_huge_counts_are_refused_before_allocating() {
    for count in [u64::MAX, 1 << 63, 1 << 32, 1] {
        let message = refused_cheaply(Raw::new(count, 0));
        let needed = 24 + 25 * u128::from(count);
        let end = "test.gguf: ends at byte 24, but a list of";
        assert_eq!(message, format!("{end} {count} tensors at byte 24 needs it to go on to byte {needed}"));
        let message = refused_cheaply(Raw::new(0, count));
        let needed = 24 + 14 * u128::from(count);
        assert_eq!(message, format!("{end} {count} keys at byte 24 needs it to go on to byte {needed}"));
    }
    // One more than the bytes that are left could hold.
    refused_cheaply(Raw::new(5, 0).bytes(&[0; 4 * 25 + 24]));
    refused_cheaply(Raw::new(0, 5).bytes(&[0; 4 * 14 + 13]));
}

#[test]
fn a05_huge_strings_are_refused_before_allocating() {
    for len in [u64::MAX, 1 << 63, 1 << 40, 1 << 30] {
        refused_cheaply(Raw::new(0, 1).u64(len).bytes(&[b'k'; 100]));
        refused_cheaply(Raw::new(0, 1).key("k", STRING).u64(len).bytes(&[b'v'; 100]));
        refused_cheaply(Raw::new(1, 0).u64(len).bytes(&[b't'; 100]));
        refused_cheaply(Raw::new(0, 1).key("k", ARRAY).u32(STRING).u64(2).u64(len).bytes(&[b'v'; 100]));
    }
}

#[test]
fn a06_huge_arrays_are_refused_before_allocating() {
    let array = |item_type, len: u64| Raw::new(0, 1).key("k", ARRAY).u32(item_type).u64(len).bytes(&[0; 51]);
    let cases = [
        (U64, 1 << 61, 8),          // the product wraps to 0
        (U64, (1 << 61) + 1, 8),    // and to 8
        (STRING, 1_000_000_000, 8), // of no bytes each, in a file of 100 bytes
        (ARRAY, 1_000_000_000, 12),
        (BOOL, u64::MAX, 1),
        (U32, 13, 4), // one more than there is room for
    ];
    for (item_type, len, item_bytes) in cases {
        let message = refused_cheaply(array(item_type, len));
        let needed = 49 + u128::from(len) * item_bytes;
        assert!(message.contains("ends at byte 100, but the value of key 0 \"k\", an array of"), "{message}");
        assert!(message.ends_with(&format!("needs it to go on to byte {needed}")), "{message}");
    }
}

#[test]
fn a11_huge_dimension_counts_are_refused_before_allocating() {
    refused_cheaply(Raw::new(1, 0).string("t").u32(u32::MAX).bytes(&[0; 100]));
}
