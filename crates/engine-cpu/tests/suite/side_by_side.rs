//! One or two rows of a step go through several panels of a weight at once on some processors. Every number of panels gives the
//! same bits; the test covers all numbers on any processor.

use crate::equal_bits::{ENCODINGS, formats, random};
use crate::products::{self, Way, Weight};
use inkstone_engine_cpu::{PANEL16, Set, set_streams};
use std::sync::Arc;

const K: usize = 768;

/// Three panels and a part of a fourth.
const N: usize = 61;

#[test]
fn panels_side_by_side_give_the_bits_of_one_after_the_other() {
    let set = Set::Avx2;
    if !set.is_here() {
        println!("not on this cpu: {}", set.name());
        return;
    }
    let mut seed = 11;
    for (info, encoding) in formats() {
        let (dtype, kernel, accuracy) = ENCODINGS[encoding];
        let mut bytes = |count: usize| (0..count).map(|_| random(&mut seed)).collect::<Vec<u8>>();
        let weight =
            Weight { dtype: info.dtype, k: K, rows: N, bytes: Arc::new(bytes(info.dtype.row_bytes(K).unwrap() * N)) };
        for rows in [1, 2, 3] {
            let values: Vec<f32> = bytes(rows * K).into_iter().map(|byte| f32::from(byte as i8)).collect();
            let mut x = vec![0; dtype.row_bytes(K).unwrap() * rows];
            dtype.info().encode.unwrap()(&values, &mut x);
            let kernel = format!("{kernel}.{}", set.name());
            // All panels are of one tile.
            let way = Way { set, layout: PANEL16, kernel: &kernel, dtype, accuracy, columns: 64 };
            // All NaN are one: which payload a sum of them has is not defined.
            let bits = |y: u32| if f32::from_bits(y).is_nan() { f32::NAN.to_bits() } else { y };
            let product = |streams: usize| {
                set_streams(streams);
                let y = products::product(&way, &weight, &x, rows).unwrap();
                y.into_iter().map(bits).collect::<Vec<_>>()
            };
            let alone = product(1);
            assert!(alone.iter().any(|y| f32::from_bits(*y).is_finite()), "{}", info.name);
            for streams in 2..=4 {
                assert!(product(streams) == alone, "{} times {dtype}: {rows} rows, {streams} panels", info.name);
            }
        }
    }
}
