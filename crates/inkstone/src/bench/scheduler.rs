//! The cost of the scheduler: requests as callers make them, compared with sequences that are computed step by step and with
//! each other.
//!
//! Shared pages, the reuse of prompts and batches should cost next to no speed. Each [`SchedulerTest`] measures two
//! quantities in turns and divides them. A test has a [`Bound`], which the ratio should keep.

mod prompts;
mod ratio;
mod raw;
mod requests;
mod sizes;
mod test;

pub use ratio::{Ratio, Round};
pub use sizes::Sizes;
pub use test::{Bound, SchedulerTest};

use crate::{Model, Result};
use inkstone_generate::PageOrder;
use prompts::Prompts;
use raw::Raw;
use requests::Requests;

/// The number of concurrent requests and samples.
const MANY: usize = 8;

/// The shortest wait of a text for a prompt that the stall is compared with, in seconds.
const SHORT_WAIT: f64 = 0.05;

/// The same as a multiple of the time between two tokens without a prompt.
const DECODES: f64 = 4.0;

/// A model whose scheduler is measured.
pub struct SchedulerBench<'m> {
    raw: Raw<'m>,
    requests: Requests<'m>,
    sizes: Sizes,
    prompts: Prompts,
}

impl<'m> SchedulerBench<'m> {
    /// The number of sequences that the model must have ([`ModelOptions::sequences`](crate::ModelOptions::sequences)).
    pub const SEQUENCES: usize = MANY;

    /// Prepares the tests of a model. Nothing is computed yet.
    ///
    /// # Errors
    /// The model has too few sequences, or too short a context.
    pub fn new(model: &'m Model) -> Result<SchedulerBench<'m>> {
        let config = model.config();
        if config.sequences < MANY {
            let allowed = format!("at least {MANY}");
            return Err(crate::Error::Option { option: "sequences", value: config.sequences.to_string(), allowed });
        }
        let sizes = Sizes::of(config.context)?;
        let prompts = Prompts::new(model.generator().graph().config.vocab);
        Ok(SchedulerBench { raw: Raw { model }, requests: Requests { model }, sizes, prompts })
    }

    /// The numbers of tokens.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Measures both quantities of a test once. The first round of a test also makes plans ready and lets the scheduler
    /// measure its steps, so it does not count.
    ///
    /// # Errors
    /// Other requests are running, or a step fails.
    pub fn round(&mut self, test: SchedulerTest) -> Result<Round> {
        let SchedulerBench { raw, requests, sizes, prompts } = self;
        let (long, short, text) = (sizes.long, sizes.short, sizes.text);
        let (measured, base) = match test {
            SchedulerTest::Batch => {
                // Prompts of one token: both quantities consist of steps with a row of each sequence.
                let firsts: Vec<Vec<u32>> = (0..MANY).map(|_| prompts.next(1)).collect();
                (requests.batch(firsts, text)?, raw.decode(MANY, 1, text, PageOrder::AsFreed)?)
            }
            SchedulerTest::Single => {
                (requests.decode(&prompts.next(short), text)?, raw.decode(1, short, text, PageOrder::AsFreed)?)
            }
            SchedulerTest::Prompt => {
                let tokens = sizes.prompt;
                (tokens as f64 / requests.first_token(&prompts.next(tokens))?, raw.prompt(tokens)?)
            }
            SchedulerTest::Prefix => {
                let prompt = prompts.next(long);
                let cold = requests.first_token(&prompt)?;
                (requests.first_token(&prompt)?, cold)
            }
            SchedulerTest::Stall => {
                let gaps = requests.stall(&prompts.next(short), &prompts.next(long), text)?;
                (gaps.longest, SHORT_WAIT.max(DECODES * gaps.usual))
            }
            SchedulerTest::Scattered => {
                let random = raw.decode(1, long, text, PageOrder::Random(prompts.seed()))?;
                (random, raw.decode(1, long, text, PageOrder::Ascending)?)
            }
            SchedulerTest::Samples => {
                let [all, one] = [MANY, 1].map(|n| requests.samples(prompts.next(long), n));
                (all?, one?)
            }
        };
        Ok(Round { measured, base })
    }
}
