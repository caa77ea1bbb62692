use super::*;
use crate::isa::Portable;
use crate::panel::{ROWS, pack};

/// The next of some bytes that a seed gives.
fn random(seed: &mut u64) -> u8 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 56) as u8
}

/// Every group of random blocks, as the table of dtypes decodes it.
fn agrees<I, F: Format>(dtype: DType, seed: &mut u64) {
    let _isa: Option<I> = None;
    let info = dtype.info();
    assert_eq!((info.block, info.block_bytes), (32 * F::GROUPS, F::BYTES), "{dtype}");
    for _ in 0..20 {
        let rows: Vec<u8> = (0..ROWS * F::BYTES).map(|_| random(seed)).collect();
        let mut panel = vec![0; ROWS * F::BYTES];
        pack(dtype, &rows, F::BYTES, &mut panel);
        let mut wanted = vec![0f32; ROWS * info.block];
        info.decode.unwrap()(&rows, &mut wanted);
        let head = F::head(Portable, &panel);
        for (at, wanted) in wanted.iter().enumerate() {
            let (lane, g, i) = (at / info.block, at % info.block / 32, at % 32);
            let Scales { d, m, scale, minimum } = F::scales(Portable, &head, g);
            let (first, at) = (g / F::SHARED * F::SHARED, g % F::SHARED);
            let q = Packed { blocks: &panel, head: &head, first, at, format: PhantomData::<F> };
            let q = i32::from(q.quad(Portable, i / 4)[lane].to_le_bytes()[i % 4]);
            assert!(q >> F::BITS == 0, "{dtype}");
            let q = q - F::OFFSET as i32;
            let f64s = |x: u32| f64::from(x as i32);
            let value = f64::from(d[lane]) * f64::from(q) * f64s(scale[i / 16][lane]);
            let least = f64::from(m[lane]) * f64s(minimum[i / 16][lane]);
            let found = if F::MINIMUM { value + least } else { value };
            let bound = 1e-6 * value.abs().max(least.abs());
            let both_nan = found.is_nan() || !wanted.is_finite();
            assert!(both_nan || (found - f64::from(*wanted)).abs() <= bound, "{dtype} {g}/{i}: {found} {wanted}");
        }
    }
}

#[test]
fn groups_are_what_the_table_of_dtypes_decodes() {
    let mut seed = 7;
    for &dtype in ALL {
        assert!(crate::panel::packs(dtype), "{dtype}");
        with_format!(dtype, false, agrees::<Portable>(dtype, &mut seed));
    }
}
