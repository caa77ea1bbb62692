//! Large memory in huge pages, where the system gives them: the arena of the weights, and caches.

pub(crate) use platform::Pages;

/// The size of a huge page in bytes. Smaller allocations do not use huge pages.
pub(crate) const HUGE: usize = 2 << 20;

/// Linux: mapped memory that begins at a huge page, and the wish for huge pages before it is touched. A system that has
/// none takes small ones.
#[cfg(all(target_os = "linux", not(inkstone_portable)))]
mod platform {
    use super::HUGE;
    use memmap2::{Advice, MmapMut};

    /// Zeroed memory, committed when it is touched.
    pub(crate) struct Pages {
        map: MmapMut,
        /// Where the first huge page begins.
        start: usize,
        bytes: usize,
    }

    impl Pages {
        /// `None` if there is no memory.
        pub(crate) fn new(bytes: usize) -> Option<Pages> {
            let map = MmapMut::map_anon(bytes.checked_add(HUGE)?).ok()?;
            // The system refuses this if it has no huge pages; small pages also work.
            let _refused = map.advise(Advice::HugePage);
            let start = map.as_ptr().align_offset(HUGE);
            (start <= HUGE).then_some(Pages { map, start, bytes })
        }

        pub(crate) fn bytes(&self) -> &[u8] {
            &self.map[self.start..][..self.bytes]
        }

        pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.map[self.start..][..self.bytes]
        }
    }
}

/// Elsewhere: plain memory.
#[cfg(any(not(target_os = "linux"), inkstone_portable))]
mod platform {
    /// Zeroed memory.
    pub(crate) struct Pages {
        chunks: Box<[u128]>,
        bytes: usize,
    }

    impl Pages {
        /// `None` if there is no memory.
        pub(crate) fn new(bytes: usize) -> Option<Pages> {
            let chunks = bytemuck::allocation::try_zeroed_slice_box(bytes.div_ceil(size_of::<u128>())).ok()?;
            Some(Pages { chunks, bytes })
        }

        pub(crate) fn bytes(&self) -> &[u8] {
            &bytemuck::cast_slice(&self.chunks)[..self.bytes]
        }

        pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
            &mut bytemuck::cast_slice_mut(&mut self.chunks)[..self.bytes]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_aligned() {
        for bytes in [1, 64, 100, (2 << 20) + 5] {
            let mut pages = Pages::new(bytes).unwrap();
            assert!(pages.bytes().iter().all(|b| *b == 0) && pages.bytes().len() == bytes);
            assert!(pages.bytes().as_ptr().addr().is_multiple_of(16));
            pages.bytes_mut()[bytes - 1] = 1;
        }
        assert!(Pages::new(usize::MAX).is_none());
    }
}
