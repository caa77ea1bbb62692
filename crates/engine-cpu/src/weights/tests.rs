use super::*;
use crate::panel::unpack;
use inkstone_compute::Numerics;
use inkstone_tensor::{DType, NoProgress, SourceError, Type, WeightInfo};

/// Weights of made-up bytes; one of them can't be read beyond some byte.
struct Made {
    weights: Vec<(WeightSlot, Arc<Vec<u8>>)>,
    broken: Option<(&'static str, u64)>,
}

/// Names, formats, layouts, rows and columns: pieces of one panel and of many, rows that fill no panel or no group, a vector.
const WEIGHTS: &[(&str, DType, Layout, usize, usize)] = &[
    ("q4", DType::Q4_K, PANEL16, 4099, 512),
    ("norm", DType::F32, Layout::FILE, 1, 100),
    ("q8", DType::Q8_0, PANEL16, 7, 32 << 10),
    ("f16", DType::F16, Layout::FILE, 300, 1111),
    ("q5", DType::Q5_0, PANEL16, 16, 64),
    ("q6", DType::Q6_K, Layout::FILE, 33, 256),
    ("bf16", DType::BF16, LINES4, 301, 1111),
    ("f32", DType::F32, LINES4, 5, 33),
];

fn slot(name: &str, dtype: DType, layout: Layout, rows: usize, cols: usize) -> WeightSlot {
    WeightSlot { name: name.into(), ty: Type::new(dtype, Dim::N(rows), cols), layout, numerics: Numerics::DEFINITION }
}

fn made() -> Made {
    let weight = |&(name, dtype, layout, rows, cols): &(&str, DType, Layout, usize, usize)| {
        let len = dtype.row_bytes(cols).unwrap() * rows;
        let bytes = (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        (slot(name, dtype, layout, rows, cols), Arc::new(bytes))
    };
    Made { weights: WEIGHTS.iter().map(weight).collect(), broken: None }
}

impl Made {
    fn slots(&self) -> Vec<WeightSlot> {
        self.weights.iter().map(|(slot, _)| slot.clone()).collect()
    }
}

impl WeightSource for Made {
    fn info(&self, name: &str) -> Option<WeightInfo> {
        let (slot, _) = self.weights.iter().find(|(s, _)| &*s.name == name)?;
        Some(WeightInfo { dtype: slot.ty.dtype, dims: vec![slot.ty.cols as u64, rows(slot) as u64] })
    }
    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        let (_, bytes) = self.weights.iter().find(|(s, _)| &*s.name == name).unwrap();
        Ok(WeightBytes { data: bytes.clone(), offset: 0, len: bytes.len() })
    }
    fn read(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        assert!(into.len() <= PIECE || into.len() == (7 * 34) << 10, "{} bytes of {name} at once", into.len());
        if self.broken.is_some_and(|(tensor, from)| tensor == name && offset >= from) {
            return Err(SourceError { tensor: name.to_owned(), reason: format!("nothing at {offset}") });
        }
        let (_, bytes) = self.weights.iter().find(|(s, _)| &*s.name == name).unwrap();
        into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
        Ok(())
    }
}

fn load(made: &Made, slots: &[WeightSlot], how: (usize, u64, bool), progress: &dyn Progress) -> Result<Weights> {
    let (threads, budget, in_place) = how;
    Loading { budget: &Budget::new(crate::Cpu::NAME, budget), threads, in_place }.load(made, slots, progress)
}

#[test]
fn weights_lie_as_their_slots_say_however_many_threads_read_them() {
    let made = made();
    for threads in [1, 3] {
        let weights = load(&made, &made.slots(), (threads, 1 << 30, false), &NoProgress).unwrap();
        let loaded: &Loaded = weights.get("cpu").unwrap();
        let mut least = 0;
        for (id, (slot, bytes)) in made.weights.iter().enumerate() {
            let (found, layout) = loaded.get(id).unwrap();
            assert!(found.as_ptr().addr().is_multiple_of(ALIGN) && layout == slot.layout, "{}", slot.name);
            least += found.len() as u64;
            if layout == Layout::FILE {
                assert!(found == **bytes, "{}", slot.name);
                continue;
            }
            let row = slot.ty.row_bytes() as usize;
            let mut unpacked = vec![0; row];
            for (i, wanted) in bytes.chunks(row).enumerate() {
                let (lane, group) = (i % together(layout), i / together(layout) * together(layout) * row);
                let group = &found[group..][..together(layout) * row];
                if layout == PANEL16 {
                    unpack(slot.ty.dtype, group, lane, &mut unpacked);
                } else {
                    unpacked
                        .iter_mut()
                        .enumerate()
                        .for_each(|(at, byte)| *byte = group[lines::place(row, lane, at)][0]);
                }
                assert!(unpacked == wanted, "row {i} of {}", slot.name);
            }
        }
        assert!(weights.bytes >= least && weights.bytes < least + 64 * WEIGHTS.len() as u64);
    }
}

#[test]
fn weights_in_place_are_not_copied() {
    let made = made();
    let mut slots = made.slots();
    slots.iter_mut().for_each(|s| s.layout = Layout::FILE);
    let weights = load(&made, &slots, (1, 0, true), &NoProgress).unwrap();
    let loaded: &Loaded = weights.get("cpu").unwrap();
    for (id, (_, bytes)) in made.weights.iter().enumerate() {
        assert_eq!(loaded.get(id).unwrap().0.as_ptr(), bytes.as_ptr());
    }
    assert_eq!(weights.bytes, 0);
}

/// Counts, and wants to end at some byte.
struct Until(u64, AtomicU64, AtomicU64);

impl Progress for Until {
    fn update(&self, done: u64, total: u64) {
        self.1.fetch_max(done, Ordering::Relaxed);
        self.2.store(total, Ordering::Relaxed);
    }
    fn cancelled(&self) -> bool {
        self.1.load(Ordering::Relaxed) >= self.0
    }
}

#[test]
fn progress_is_told_and_loading_can_end() {
    let made = made();
    let bytes: u64 = made.weights.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let all = Until(u64::MAX, AtomicU64::new(0), AtomicU64::new(0));
    load(&made, &made.slots(), (2, 1 << 30, false), &all).unwrap();
    assert_eq!((all.1.into_inner(), all.2.into_inner()), (bytes, bytes));
    let half = Until(bytes / 2, AtomicU64::new(0), AtomicU64::new(0));
    let error = load(&made, &made.slots(), (2, 1 << 30, false), &half).err();
    assert!(matches!(error, Some(Error::Cancelled)) && half.1.into_inner() < bytes);
}

#[test]
fn what_can_not_be_loaded_is_named() {
    let whole = made();
    let message = |made: &Made, slots: &[WeightSlot], budget| {
        load(made, slots, (2, budget, false), &NoProgress).err().unwrap().to_string()
    };
    let error = message(&whole, &whole.slots(), 1 << 20);
    assert!(error.starts_with("the weights: ") && error.ends_with("and 1048576 of 1048576 are free on cpu"), "{error}");
    let broken = Made { broken: Some(("q4", 300_000)), ..made() };
    let error = message(&broken, &broken.slots(), 1 << 30);
    assert!(error.starts_with("tensor q4: nothing at "), "{error}");
    let cases = [
        (slot("gone", DType::Q4_0, PANEL16, 1, 32), "tensor gone: not in the source"),
        (slot("q4", DType::Q4_K, PANEL16, 4098, 512), "tensor q4 is q4_k[4099, 512], expected q4_k[4098, 512]"),
        (
            slot("f16", DType::F16, PANEL16, 300, 1111),
            "tensor f16 is f16[300, 1111], expected a format that layout panel16 has",
        ),
        (
            slot("q6", DType::Q6_K, LINES4, 33, 256),
            "tensor q6 is q6_k[33, 256], expected a format that layout lines4 has",
        ),
        (
            slot("q5", DType::Q5_0, Layout("spiral"), 16, 64),
            "tensor q5 is to be in layout spiral, expected layout panel16, lines4 or file",
        ),
    ];
    for (slot, wanted) in cases {
        assert_eq!(message(&whole, &[slot], 1 << 30), wanted);
    }
}
