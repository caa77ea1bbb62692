//! How far ahead of itself a product of few rows asks for its weight: a matter of the processor, not of its instructions.

/// Bytes, by the maker as CPUID names it. Others are not here because they ask better by themselves (docs/performance.md).
#[cfg(target_arch = "x86_64")]
const MAKERS: [(&str, usize); 1] = [("GenuineIntel", 8 << 10)];

/// Bytes between what is read and what is asked for; 0: nothing is.
#[cfg(target_arch = "x86_64")]
pub(crate) fn far() -> usize {
    static FAR: std::sync::LazyLock<usize> = std::sync::LazyLock::new(|| {
        let leaf = std::arch::x86_64::__cpuid(0);
        let name = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes);
        MAKERS.iter().find(|(maker, _)| maker.as_bytes() == name.as_flattened()).map_or(0, |(_, bytes)| *bytes)
    });
    *FAR
}

/// Elsewhere nothing was measured.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn far() -> usize {
    0
}
