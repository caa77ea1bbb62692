//! The sections of a measurement, in the order of their worth.

/// A section.
#[derive(Debug)]
pub struct Section {
    /// The second word of the names of its figures.
    pub name: &'static str,
    pub program: Program,
    /// Its model, by its place in [`MODELS`]. A section before it makes the file.
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

/// A shape and a type of `xtask synth`.
type Model = (&'static str, &'static str);

/// The models of cards, and those of quick checks, which leave sections out that do nothing new.
pub const MODELS: [(Model, Option<Model>); 4] = [
    (("llama-3.2-1b", "q8_0"), Some(("tiny", "q8_0"))),
    (("llama-3.1-8b", "q8_0"), None),
    (("llama-3.1-8b", "q4_k_m"), Some(("tiny", "q4_k_m"))),
    (("llama-3.2-1b", "q4_k_m"), None),
];

const fn card(name: &'static str, model: Option<usize>, variants: Variants, seconds: u64) -> Section {
    Section { name, program: Program::Card, model, variants, seconds }
}

/// The section that makes the file of a model.
pub const SYNTH: &str = "synth";

const fn synth(model: usize, seconds: u64) -> Section {
    Section { name: SYNTH, program: Program::Synth, model: Some(model), variants: Variants::None, seconds }
}

const fn speed(model: usize, seconds: u64) -> Section {
    card("models", Some(model), Variants::All, seconds)
}

pub static SECTIONS: &[Section] = &[
    card("limits", None, Variants::None, 20),
    card("ceiling", None, Variants::None, 30),
    synth(0, 20),
    speed(0, 45),
    card("bits", Some(0), Variants::All, 40),
    card("host", Some(0), Variants::All, 30),
    synth(1, 80),
    speed(1, 80),
    card("kernels", None, Variants::First, 140),
    synth(2, 40),
    speed(2, 60),
    synth(3, 20),
    speed(3, 45),
    card("kernels", None, Variants::Others, 140),
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

    /// The shape and the type of its model.
    pub fn model_of(&self, tiny: bool) -> Option<Model> {
        let (model, small) = MODELS[self.model?];
        if tiny { small } else { Some(model) }
    }

    /// Whether it is part of a measurement.
    pub fn is_part(&self, tiny: bool) -> bool {
        self.model.is_none() || self.model_of(tiny).is_some()
    }
}

/// The name of a model.
pub fn name((shape, file_type): Model) -> String {
    format!("{shape}-{file_type}")
}
