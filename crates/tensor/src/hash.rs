//! The hash of printed forms and names: not for tables that others fill.

/// FNV-1a of 64 bits (Fowler, Noll, Vo; RFC 9923): the same on every machine and in every version.
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    /// Vectors that the authors publish.
    #[test]
    fn known_answers() {
        let cases = [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)];
        for (text, hash) in cases {
            assert_eq!(fnv1a(text.bytes()), hash, "{text}");
        }
    }
}
