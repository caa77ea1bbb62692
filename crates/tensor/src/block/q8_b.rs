//! Q8_B: eight groups of 32 values as in Q8_A, one after the other, all with the same scale, so that sums of products over all of
//! them are sums of integers. Encoded as one group of 256 would be; decoded as Q8_A is.

use super::encode_blocks;
use super::q8_a::{BYTES, VALUES, group, scale};

const GROUPS: usize = 8;

pub(crate) fn encode(values: &[f32], bytes: &mut [u8]) {
    encode_blocks(values, bytes, |v: &[f32; GROUPS * VALUES], b: &mut [u8; GROUPS * BYTES]| {
        let scale = scale(v);
        for (v, b) in v.as_chunks().0.iter().zip(b.as_chunks_mut().0) {
            group(v, scale, b);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::q8_a::decode;
    use super::*;

    #[test]
    fn all_groups_have_the_scale_of_the_largest_value() {
        let values: [f32; 256] = std::array::from_fn(|i| if i == 200 { -254.0 } else { i as f32 / 2.0 });
        let mut bytes = [0; 320];
        encode(&values, &mut bytes);
        for (g, group) in bytes.as_chunks::<BYTES>().0.iter().enumerate() {
            assert_eq!(group[32..36], 2f32.to_le_bytes());
            let q = group[..VALUES].iter().map(|b| i32::from(*b as i8));
            assert_eq!(q.sum::<i32>().to_le_bytes(), group[36..], "group {g}");
        }
        let mut decoded = [0.0; 256];
        decode(&bytes, &mut decoded);
        // 1.5 / 2 is 0.75, which is nearest to 1; 9 / 2 / 2 to 2.
        assert_eq!((decoded[3], decoded[9], decoded[200], decoded[255]), (2.0, 4.0, -254.0, 128.0));
    }

    #[test]
    fn what_is_no_number_shows_in_all_groups() {
        let mut values = [1.0; 256];
        values[77] = f32::INFINITY;
        let mut bytes = [1; 320];
        encode(&values, &mut bytes);
        for group in bytes.as_chunks::<BYTES>().0 {
            let [q @ .., a, b, c, d, _, _, _, _] = group;
            assert!(f32::from_le_bytes([*a, *b, *c, *d]).is_nan() && q.iter().all(|q| *q == 0));
        }
    }
}
