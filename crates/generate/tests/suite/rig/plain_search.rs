//! A beam search that keeps and sorts every continuation of its texts.

/// The rules of a search.
#[derive(Clone, Debug)]
pub struct PlainSearch {
    pub beams: usize,
    pub limit: u64,
    pub length_penalty: f64,
    pub early_stopping: bool,
    /// The end tokens.
    pub ends: Vec<u32>,
}

impl PlainSearch {
    /// The results with their scores, best first. `scores` are the log-probabilities of all tokens behind a text.
    pub fn results(&self, scores: impl Fn(&[u32]) -> Vec<(u32, f32)>) -> Vec<(Vec<u32>, f64)> {
        let mut texts = vec![(Vec::new(), 0.0)];
        let mut results: Vec<(Vec<u32>, f64)> = Vec::new();
        for tokens in 1..=self.limit {
            let mut all: Vec<(Vec<u32>, f64)> = Vec::new();
            for (ids, sum) in &texts {
                for (id, logprob) in scores(ids) {
                    all.push(([ids.as_slice(), &[id]].concat(), sum + f64::from(logprob)));
                }
            }
            all.sort_by(|a, b| b.1.total_cmp(&a.1));
            let divisor = (tokens as f64).powf(self.length_penalty);
            let ends = |ids: &[u32]| tokens == self.limit || self.ends.contains(&ids[ids.len() - 1]);
            let ended = all.iter().take(self.beams).filter(|(ids, _)| ends(ids));
            results.extend(ended.map(|(ids, sum)| (ids.clone(), sum / divisor)));
            results.sort_by(|a, b| b.1.total_cmp(&a.1));
            results.truncate(self.beams);
            texts = all.into_iter().filter(|(ids, _)| !ends(ids)).take(self.beams).collect();
            let Some((_, best)) = texts.first() else { break };
            if results.len() == self.beams && (self.early_stopping || results[self.beams - 1].1 >= best / divisor) {
                break;
            }
        }
        results
    }
}
