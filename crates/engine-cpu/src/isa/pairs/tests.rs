use super::*;
use crate::isa::Portable;

#[test]
fn the_second_product_is_added_first_each_is_rounded_and_small_numbers_are_zero() {
    let bf16 = |x: f32| (x.to_bits() >> 16) as u16;
    let pair = |a: f32, b: f32| Portable.pairs(&bytemuck::cast([[bf16(a), bf16(b)]; 16]));
    let add = |a: [f32; 2], b: [f32; 2], sum: f32| Portable.add_pairs(pair(a[0], a[1]), pair(b[0], b[1]), [sum; 16])[0];
    let large = (1 << 24) as f32;
    // 1 is lost when it is added to 2^24, unless 2^24 has cancelled before.
    assert_eq!(add([1.0, -large], [1.0, 1.0], large), 1.0);
    assert_eq!(add([-large, 1.0], [1.0, 1.0], large), 0.0);
    assert_eq!(add([1e-40, 0.0], [1e38, 0.0], 0.0), 0.0);
    assert_eq!(add([0.0; 2], [0.0; 2], 1e-40), 0.0);
    assert_eq!(add([1e-30, 0.0], [1e-9, 0.0], 0.0), 0.0);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_instruction_gives_the_bits_of_plain_rust() {
    use crate::isa::{Avx512Bf16, Body};

    struct Add([[u8; 64]; 2], f32, Avx512Bf16);

    impl Body for Add {
        type Output = [f32; 16];

        #[inline(always)]
        fn call(self) -> [f32; 16] {
            let Add([a, b], sum, isa) = self;
            let set = isa.set();
            set.lanes(isa.add_pairs(isa.pairs(&a), isa.pairs(&b), set.splat_float(sum)))
        }
    }

    let Some(isa) = Avx512Bf16::detect() else {
        println!("not on this cpu: {}", crate::isa::BF16_PAIRS);
        return;
    };
    let mut seed = 11u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    for round in 0..20_000 {
        // Of like size, so that sums round; now and then of any.
        let mut number = |bits: u32| {
            let exponent = if random().is_multiple_of(16) { random() % 256 } else { 118 + random() % 18 };
            ((random() % 2) << 31) | (exponent << 23) | ((random() % (1 << bits)) << (23 - bits))
        };
        let [a, b]: [[u16; 32]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| (number(7) >> 16) as u16));
        let (a, b): ([u8; 64], [u8; 64]) = (bytemuck::cast(a), bytemuck::cast(b));
        let sum = f32::from_bits(number(23));
        let found = isa.run(Add([a, b], sum, isa));
        let wanted = Portable.add_pairs(Portable.pairs(&a), Portable.pairs(&b), [sum; 16]);
        // All NaN are one.
        let bits = |x: f32| if x.is_nan() { f32::NAN } else { x }.to_bits();
        assert_eq!(found.map(bits), wanted.map(bits), "round {round}");
    }
}
