//! A row through its chain.

use super::draw::{Draw, draw};
use super::row::{Workspace, reserve};
use super::truncate::{below, total};
use super::{SampleError, StageRef, edit, nucleus, truncate};
use crate::math::exp;

/// The tokens that survive the chain, with their probabilities: higher logits first, among equals the lower id.
///
/// `history` is the ids of prompt and generated text; from `generated_from` on they are generated. Ids outside of the
/// row are passed over. With a temperature of 0 one token has everything.
pub fn survivors<'a>(
    logits: &[f32],
    history: &[u32],
    generated_from: usize,
    chain: impl IntoIterator<Item = StageRef<'a>>,
) -> Result<Vec<(u32, f64)>, SampleError> {
    let mut row = Workspace::new();
    run(&mut row, logits, history, generated_from, chain)?;
    let set = row.sorted_set();
    let (total, max) = (total(set), set.first().map_or(0.0, |c| c.z));
    let mut survivors = Vec::new();
    reserve(&mut survivors, set.len())?;
    survivors.extend(set.iter().map(|c| (c.id, exp(below(max, c.z)) / total)));
    Ok(survivors)
}

/// The token that is drawn from [`survivors`]; a function of only its arguments.
pub fn sample<'a>(
    logits: &[f32],
    history: &[u32],
    generated_from: usize,
    chain: impl IntoIterator<Item = StageRef<'a>>,
    draw: Draw,
) -> Result<u32, SampleError> {
    sample_in(&mut Workspace::new(), logits, history, generated_from, chain, draw)
}

/// [`sample`] in memory that the caller keeps.
pub fn sample_in<'a>(
    row: &mut Workspace,
    logits: &[f32],
    history: &[u32],
    generated_from: usize,
    chain: impl IntoIterator<Item = StageRef<'a>>,
    at: Draw,
) -> Result<u32, SampleError> {
    run(row, logits, history, generated_from, chain)?;
    draw(row, at).ok_or(SampleError::Empty { stage: "draw" })
}

/// Takes a row through the stages up to the draw.
fn run<'a>(
    row: &mut Workspace,
    logits: &[f32],
    history: &[u32],
    generated_from: usize,
    chain: impl IntoIterator<Item = StageRef<'a>>,
) -> Result<(), SampleError> {
    row.load(logits)?;
    let generated = history.get(generated_from..).unwrap_or(&[]);
    for stage in chain {
        if stage.is_neutral() {
            continue;
        }
        match stage {
            StageRef::Bias(list) => edit::bias(row, list),
            StageRef::Ban(ids) => edit::ban(row, ids),
            StageRef::MinTokens { tokens, ids } => {
                if generated.len() < tokens as usize {
                    edit::ban(row, ids);
                }
            }
            StageRef::Repetition { penalty, last_n } => {
                let n = last_n.map_or(history.len(), |n| history.len().min(n as usize));
                edit::repetition(row, &history[history.len() - n..], penalty)?;
            }
            StageRef::Frequency(p) => edit::occurrence(row, generated, p, 0.0)?,
            StageRef::Presence(p) => edit::occurrence(row, generated, 0.0, p)?,
            StageRef::NoRepeatNgram(n) => edit::no_repeat_ngram(row, history, n)?,
            StageRef::Temperature(0.0) => {
                row.keep_first(1);
                break;
            }
            StageRef::Temperature(t) => truncate::temperature(row, t),
            StageRef::TopK(k) => row.keep_first(k as usize),
            StageRef::TypicalP(p) => truncate::typical_p(row, p)?,
            StageRef::TopP(p) => nucleus::top_p(row, p),
            StageRef::MinP(p) => truncate::min_p(row, p),
        }
        row.require_tokens(stage.name())?;
    }
    Ok(())
}
