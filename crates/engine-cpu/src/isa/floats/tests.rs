use super::*;
use crate::isa::Portable;
#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx2, Avx512, Body};

/// The results of all operations on these lanes, as bits; all NaN are equal.
#[inline(always)]
fn all<I: Floats>(isa: I, [a, b, c]: [F16x; 3]) -> Vec<u64> {
    let (x, y, z) = (isa.floats(&a), isa.floats(&b), isa.floats(&c));
    let integers = isa.floats(&std::array::from_fn(|i| i as f32 * 16.0 - 126.0));
    let positive = isa.floats(&a.map(|a| if a.is_normal() { a.abs() } else { 1.0 }));
    let bytes: [u8; 64] = bytemuck::cast(a);
    let half = bytes.first_chunk::<32>().unwrap();
    let [exponent, mantissa] = isa.parts(positive);
    let (p, q, r) = (isa.widen(x), isa.widen(y), isa.widen(z));
    let third = isa.doubles(&std::array::from_fn(|i| f64::from(a[i]) / 3.0));
    let narrow = |d| isa.narrow(d);
    let (mut singles, mut halves, mut upper_halves) = (z, z, z);
    for i in 0..I::PARTS {
        let one = isa.singles_part(&bytes, i);
        singles = isa.fma_part(one, one, singles, i);
        halves = isa.fma_part(one, isa.halves_part(half, i), halves, i);
        upper_halves = isa.fma_part(one, isa.upper_halves_part(half, i), upper_halves, i);
    }
    let found = [
        isa.splat_float(a[3]),
        singles,
        halves,
        upper_halves,
        isa.halves(half),
        isa.upper_halves(half),
        isa.sum(x, y),
        isa.difference(x, y),
        isa.product(x, y),
        isa.quotient(x, y),
        isa.fma(x, y, z),
        isa.larger(x, y),
        isa.smaller(x, y),
        isa.below(x, y, y, z),
        isa.abs(x),
        isa.with_sign(x, y),
        isa.power_of_two(integers),
        exponent,
        mantissa,
        isa.take(&[&a[..], &b[..5]].concat(), 1, 3.5),
        narrow(isa.splat_double(f64::from(a[2]) / 3.0)),
        narrow(isa.wide_sum(p, q)),
        narrow(isa.wide_difference(p, third)),
        narrow(isa.wide_product(p, q)),
        narrow(isa.wide_quotient(p, q)),
        narrow(isa.wide_fma(p, q, r)),
    ];
    let bits = |x: f32| u64::from(if x.is_nan() { f32::NAN } else { x }.to_bits());
    let mut rows = [x; LANES];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = isa.sum(isa.floats(&[a, b, c][i % 3]), isa.splat_float(i as f32));
    }
    let mut all: Vec<u64> = found.iter().chain(&isa.transpose(rows)).flat_map(|f| isa.lanes(*f)).map(bits).collect();
    let words = |seed: usize| bytemuck::cast::<_, [[u8; 32]; 2]>([a, b][seed % 2])[seed / 2 % 2];
    let words: [[u8; 32]; LANES] = std::array::from_fn(|i| words(i).map(|byte| byte.rotate_left(i as u32 / 4)));
    all.extend(isa.low_bytes(x).map(u64::from));
    for at in [0, 16] {
        let turned = isa.transpose_words(&words.as_flattened()[at..], 32);
        all.extend(turned.as_flattened().iter().map(|byte| u64::from(*byte)));
    }
    let mut stored = [0.0; 21];
    isa.put(&mut stored, 0, y);
    isa.put(&mut stored, 1, z);
    all.extend(stored.map(bits));
    all.extend([isa.fold_sum(x), isa.fold_max(x)].map(bits));
    all.extend(isa.fold_sums([x, y, isa.sum(x, y), isa.product(x, y)]).map(bits));
    all
}

#[cfg(target_arch = "x86_64")]
struct All<I>(I, [F16x; 3]);

#[cfg(target_arch = "x86_64")]
impl<I: Floats> Body for All<I> {
    type Output = Vec<u64>;

    #[inline(always)]
    fn call(self) -> Vec<u64> {
        all(self.0, self.1)
    }
}

#[test]
fn all_sets_give_the_same_bits_for_numbers_of_every_kind() {
    let special = [0.0, -0.0, 1.0, f32::MAX, f32::MIN_POSITIVE, 1e-40, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let mut seed = 7u32;
    for round in 0..2000 {
        let mut lane = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let kind = seed >> 28;
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match kind {
                0 => special[seed as usize % special.len()],
                1..8 => f32::from_bits(seed),
                _ => (seed >> 8) as f32 / (1 << 23) as f32 - 1.0,
            }
        };
        let mut lanes = || std::array::from_fn::<f32, LANES, _>(|_| lane());
        let values = [lanes(), lanes(), lanes()];
        let wanted = all(Portable, values);
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = Avx2::detect().map(|isa| isa.run(All(isa, values)));
            let avx512 = Avx512::detect().map(|isa| isa.run(All(isa, values)));
            for (set, found) in [("avx2", avx2), ("avx512", avx512)] {
                let Some(found) = found else {
                    println!("not on this cpu: {set}");
                    continue;
                };
                let at = found.iter().zip(&wanted).position(|(a, b)| a != b);
                assert_eq!(at.map(|i| (i / LANES, i % LANES)), None, "{set}, round {round}, of {values:?}");
            }
        }
    }
}

#[test]
fn folds_have_their_order() {
    let mut lanes = [0.0; LANES];
    (lanes[0], lanes[8], lanes[1]) = (1e8, -1e8, 1.0);
    assert_eq!(Portable.fold_sum(lanes), 1.0);
    (lanes[0], lanes[8], lanes[1]) = (1e8, 1.0, -1e8);
    assert_eq!(Portable.fold_sum(lanes), 0.0);
}
