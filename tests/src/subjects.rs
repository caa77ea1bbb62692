//! Models that several checks use, with their inputs.

use crate::{assets, json, oracle};
use inkstone::kvcache::Format;
use inkstone::{Model, ModelOptions};
use serde::Deserialize;
use std::path::PathBuf;

/// A file with token ids that it was trained on, or at least has.
pub struct Subject {
    /// In messages.
    pub name: &'static str,
    /// The file of the model.
    pub file: PathBuf,
    /// At least 80.
    pub ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Case {
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Golden {
    held_out: Vec<Case>,
}

impl Subject {
    /// A tiny model of F32 of the golden data, by the name of its folder.
    pub fn arch(name: &'static str) -> Subject {
        let folder = oracle("archs").join(name);
        let Case { ids } = json(&folder.join("case.json"));
        Subject { name, file: folder.join("model.gguf"), ids }
    }

    /// The shipped model with a story.
    pub fn story_q8_0() -> Subject {
        Subject::story("story Q8_0", assets("story-5m-q8_0.gguf"))
    }

    /// The same with K-quants.
    pub fn story_q4_k_m() -> Subject {
        Subject::story("story Q4_K_M", oracle("story/story-5m-q4_k_m.gguf"))
    }

    fn story(name: &'static str, file: PathBuf) -> Subject {
        let Golden { mut held_out } = json(&oracle("story/golden.json"));
        Subject { name, file, ids: held_out.swap_remove(0).ids }
    }

    /// The model on an engine, with a cache of this format.
    ///
    /// # Panics
    /// If it does not open.
    pub fn open(&self, engine: &str, format: &str, options: &ModelOptions) -> Model {
        let format = Format::named(format).unwrap_or_else(|e| panic!("{e}"));
        let options = options.clone().engine(engine).kv_type(format);
        Model::open_with(&self.file, &options).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }
}
