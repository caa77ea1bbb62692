//! How far ahead of itself a product asks for its weight: a matter of the processor, not of its instructions.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Where what is asked for comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cache {
    /// Into the first cache.
    First,
    /// Into the second.
    Second,
    /// Into the first, to be read once: it does not go through the others, and pushes nothing out of them.
    Once,
}

/// The distances of prefetches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ahead {
    /// Bytes between what is read and this; 0: nothing is asked for.
    pub(crate) bytes: usize,
    pub(crate) into: Cache,
}

/// By what is read: two rows of a step at most, by blocks of one group or of several; more rows; floats in lines of
/// several rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Far {
    pub(crate) single: Ahead,
    pub(crate) blocks: Ahead,
    pub(crate) many: Ahead,
    /// The distance for floats in bytes; the caller chooses the cache level.
    pub(crate) floats: usize,
    /// Panels that one or two rows go through side by side, where the set can: [`STREAMS`] at most.
    pub(crate) streams: usize,
}

/// The largest number of panels that are read side by side.
pub(crate) const STREAMS: usize = 4;

const KB: usize = 1 << 10;

impl Far {
    /// So many bytes ahead; where they come with few rows, and with many.
    const fn new([single, blocks, many, floats]: [usize; 4], [few, all]: [Cache; 2], streams: usize) -> Far {
        const fn ahead(bytes: usize, into: Cache) -> Ahead {
            Ahead { bytes, into }
        }
        Far { single: ahead(single, few), blocks: ahead(blocks, few), many: ahead(many, all), floats, streams }
    }

    /// Where keys and values of the next positions come: with one row of a step, which reads them once as it does
    /// weights, not into caches that weights pass by.
    pub(crate) fn keys(self, rows: usize) -> Cache {
        match self.single.into {
            Cache::Once if rows == 1 => Cache::Once,
            _ => Cache::Second,
        }
    }
}

/// A processor that is not in the table asks better by itself with few rows (bench/notes/decode.md).
const OTHERS: Far = Far::new([0, 0, 4 * KB, 0], [Cache::Second; 2], 1);

/// The maker as CPUID names it, the least and the greatest family, and whether there is AVX-512, if that tells them
/// apart.
#[cfg(target_arch = "x86_64")]
type Processor = (&'static str, [u32; 2], Option<bool>, Far);

/// Family 23 is Zen 1 and Zen 2 (of which Zen 1 was measured), 25 is Zen 3 and Zen 4, 26 is Zen 5. Zen 3 reads four
/// streams a fifth faster than one; Zen 1 does not, and sums of panels side by side cost it time.
#[cfg(target_arch = "x86_64")]
const PROCESSORS: [Processor; 4] = [
    ("GenuineIntel", [0, u32::MAX], None, Far::new([8 * KB, 8 * KB, 4 * KB, 8 * KB], [Cache::Second; 2], 1)),
    ("AuthenticAMD", [0, 23], None, Far::new([2 * KB, 2 * KB, 4 * KB, 2 * KB], [Cache::Once, Cache::Second], 1)),
    ("AuthenticAMD", [24, 25], Some(false), Far::new([512, 768, 4 * KB, KB], [Cache::Once, Cache::Second], 4)),
    ("AuthenticAMD", [26, u32::MAX], None, Far::new([6 * KB, 8 * KB, 8 * KB, 4 * KB], [Cache::Once; 2], 1)),
];

/// Replaces [`Far::streams`] of this machine in tests, unless it is 0.
static STREAMS_OF_TESTS: AtomicUsize = AtomicUsize::new(0);

/// For tests: from now on one or two rows go through this many panels side by side, up to [`STREAMS`], as on processors
/// with this number in the table. 0 restores the number of this machine. No result depends on it.
#[doc(hidden)]
pub fn set_streams(streams: usize) {
    STREAMS_OF_TESTS.store(streams, Ordering::Relaxed);
}

/// The number of panels that one or two rows go through side by side, if the set supports it.
pub(crate) fn streams() -> usize {
    match STREAMS_OF_TESTS.load(Ordering::Relaxed) {
        0 => far().streams,
        streams => streams,
    }
    .min(STREAMS)
}

/// The distances for this machine.
#[inline]
pub(crate) fn far() -> Far {
    #[cfg(target_arch = "x86_64")]
    return here();
    // Elsewhere nothing was measured.
    #[cfg(not(target_arch = "x86_64"))]
    OTHERS
}

#[cfg(target_arch = "x86_64")]
fn here() -> Far {
    static HERE: std::sync::LazyLock<Far> = std::sync::LazyLock::new(|| {
        let leaf = std::arch::x86_64::__cpuid(0);
        let maker = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes);
        let wide = std::arch::is_x86_feature_detected!("avx512f");
        of(maker.as_flattened(), family(std::arch::x86_64::__cpuid(1).eax), wide)
    });
    *HERE
}

/// The family in CPUID's signature: four bits, and if these are full eight others are added.
#[cfg(target_arch = "x86_64")]
fn family(signature: u32) -> u32 {
    match signature >> 8 & 15 {
        15 => 15 + (signature >> 20 & 255),
        family => family,
    }
}

#[cfg(target_arch = "x86_64")]
fn of(maker: &[u8], family: u32, wide: bool) -> Far {
    let is_here = |&&(name, [least, most], has, _): &&Processor| {
        name.as_bytes() == maker && (least..=most).contains(&family) && has.is_none_or(|has| has == wide)
    };
    PROCESSORS.iter().find(is_here).map_or(OTHERS, |(.., far)| *far)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn families_of_a_maker_are_told_apart() {
        // Signatures of Zen 1, Zen 3, Zen 4, Zen 5, and of Sapphire Rapids.
        let (zen1, zen3, zen4, zen5, sapphire) = (0x0080_0f12, 0x00a0_0f11, 0x00a1_0f11, 0x00b0_0f21, 0x0008_06f8);
        assert_eq!([zen1, zen3, zen4, zen5, sapphire].map(family), [23, 25, 25, 26, 6]);
        let amd = |signature, wide| of(b"AuthenticAMD", family(signature), wide).blocks.bytes;
        assert_eq!([amd(zen1, false), amd(zen3, false), amd(zen4, true), amd(zen5, true)], [2 << 10, 768, 0, 8 << 10]);
        assert_eq!(of(b"GenuineIntel", family(sapphire), true).blocks.bytes, 8 << 10);
        assert_eq!(of(b"CentaurHauls", family(sapphire), true), OTHERS);
    }

    #[test]
    fn keys_of_one_row_pass_by_the_caches_that_weights_pass_by() {
        let [intel, zen5] = ["GenuineIntel", "AuthenticAMD"].map(|maker| of(maker.as_bytes(), 26, true));
        assert_eq!([zen5.keys(1), zen5.keys(2), intel.keys(1)], [Cache::Once, Cache::Second, Cache::Second]);
    }
}
