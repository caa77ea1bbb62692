//! How far ahead of itself a product of few rows asks for its weight: a matter of the processor, not of its instructions.

/// By the maker as CPUID names it, and by whether there is AVX-512: bytes for blocks of one group, and for others. Who is not
/// here asks better by itself (docs/performance.md).
#[cfg(target_arch = "x86_64")]
const MAKERS: [(&str, bool, [usize; 2]); 3] = [
    ("GenuineIntel", true, [8 << 10, 8 << 10]),
    ("GenuineIntel", false, [8 << 10, 8 << 10]),
    ("AuthenticAMD", false, [2 << 10, 4 << 10]),
];

/// Bytes between what is read and what is asked for, for blocks of so many groups; 0: nothing is.
#[cfg(target_arch = "x86_64")]
pub(crate) fn far(groups: usize) -> usize {
    static FAR: std::sync::LazyLock<[usize; 2]> = std::sync::LazyLock::new(|| {
        let leaf = std::arch::x86_64::__cpuid(0);
        let name = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes);
        let wide = std::arch::is_x86_feature_detected!("avx512f");
        let is_here = |maker: &str, has: bool| maker.as_bytes() == name.as_flattened() && has == wide;
        MAKERS.iter().find(|(maker, has, _)| is_here(maker, *has)).map_or([0; 2], |(_, _, bytes)| *bytes)
    });
    FAR[usize::from(groups > 1)]
}

/// Elsewhere nothing was measured.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn far(_groups: usize) -> usize {
    0
}
