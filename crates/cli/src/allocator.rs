//! The allocator of the program: the system's, with an error in one line where the standard library would print two.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// Larger requests come from code that handles a refusal itself (`try_reserve`) and can name what the memory is for.
const SMALL: usize = 64 << 10;

/// See the module.
pub(crate) struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: every call is passed on to `System` unchanged, so its guarantees hold; a refusal of a small request does not
// return.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for.
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
