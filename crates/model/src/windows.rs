//! Sliding windows: which layers have one, and of which size.

use crate::Error;
use crate::config::MANY;
use crate::fields::Fields;
use inkstone_gguf::Value;

const SIZE: &str = "attention.sliding_window";
const PATTERN: &str = "attention.sliding_window_pattern";

/// The size of the window of each layer, `None` for layers that see all earlier positions. The pattern is a number p, by
/// which each p-th layer has no window, or a list of bools, which are true for layers with a window; `p` if the file has
/// neither. In a file without a size, no layer has a window.
pub(crate) fn read(f: &Fields, layers: usize, p: usize) -> Result<Vec<Option<usize>>, Error> {
    let size = f.count(SIZE, 0..=MANY)?.filter(|size| *size > 0);
    let has: Vec<bool> = match f.metadata.get(&f.key(PATTERN)) {
        Some(Value::Array(_)) => {
            let has = f.metadata.bools(&f.key(PATTERN))?.unwrap_or_default();
            if has.len() != layers {
                let rule = format!("one bool for each of {layers} layers");
                return Err(f.bad(PATTERN, format!("an array of {}", has.len()), &rule));
            }
            has.to_vec()
        }
        _ => {
            let p = f.count(PATTERN, 1..=MANY)?.unwrap_or(p);
            (1..=layers).map(|number| !number.is_multiple_of(p)).collect()
        }
    };
    Ok(has.into_iter().map(|has| size.filter(|_| has)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_gguf::Metadata;

    /// The layers with a window of 32, out of eight.
    fn with(pattern: Option<Value>, size: impl Into<Value>) -> Result<Vec<usize>, String> {
        let mut metadata = Metadata::new();
        metadata.insert("gemma3.attention.sliding_window", size);
        if let Some(pattern) = pattern {
            metadata.insert("gemma3.attention.sliding_window_pattern", pattern);
        }
        let f = Fields { metadata: &metadata, arch: "gemma3" };
        let layers = read(&f, 8, 6).map_err(|error| error.to_string())?;
        assert!(layers.iter().flatten().all(|size| *size == 32));
        Ok(layers.iter().enumerate().filter(|(_, size)| size.is_some()).map(|(i, _)| i).collect())
    }

    #[test]
    fn a_pattern_is_a_number_or_a_list() {
        assert_eq!(with(None, 32u32), Ok(vec![0, 1, 2, 3, 4, 6, 7]));
        assert_eq!(with(None, 0u32), Ok(vec![]));
        assert_eq!(with(Some(2u32.into()), 32u64), Ok(vec![0, 2, 4, 6]));
        assert_eq!(with(Some(1u32.into()), 32u32), Ok(vec![]));
        assert_eq!(with(Some(9u64.into()), 32u32), Ok((0..8).collect()));
        let list = vec![false, true, true, false, false, false, false, true];
        assert_eq!(with(Some(list.into()), 32u32), Ok(vec![1, 2, 7]));
    }

    #[test]
    fn bad_sizes_and_patterns_are_named() {
        let error = |pattern: Option<Value>, size: Value| with(pattern, size).unwrap_err();
        let (key, size) = ("metadata key gemma3.attention.sliding_window", Value::from(32u32));
        assert_eq!(error(None, (1u64 << 32).into()), format!("{key} is 4294967296, allowed: 0 to 2147483648"));
        assert!(error(None, "32".into()).contains("gemma3.attention.sliding_window"));
        assert_eq!(error(Some(0u32.into()), size.clone()), format!("{key}_pattern is 0, allowed: 1 to 2147483648"));
        let wrong = |n| format!("{key}_pattern is an array of {n}, allowed: one bool for each of 8 layers");
        for n in [0, 7, 9] {
            assert_eq!(error(Some(vec![true; n].into()), size.clone()), wrong(n));
        }
        let numbers = error(Some(vec![1u32; 8].into()), size.clone());
        assert!(numbers.contains("gemma3.attention.sliding_window_pattern") && numbers.contains("bool"), "{numbers}");
        // Also in a file without windows.
        assert!(error(Some(0u32.into()), 0u32.into()).contains("pattern is 0"));
    }
}
