//! What depends on the processor, not only on its set, is tested here for all processors.
#![cfg(target_arch = "x86_64")]

use super::direct;
use super::own::OwnSide;
use super::shared::Column;
use super::side::{Form, Side};
use crate::isa::{Ahead, Avx2, Body, Cache, F16x, Isa, LANES, STREAMS, Words};
use crate::kernels::formats::{ALL, Format, Head, WHOLE, tests::random, with_format};
use crate::kernels::product::Activations;
use crate::panel::{ROWS, pack};
use inkstone_tensor::{DType, Dim, Type};
use std::marker::PhantomData;

/// Groups of a row.
const K: usize = 24;

struct Panels<'a, I, F> {
    isa: I,
    panels: &'a [u8],
    count: usize,
    x: Side<'a>,
    sums: &'a mut [F16x],
    format: PhantomData<F>,
}

impl<I: Words, F: Format> Body for Panels<'_, I, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut heads = [Head::none(self.isa); STREAMS];
        direct::panels::<I, F>(self.isa, self.panels, self.count, self.x, &mut heads, self.sums);
    }
}

/// Panels of random blocks give the same sums whether they are read side by side or one after the other.
fn agrees<I: Words, F: Format>(isa: I, dtype: DType, seed: &mut u64) {
    let encoding = if F::WHOLE { DType::Q8_B } else { DType::Q8_A };
    let row = K / F::GROUPS * F::BYTES;
    let rows: Vec<u8> = (0..STREAMS * ROWS * row).map(|_| random(seed)).collect();
    let mut panels = vec![0; rows.len()];
    for (rows, panel) in rows.chunks_exact(ROWS * row).zip(panels.chunks_exact_mut(ROWS * row)) {
        pack(dtype, rows, row, panel);
    }
    for n in [1, 2, 3] {
        let values: Vec<f32> = (0..n * K * 32).map(|_| f32::from(random(seed) as i8)).collect();
        let ty = Type::new(encoding, Dim::N(n), K * 32);
        let mut bytes = vec![0; n * ty.row_bytes() as usize];
        encoding.info().encode.unwrap()(&values, &mut bytes);
        let mut x = OwnSide::default();
        x.pack::<I>(Activations::new(ty, &bytes));
        let x = x.form(Form::of::<I, F>(true));
        let sums = |count: usize| {
            let mut sums = vec![[0.0; LANES]; n * STREAMS];
            for (panels, sums) in panels.chunks(count * ROWS * row).zip(sums.chunks_mut(n * count)) {
                // The last ones may be fewer.
                let count = sums.len() / n;
                isa.run(Panels { isa, panels, count, x, sums, format: PhantomData::<F> });
            }
            // All NaN are one: which one a sum of them gives is not defined.
            let bits = |sum: &f32| if sum.is_nan() { f32::NAN.to_bits() } else { sum.to_bits() };
            sums.as_flattened().iter().map(bits).collect::<Vec<_>>()
        };
        let alone = sums(1);
        assert!(alone.iter().any(|sum| f32::from_bits(*sum).is_finite()), "{dtype}");
        // What does not go side by side takes one panel.
        let most = if direct::is_side_by_side::<I, F>(n) { STREAMS } else { 1 };
        for count in 1..=most {
            assert_eq!(sums(count), alone, "{dtype}: {n} rows, {count} panels");
        }
    }
}

#[test]
fn panels_side_by_side_give_the_bits_of_one_after_the_other() {
    let Some(isa) = Avx2::detect() else {
        eprintln!("skipped: no AVX2 here");
        return;
    };
    let mut seed = 11;
    let whole = WHOLE.iter().map(|dtype| (*dtype, true));
    for (dtype, whole) in ALL.iter().map(|dtype| (*dtype, false)).chain(whole) {
        with_format!(dtype, whole, agrees::<Avx2>(isa, dtype, &mut seed));
    }
}

/// A panel asks for what comes next in it, and near its end for the beginning of the one that takes its place: three others lie
/// between them.
#[test]
fn behind_a_panel_the_next_in_its_place_is_asked_for() {
    let panels = vec![0; STREAMS * 1_000];
    let ahead = Ahead { bytes: 300, into: Cache::Once };
    let column = |at| Column { panels: &panels, count: STREAMS, length: 1_000, at, size: 250, ahead };
    assert_eq!([column(0).ahead(0), column(500).ahead(199)], [ahead; 2]);
    assert_eq!([column(500).ahead(200).bytes, column(750).ahead(249).bytes], [3_300; 2]);
    let one = Column { count: 1, length: 4_000, ..column(3_750) };
    assert_eq!(one.ahead(0), ahead);
}
