//! The allocator of the program: the system allocator, with a one-line error where the standard library would print two
//! lines.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// Larger requests come from code that handles failures itself (`try_reserve`) and can name the purpose of the memory.
const SMALL: usize = 64 << 10;

/// The allocator. See the module.
pub(crate) struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: every call is passed to `System` unchanged, so its guarantees hold. A failed small request does not return.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller makes the promises that `System` requires.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() && size < SMALL {
        crate::fault::end(b"error: out of memory\n");
    }
    pointer
}
