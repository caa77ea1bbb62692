//! Prompts that no earlier prompt begins like.

/// A source of random token ids, the same in every process.
#[derive(Debug)]
pub(super) struct Prompts {
    state: u64,
    vocab: u64,
}

impl Prompts {
    pub(super) fn new(vocab: usize) -> Prompts {
        Prompts { state: 0, vocab: vocab.max(1) as u64 }
    }

    /// The next prompt of this length.
    pub(super) fn next(&mut self, tokens: usize) -> Vec<u32> {
        (0..tokens).map(|_| (self.seed() % self.vocab) as u32).collect()
    }

    /// A number for another random choice: splitmix64.
    pub(super) fn seed(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = self.state;
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_differ_and_are_the_same_in_every_process() {
        let (mut a, mut b) = (Prompts::new(4096), Prompts::new(4096));
        let [first, second] = [16, 16].map(|tokens| a.next(tokens));
        assert_eq!([b.next(16), b.next(16)], [first.clone(), second.clone()]);
        assert!(first != second && first.iter().chain(&second).all(|id| *id < 4096));
    }
}
