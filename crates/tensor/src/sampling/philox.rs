//! Philox4x32-10, a counter-based random number generator (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as
//! easy as 1, 2, 3; SC 2011).

/// Four random words for each counter and key.
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    let (mut x, mut key) = (counter, key);
    for _ in 0..10 {
        let a = u64::from(MULTIPLIERS[0]) * u64::from(x[0]);
        let b = u64::from(MULTIPLIERS[1]) * u64::from(x[2]);
        x = [(b >> 32) as u32 ^ x[1] ^ key[0], b as u32, (a >> 32) as u32 ^ x[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::philox4x32_10;

    /// The vectors that the authors publish with their Random123 library.
    #[test]
    fn known_answers() {
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], // digits of pi
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, wanted) in cases {
            assert_eq!(philox4x32_10(counter, key), wanted, "{counter:x?} {key:x?}");
        }
    }
}
