//! Stages that change or remove single tokens: bias, bans, penalties.

use super::row::{Workspace, zeroed};
use super::{SampleError, TokenBias};

/// `z + b`, where -infinity (removed) wins over everything.
fn add(z: f64, b: f64) -> f64 {
    if z == f64::NEG_INFINITY || b == f64::NEG_INFINITY { f64::NEG_INFINITY } else { z + b }
}

/// Calls `f` on the logit of `token`; tokens outside the row are passed over.
fn with(logits: &mut [f64], token: u32, f: impl FnOnce(&mut f64)) {
    if let Some(z) = usize::try_from(token).ok().and_then(|i| logits.get_mut(i)) {
        f(z);
    }
}

pub(super) fn bias(row: &mut Workspace, list: &[TokenBias]) {
    let logits = row.edit();
    for b in list {
        with(logits, b.token, |z| *z = add(*z, f64::from(b.bias)));
    }
}

pub(super) fn ban(row: &mut Workspace, ids: &[u32]) {
    let logits = row.edit();
    for &id in ids {
        with(logits, id, |z| *z = f64::NEG_INFINITY);
    }
}

pub(super) fn repetition(row: &mut Workspace, window: &[u32], penalty: f64) -> Result<(), SampleError> {
    let (logits, seen) = row.edit_with_counts()?;
    for &id in window {
        let Some(seen) = seen.get_mut(id as usize) else { continue };
        if *seen == 0 {
            *seen = 1;
            with(logits, id, |z| *z = if *z > 0.0 { *z / penalty } else { *z * penalty });
        }
    }
    Ok(())
}

/// Subtracts `frequency` for each time that a token is in `generated`, and `presence` if it is.
pub(super) fn occurrence(
    row: &mut Workspace,
    generated: &[u32],
    frequency: f64,
    presence: f64,
) -> Result<(), SampleError> {
    let (logits, counts) = row.edit_with_counts()?;
    for &id in generated {
        if let Some(count) = counts.get_mut(id as usize) {
            *count = count.saturating_add(1);
        }
    }
    for &id in generated {
        let Some(count) = counts.get_mut(id as usize) else { continue };
        let times = std::mem::take(count);
        if times > 0 {
            with(logits, id, |z| *z = add(*z, -(frequency * f64::from(times) + presence)));
        }
    }
    Ok(())
}

/// Removes the tokens that would end an n-gram of `history` a second time.
///
/// Those follow the places where the last n - 1 tokens occur before. With the history read backwards, that is where a
/// prefix of n - 1 tokens begins again: the Z function gives it for all places in linear time (Gusfield 1997, 1.3).
pub(super) fn no_repeat_ngram(row: &mut Workspace, history: &[u32], n: u32) -> Result<(), SampleError> {
    let length = history.len();
    let Some(n) = usize::try_from(n).ok().filter(|n| (1..=length).contains(n)) else { return Ok(()) };
    if n == 1 {
        ban(row, history);
        return Ok(());
    }
    let mut matches = std::mem::take(&mut row.counts);
    zeroed(&mut matches, length)?;
    let back = |i: usize| history[length - 1 - i];
    let logits = row.edit();
    // back(start ..) agrees with back(0 ..) up to `end`.
    let (mut start, mut end) = (0, 0);
    for i in 1..=length - n + 1 {
        let known = if i < end { (matches[i - start] as usize).min(end - i) } else { 0 };
        let more = (known..length - i).take_while(|&k| back(k) == back(i + k)).count();
        let found = known + more;
        if i + found > end {
            (start, end) = (i, i + found);
        }
        matches[i] = u32::try_from(found).unwrap_or(u32::MAX);
        if found >= n - 1 {
            with(logits, back(i - 1), |z| *z = f64::NEG_INFINITY);
        }
    }
    row.counts = matches;
    Ok(())
}
