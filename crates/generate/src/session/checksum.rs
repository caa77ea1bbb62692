//! The checksum of session files.

/// FNV-1a over words of 8 bytes, little-endian, the last one filled up with zeros, with the number of bytes as one more
/// word. After each product the high bits are mixed into the low ones. Each step is reversible, so a change within one
/// word always changes the result.
///
/// It finds damage. It is no signature: anyone can write a file with a valid checksum.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| {
        let hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        hash ^ hash >> 32
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    step(step(hash, u64::from_le_bytes(last)), bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flipped_bit_and_each_other_length_is_seen() {
        for len in 0..40 {
            let mut bytes: Vec<u8> = (0..len).map(|i| (i * 37) as u8).collect();
            let sum = checksum(&bytes);
            for bit in 0..8 * len {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(checksum(&bytes), sum, "bit {bit} of {len} bytes");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            assert_ne!(checksum(&[&bytes[..], &[0]].concat()), sum, "{len} bytes");
        }
    }
}
