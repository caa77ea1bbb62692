#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx2, Avx512, Isa};
use crate::isa::{F16x, LANES, Portable};
use crate::math::{Each, Function};
use inkstone_tensor::math as double;

impl Function {
    fn definition(self, x: f32) -> f64 {
        let x = f64::from(x);
        match self {
            Function::Exp => double::exp(x),
            Function::Tanh => double::tanh(x),
            Function::Sin => double::sin(x),
            Function::Cos => double::cos(x),
            Function::Pow(y) => double::pow(x, f64::from(y)),
        }
    }
}

/// The results of every set that is here, which are the same.
fn on_all(f: Function, x: &F16x) -> F16x {
    let bits = |y: &F16x| y.map(|y| if y.is_nan() { f32::NAN.to_bits() } else { y.to_bits() });
    let mut found: Vec<F16x> = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(isa) = Avx512::detect() {
            found.push(*x);
            isa.run(Each(isa, f, found.last_mut().unwrap()));
        }
        if let Some(isa) = Avx2::detect() {
            found.push(*x);
            isa.run(Each(isa, f, found.last_mut().unwrap()));
        }
    }
    // Without an instruction for fused multiply-adds it is slow, so that it takes part now and then.
    if found.is_empty() || x[0].to_bits().is_multiple_of(64) {
        found.push(*x);
        Portable.run(Each(Portable, f, found.last_mut().unwrap()));
    }
    found[1..].iter().for_each(|other| assert_eq!(bits(&found[0]), bits(other), "{f:?} of {x:?}"));
    found[0]
}

/// The largest error in units of the last place of the result, over bit patterns from `first` to `last` with both signs.
fn worst(f: Function, [first, last]: [f32; 2], signs: &[f32]) -> f64 {
    let (first, last) = (first.to_bits(), last.to_bits());
    let step = (last - first) / (1 << 19) + 1;
    let mut worst = 0f64;
    let mut at = first;
    while at <= last {
        for sign in signs {
            let x = std::array::from_fn(|i| f32::from_bits(last.min(at + i as u32 * step)) * sign);
            for (x, y) in x.into_iter().zip(on_all(f, &x)) {
                worst = worst.max(error(f, x, y));
            }
        }
        at += LANES as u32 * step;
    }
    worst
}

fn error(f: Function, x: f32, found: f32) -> f64 {
    let wanted = f.definition(x);
    let nearest = wanted as f32;
    if found == nearest || found.is_nan() && nearest.is_nan() {
        return 0.0;
    }
    let size = nearest.abs().min(f32::MAX);
    let ulp = f64::from(f32::from_bits(size.to_bits() + 1).min(f32::MAX)) - f64::from(size);
    let ulp = if ulp == 0.0 { f64::from(f32::MAX) * 2f64.powi(-24) } else { ulp };
    (f64::from(found) - wanted).abs() / ulp
}

#[test]
fn errors_are_within_their_bounds_over_the_range() {
    use Function::*;
    let both = [1.0, -1.0];
    let cases: &[(Function, [f32; 2], &[f32], f64)] = &[
        (Exp, [0.0, 89.0], &[1.0], 1.0),
        (Exp, [0.0, 87.0], &[-1.0], 1.0),
        (Tanh, [0.0, f32::MAX], &both, 2.5),
        (Sin, [0.0, f32::MAX], &both, 1.5),
        (Cos, [0.0, f32::MAX], &both, 1.5),
        (Sin, [0.5, 1_048_576.0], &both, 1.5),
        (Cos, [0.5, 1_048_576.0], &both, 1.5),
        (Pow(0.5), [0.0, f32::MAX], &[1.0], 1.0),
        (Pow(-0.75), [0.0, f32::MAX], &[1.0], 1.0),
        (Pow(3.7), [0.0, f32::MAX], &[1.0], 1.0),
        (Pow(-60.5), [0.1, 10.0], &[1.0], 1.0),
        (Pow(1e6), [0.999, 1.001], &[1.0], 1.0),
    ];
    for (f, range, signs, bound) in cases {
        let worst = worst(*f, *range, signs);
        println!("{f:?} over {range:?}: {worst:.3} ulp");
        assert!(worst < *bound, "{f:?} over {range:?}: {worst} ulp");
    }
}

#[test]
fn special_cases_are_those_of_the_definitions() {
    use Function::*;
    let special =
        [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, -1e-40, 3e38, -3e38, 2.0, -2.0];
    let x: F16x = std::array::from_fn(|i| special[i % special.len()]);
    for f in [Exp, Tanh, Sin, Cos, Pow(0.0), Pow(3.0), Pow(-3.0), Pow(0.5), Pow(f32::INFINITY), Pow(f32::NAN)] {
        for (x, y) in x.into_iter().zip(on_all(f, &x)) {
            let wanted = f.definition(x) as f32;
            let same =
                y == wanted && y.is_sign_negative() == wanted.is_sign_negative() || y.is_nan() && wanted.is_nan();
            // 3.9e-39, say, is 0.
            let flushed = f == Exp && y == 0.0 && x < -87.0;
            let near = f != Exp && error(f, x, y) < 1.5 && y.is_finite() && y != 0.0;
            assert!(same || flushed || near, "{f:?} of {x}: {y}, not {wanted}");
        }
    }
}
