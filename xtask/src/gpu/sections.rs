//! The sections of a measurement, in the order of their worth.

/// A section.
#[derive(Debug)]
pub struct Section {
    /// The second word of the names of its figures.
    pub name: &'static str,
    pub program: Program,
    /// The model that it needs: a section before it makes the file.
    pub model: Option<usize>,
    pub variants: Variants,
    /// The most seconds that it may take.
    pub seconds: u64,
}

/// The program of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `card SECTION`, which prints figures.
    Card,
    /// `inkstone bench`.
    Bench,
    /// `xtask synth`, which writes the file of a model.
    Synth,
}

/// The variants of kernels that a section runs with, each in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variants {
    /// It does not depend on them.
    None,
    /// The best one.
    First,
    /// The others.
    Others,
    All,
}

/// The models: shapes and types of `xtask synth`, for cards and for a quick check.
pub const MODELS: [[(&str, &str); 2]; 4] = [
    [("llama-3.2-1b", "q8_0"), ("tiny", "q8_0")],
    [("llama-3.1-8b", "q8_0"), ("tiny", "q4_k_m")],
    [("llama-3.1-8b", "q4_k_m"), ("tiny", "q4_0")],
    [("llama-3.2-1b", "q4_k_m"), ("tiny", "f16")],
];

const fn card(name: &'static str, model: Option<usize>, variants: Variants, seconds: u64) -> Section {
    Section { name, program: Program::Card, model, variants, seconds }
}

const fn synth(model: usize, seconds: u64) -> Section {
    Section { name: "synth", program: Program::Synth, model: Some(model), variants: Variants::None, seconds }
}

const fn bench(model: usize, seconds: u64) -> Section {
    Section { name: "models", program: Program::Bench, model: Some(model), variants: Variants::All, seconds }
}

pub static SECTIONS: &[Section] = &[
    card("limits", None, Variants::None, 20),
    card("ceiling", None, Variants::None, 30),
    synth(0, 20),
    bench(0, 45),
    card("bits", Some(0), Variants::All, 40),
    card("host", Some(0), Variants::All, 30),
    synth(1, 60),
    bench(1, 80),
    card("kernels", None, Variants::First, 90),
    synth(2, 40),
    bench(2, 60),
    synth(3, 20),
    bench(3, 45),
    card("kernels", None, Variants::Others, 90),
];

/// All sections together.
pub const TOTAL_SECONDS: u64 = 520;

impl Section {
    /// The variants that it runs with; `None` where it does not depend on them.
    pub fn of<'v>(&self, variants: &'v [String]) -> Vec<Option<&'v str>> {
        let (first, others) = variants.split_at(variants.len().min(1));
        let named = |variants: &'v [String]| variants.iter().map(|name| Some(name.as_str())).collect();
        match self.variants {
            Variants::None => vec![None],
            Variants::First => named(first),
            Variants::Others => named(others),
            Variants::All => named(variants),
        }
    }

    /// The name of its model.
    pub fn model_name(&self, tiny: bool) -> Option<String> {
        let (shape, file_type) = MODELS[self.model?][usize::from(tiny)];
        Some(format!("{shape}-{file_type}"))
    }
}
