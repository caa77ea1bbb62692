//! The numbers of tokens in the tests.

use crate::{Error, Result};

/// The shortest context in which all tests fit.
const LEAST_CONTEXT: usize = 32;

/// The numbers of tokens in the tests, which follow from the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sizes {
    /// A long prompt: three quarters of the context.
    pub long: usize,
    /// The prompt whose speed is measured: half of the context, at most 512.
    pub prompt: usize,
    /// A short prompt before a text: a quarter of the context, at most 16.
    pub short: usize,
    /// A text: an eighth of the context, at most 64.
    pub text: usize,
}

impl Sizes {
    /// The sizes for this context.
    ///
    /// # Errors
    /// It is too short.
    pub(super) fn of(context: usize) -> Result<Sizes> {
        if context < LEAST_CONTEXT {
            let allowed = format!("at least {LEAST_CONTEXT} for the tests of the scheduler");
            return Err(Error::Option { option: "ctx", value: context.to_string(), allowed });
        }
        Ok(Sizes {
            long: context - context / 4,
            prompt: (context / 2).min(512),
            short: (context / 4).min(16),
            text: (context / 8).min(64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_fits_in_the_context() {
        for context in [32, 33, 47, 64, 255, 2048, 131_072] {
            let Sizes { long, prompt, short, text } = Sizes::of(context).unwrap();
            assert!(long + text <= context && short + text <= context && prompt < context, "{context}");
            // A text begins and is measured.
            assert!(text >= 4 && short >= 8, "{context}");
        }
        let wanted = Sizes { long: 1536, prompt: 512, short: 16, text: 64 };
        assert_eq!(Sizes::of(2048).unwrap(), wanted);
        let error = Sizes::of(31).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("at least 32"), "{error}");
    }
}
