//! What a chain promises beyond the golden cases: errors, ties, the encoded form, draws.

use inkstone_tensor::sampling::{
    Chain, ChainError, ChainRef, Draw, LogProbs, SampleError, Stage, TokenBias, Workspace, gumbel, log_probs, sample,
    sample_in, survivors,
};

const INF: f32 = f32::INFINITY;

fn ids(logits: &[f32], chain: &[Stage]) -> Result<Vec<u32>, SampleError> {
    let left = survivors(logits, &[], 0, &Chain(chain.to_vec()))?;
    Ok(left.into_iter().filter(|l| l.1 > 0.0).map(|l| l.0).collect())
}

fn bias(entries: &[(u32, f32)]) -> Stage {
    Stage::Bias(entries.iter().map(|&(token, bias)| TokenBias { token, bias }).collect())
}

fn greedy(logits: &[f32], chain: &[Stage]) -> Result<u32, SampleError> {
    let stages = chain.iter().cloned().chain([Stage::Temperature(0.0)]);
    sample(logits, &[], 0, &Chain::in_order(stages), Draw { seed: 0, index: 0 })
}

#[test]
fn e01_numbers_out_of_range_are_refused_with_value_and_range() {
    let cases = [
        (Stage::Temperature(-1.0), "temperature is -1, allowed is a finite number, 0 or above"),
        (Stage::Temperature(f64::NAN), "temperature is NaN, allowed is a finite number, 0 or above"),
        (Stage::Temperature(f64::INFINITY), "temperature is inf, allowed is a finite number, 0 or above"),
        (Stage::TopP(2.0), "top-p is 2, allowed is above 0 and at most 1"),
        (Stage::TopP(0.0), "top-p is 0, allowed is above 0 and at most 1"),
        (Stage::TypicalP(-0.5), "typical-p is -0.5, allowed is above 0 and at most 1"),
        (Stage::MinP(1.5), "min-p is 1.5, allowed is from 0 to 1"),
        (Stage::MinP(f64::NAN), "min-p is NaN, allowed is from 0 to 1"),
        (
            Stage::Repetition { penalty: 0.0, last_n: None },
            "repetition penalty is 0, allowed is a finite number above 0",
        ),
        (Stage::Frequency(f64::NEG_INFINITY), "frequency penalty is -inf, allowed is a finite number"),
        (Stage::Presence(f64::NAN), "presence penalty is NaN, allowed is a finite number"),
        (bias(&[(1, f32::NAN)]), "logit bias is NaN, allowed is a number or an infinity"),
    ];
    for (stage, message) in cases {
        let chain = Chain(vec![stage]);
        assert_eq!(chain.check(10).unwrap_err().to_string(), message);
        // Nothing panics on it either, and its words are refused.
        let _ = sample(&[1.0, 2.0, 3.0], &[0, 1], 0, &chain, Draw { seed: 1, index: 1 });
        let mut words = Vec::new();
        chain.encode(&mut words);
        assert_eq!(ChainRef::decode(&words).unwrap_err().to_string(), message);
    }
}

#[test]
fn e04_no_token_left_names_the_stage() {
    let empty = |stage| Err(SampleError::Empty { stage });
    assert_eq!(ids(&[-INF; 3], &[]), empty("logits"));
    assert_eq!(ids(&[], &[]), empty("logits"));
    assert_eq!(ids(&[1.0, 2.0], &[Stage::Ban(vec![1, 0])]), empty("banned tokens"));
    assert_eq!(ids(&[1.0, 2.0], &[Stage::TopK(1), Stage::Ban(vec![1])]), empty("banned tokens"));
    assert_eq!(ids(&[1.0, -INF], &[bias(&[(0, -INF)])]), empty("logit bias"));
    assert_eq!(
        greedy(&[1.0], &[Stage::MinTokens { tokens: 1, ids: vec![0] }]),
        Err(SampleError::Empty { stage: "min tokens" })
    );
    let grams = Chain(vec![Stage::NoRepeatNgram(1)]);
    assert_eq!(survivors(&[1.0, 2.0], &[0, 1], 2, &grams), Err(SampleError::Empty { stage: "no-repeat n-gram" }));
    assert_eq!(SampleError::Empty { stage: "banned tokens" }.to_string(), "no token is left after banned tokens");
}

#[test]
fn e04_all_logits_equal_are_a_tie_of_lower_ids() {
    for value in [0.0, -3.5, f32::MAX, f32::MIN, INF] {
        let logits = [value; 6];
        assert_eq!(greedy(&logits, &[]), Ok(0), "{value}");
        assert_eq!(ids(&logits, &[Stage::TopK(2)]), Ok(vec![0, 1]), "{value}");
        assert_eq!(ids(&logits, &[Stage::TopP(0.45)]), Ok(vec![0, 1, 2]), "{value}");
        assert_eq!(ids(&logits, &[Stage::MinP(1.0)]), Ok(vec![0, 1, 2, 3, 4, 5]), "{value}");
        assert_eq!(ids(&logits, &[Stage::TypicalP(0.3)]), Ok(vec![0, 1]), "{value}");
        let left = survivors(&logits, &[], 0, &Chain::default()).unwrap();
        assert!(left.iter().all(|l| l.1 == 1.0 / 6.0), "{value}: {left:?}");
    }
    assert_eq!(greedy(&[-0.0, 0.0], &[]), Ok(0), "zeros of both signs are equal");
}

#[test]
fn e04_one_nan_is_an_error() {
    for at in 0..4 {
        let mut logits = [1.0, -INF, 3.0, INF];
        logits[at] = f32::NAN;
        assert_eq!(ids(&logits, &[Stage::Ban(vec![at as u32])]), Err(SampleError::NanLogits));
        assert_eq!(greedy(&logits, &[]), Err(SampleError::NanLogits));
        assert_eq!(log_probs(&logits, 0, 1), Err(SampleError::NanLogits));
    }
}

#[test]
fn long_rows_see_each_nan_and_each_edit() {
    // More parts than one, whose maxima are found before the stages.
    let logits: Vec<f32> = (0..1000).map(|id| id as f32).collect();
    assert_eq!(greedy(&logits, &[]), Ok(999));
    for at in [0, 7, 70, 503, 960, 999] {
        let mut nan = logits.clone();
        nan[at] = f32::NAN;
        assert_eq!(greedy(&nan, &[]), Err(SampleError::NanLogits), "token {at}");
        assert_eq!(greedy(&logits, &[bias(&[(at as u32, 2000.0)])]), Ok(at as u32));
        assert_eq!(ids(&logits, &[Stage::TopK(1), bias(&[(at as u32, 2000.0)])]), Ok(vec![999]), "a removed token");
    }
    assert_eq!(greedy(&logits, &[Stage::Ban((503..1000).collect())]), Ok(502));
    assert_eq!(ids(&logits, &[bias(&[(3, 1000.0)]), Stage::Temperature(0.5), Stage::TopK(2)]), Ok(vec![3, 999]));
}

#[test]
fn e04_infinite_bias_on_two_tokens_shares_everything() {
    let two = bias(&[(3, INF), (1, INF)]);
    let logits = [9.0, -2.0, 5.0, 1.0];
    assert_eq!(greedy(&logits, std::slice::from_ref(&two)), Ok(1));
    for more in [Stage::Temperature(0.3), Stage::TopP(0.9), Stage::TypicalP(0.9), Stage::MinP(0.1), Stage::TopK(3)] {
        let chain = Chain(vec![two.clone(), more]);
        let left = survivors(&logits, &[], 0, &chain).unwrap();
        assert_eq!(left[..2], [(1, 0.5), (3, 0.5)], "{chain}");
        assert!(left[2..].iter().all(|l| l.1 == 0.0), "{chain}");
        for index in 0..50 {
            let drawn = sample(&logits, &[], 0, &chain, Draw { seed: 1, index }).unwrap();
            assert!(drawn == 1 || drawn == 3, "{chain}: {drawn}");
        }
    }
    // A ban wins over it, from whichever side it comes.
    assert_eq!(ids(&logits, &[two.clone(), bias(&[(1, -INF)])]), Ok(vec![3]));
    assert_eq!(ids(&[0.0, -INF, 0.0, 0.0], &[two]), Ok(vec![3]));
}

#[test]
fn e04_tokens_outside_of_the_vocabulary_are_refused() {
    for stage in [bias(&[(0, 1.0), (4, 1.0)]), Stage::Ban(vec![4]), Stage::MinTokens { tokens: 1, ids: vec![u32::MAX] }]
    {
        let chain = Chain(vec![stage]);
        let error = chain.check(4).unwrap_err();
        assert!(matches!(error, ChainError::Token { vocab: 4, .. }), "{error}");
        assert!(error.to_string().ends_with(", but the vocabulary has 4 tokens"), "{error}");
        let mut words = Vec::new();
        chain.encode(&mut words);
        assert_eq!(ChainRef::decode(&words).unwrap().check(4), Err(error));
        // Used all the same, the token is passed over.
        assert!(survivors(&[0.0; 4], &[7, u32::MAX], 1, &chain).is_ok());
    }
    assert_eq!(log_probs(&[0.0; 4], 4, 1), Err(SampleError::Token { token: 4, vocab: 4 }));
}

#[test]
fn history_outside_of_the_vocabulary_is_passed_over() {
    let chain = Chain(vec![
        Stage::Repetition { penalty: 2.0, last_n: None },
        Stage::Frequency(1.0),
        Stage::Presence(1.0),
        Stage::NoRepeatNgram(2),
    ]);
    let history = [9, u32::MAX, 9, 1, 9];
    let left = survivors(&[2.0, 2.0, 2.0], &history, 99, &chain).unwrap();
    assert_eq!(left.iter().map(|l| l.0).collect::<Vec<_>>(), [0, 2], "1 follows 9 already");
}

#[test]
fn tiny_and_huge_temperatures_keep_the_order() {
    let logits = [20.0, 19.0, -INF, 19.5];
    for (t, wanted) in [(1e-308, vec![0]), (5e-324, vec![0]), (1e-4, vec![0]), (f64::MAX, vec![0, 3, 1])] {
        assert_eq!(ids(&logits, &[Stage::Temperature(t)]), Ok(wanted), "{t}");
    }
}

#[test]
fn min_tokens_counts_generated_tokens_only() {
    let chain = Chain(vec![Stage::MinTokens { tokens: 2, ids: vec![0] }]);
    let count = |generated_from| survivors(&[1.0, 1.0], &[1, 1, 1], generated_from, &chain).unwrap().len();
    assert_eq!([3, 2, 1, 0].map(count), [1, 1, 2, 2]);
}

/// Any order of stages is a chain: a truncation before an edit holds, and a temperature survives later edits.
#[test]
fn stages_work_in_any_order() {
    let logits = [4.0, 3.0, 2.0, 1.0];
    assert_eq!(ids(&logits, &[Stage::TopK(2), bias(&[(3, 50.0), (1, 5.0)])]), Ok(vec![1, 0]));
    let left = survivors(&logits, &[], 0, &Chain(vec![Stage::Temperature(0.5), bias(&[(1, 2.0), (2, -INF)])])).unwrap();
    assert_eq!(left[..2].iter().map(|l| l.0).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(left[0].1, left[1].1, "2 x (3 - 4) + 2 = 2 x (4 - 4)");
    assert_eq!(ids(&logits, &[Stage::TopP(0.99), bias(&[(0, -9.0)]), Stage::TopK(1)]), Ok(vec![1]));
}

#[test]
fn a_temperature_of_zero_ends_the_chain() {
    let chain = [Stage::Temperature(0.0), Stage::Ban(vec![1]), bias(&[(0, 9.0)])];
    assert_eq!(ids(&[1.0, 2.0], &chain), Ok(vec![1]));
}

/// The definition of no-repeat n-gram, as its name says it.
#[test]
fn n_grams_are_those_of_the_plain_definition() {
    let mut state = 3u64;
    for round in 0..3000 {
        let mut next = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let history: Vec<u32> = (0..next(24)).map(|_| next(3) as u32).collect();
        let n = 1 + next(6) as usize;
        let mut banned: Vec<u32> = match history.len().checked_sub(n - 1) {
            Some(tail) => history.windows(n).filter(|w| w[..n - 1] == history[tail..]).map(|w| w[n - 1]).collect(),
            None => vec![],
        };
        banned.sort_unstable();
        banned.dedup();
        let chain = Chain(vec![Stage::NoRepeatNgram(n as u32)]);
        let left = survivors(&[0.0; 4], &history, 0, &chain).unwrap();
        let gone: Vec<u32> = (0..4).filter(|id| left.iter().all(|l| l.0 != *id)).collect();
        assert_eq!(gone, banned, "round {round}: {n} in {history:?}");
    }
}

#[test]
fn a_chain_prints_in_one_line() {
    let chain = Chain::in_order([
        Stage::MinP(0.05),
        Stage::TopP(1.0),
        Stage::TopK(40),
        Stage::Temperature(0.8),
        Stage::Presence(0.0),
        Stage::Repetition { penalty: 1.1, last_n: Some(64) },
        Stage::Ban((0..10).collect()),
        bias(&[(3, 1.5), (7, -INF)]),
    ]);
    assert_eq!(
        chain.to_string(),
        "logit bias [3:+1.5 7:-inf] | banned tokens [0 1 2 3 4 5 6 7 and 2 more] | repetition penalty 1.1 last 64 | \
         temperature 0.8 | top-k 40 | min-p 0.05 | draw"
    );
    assert_eq!(Chain::default().to_string(), "draw");
    assert_eq!(Chain(vec![Stage::Temperature(0.0)]).to_string(), "temperature 0 | arg-max");
}

fn long_chain() -> Chain {
    Chain(vec![
        bias(&[(3, 1.5), (7, -INF)]),
        Stage::Ban(vec![1, 2, 3]),
        Stage::MinTokens { tokens: 4, ids: vec![5] },
        Stage::Repetition { penalty: 1.1, last_n: Some(64) },
        Stage::Repetition { penalty: 1.1, last_n: None },
        Stage::Frequency(0.1),
        Stage::Presence(-0.2),
        Stage::NoRepeatNgram(3),
        Stage::Temperature(0.7),
        Stage::TopK(40),
        Stage::TypicalP(0.95),
        Stage::TopP(0.9),
        Stage::MinP(0.05),
    ])
}

#[test]
fn words_are_read_back_as_they_were() {
    for chain in [long_chain(), Chain::default()] {
        let mut words = Vec::new();
        chain.encode(&mut words);
        let read = ChainRef::decode(&words).unwrap();
        assert!(read.into_iter().eq(&chain));
        assert_eq!(read.into_iter().count(), chain.0.len());
    }
}

#[test]
fn hostile_words_are_errors() {
    let mut words = Vec::new();
    long_chain().encode(&mut words);
    assert!(ChainRef::decode(&[]).is_err());
    for end in 0..words.len() {
        assert!(ChainRef::decode(&words[..end]).is_err(), "cut after {end} words");
    }
    assert_eq!(
        ChainRef::decode(&[2, 99, 0]).unwrap_err().to_string(),
        "sampling chain: word 1 is not the tag of a stage (0 to 11)"
    );
    assert_eq!(
        ChainRef::decode(&[3, 8, 2, 0]).unwrap_err().to_string(),
        "sampling chain: word 1 begins a stage of the wrong length"
    );
    // Every single word replaced: an error or a chain, never a panic.
    let logits = [0.5; 16];
    for at in 0..words.len() {
        for value in [0, 1, 2, 3, 7, 12, 1 << 20, 0x7ff0_0000, 0xfff8_0000, u32::MAX - 1, u32::MAX] {
            let mut hostile = words.clone();
            hostile[at] = value;
            if let Ok(chain) = ChainRef::decode(&hostile) {
                let _ = sample(&logits, &[1, 2, 1, 2, 40], 1, chain, Draw { seed: 0, index: 0 });
                let _ = chain.to_string();
            }
        }
    }
}

/// Computed from the definition with decimal arithmetic.
#[test]
fn noise_is_a_function_of_seed_index_and_token() {
    for (seed, index, token, wanted) in NOISE {
        let got = gumbel(Draw { seed: *seed, index: *index }, *token);
        assert!((got - wanted).abs() < 1e-14, "{seed} {index} {token}: {got:?}");
    }
}

const NOISE: &[(u64, u64, u32, f64)] = &[
    (42, 3, 5, 0.7942152906754447),
    (0, 0, 0, 0.08482019680889756),
    (18446744073709551615, 18446744073709551614, 4294967295, -0.1604824073491752),
    (4294967296, 8589934592, 7, 0.3580738494228404),
    (7, 1, 151643, -0.34876681365930395),
];

/// Pearson's chi-squared over the tokens of a row; the bound is the 99.99% quantile.
#[test]
fn draws_have_the_probabilities() {
    let logits: Vec<f32> = (0..8).map(|i| (i as f32 * 1.7).sin() * 2.0).collect();
    let quantile = [0.0, 15.1, 18.4, 21.1, 23.5, 25.7, 27.9, 29.9];
    for stages in
        [vec![], vec![Stage::Temperature(0.5)], vec![Stage::TopK(3)], vec![Stage::TopP(0.8), Stage::MinP(0.1)]]
    {
        let chain = Chain(stages);
        let left = survivors(&logits, &[], 0, &chain).unwrap();
        let mut row = Workspace::new();
        for along_seeds in [false, true] {
            const DRAWS: u64 = 40_000;
            let mut counts = [0u32; 8];
            for i in 0..DRAWS {
                let draw = if along_seeds { Draw { seed: i, index: 0 } } else { Draw { seed: 1234, index: i } };
                counts[sample_in(&mut row, &logits, &[], 0, &chain, draw).unwrap() as usize] += 1;
            }
            let chi_squared: f64 = left
                .iter()
                .map(|&(id, p)| {
                    let expected = p * DRAWS as f64;
                    (f64::from(counts[id as usize]) - expected).powi(2) / expected
                })
                .sum();
            let bound = quantile[left.len() - 1];
            assert!(chi_squared < bound, "{chain}, along seeds {along_seeds}: {chi_squared}, {counts:?}");
        }
    }
}

/// The definition of the draw, without the shortcuts of the code.
#[test]
fn a_draw_is_the_arg_max_of_log_weight_and_noise() {
    let mut row = Workspace::new();
    for round in 0..400u64 {
        let spread = [0.0, 0.5, 3.0, 12.0][round as usize % 4];
        let logits: Vec<f32> = (0..300).map(|i| ((i as f32 + round as f32) * 12.9898).sin() * spread).collect();
        let draw = Draw { seed: round << 30, index: round };
        let max = logits.iter().copied().fold(-INF, f32::max);
        let score = |id: u32| f64::from(logits[id as usize]) - f64::from(max) + gumbel(draw, id);
        let wanted = (0..300).max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap();
        assert_eq!(sample_in(&mut row, &logits, &[], 0, &Chain::default(), draw), Ok(wanted), "round {round}");
    }
}

/// The noise of one token makes up for its lower logit, to the bit.
#[test]
fn of_equal_scores_with_different_logits_the_lower_id_is_drawn() {
    let mut equal = 0;
    for index in 0..300 {
        let draw = Draw { seed: 11, index };
        let [a, b] = [gumbel(draw, 0), gumbel(draw, 1)];
        let (less, more) = (a.min(b), a.max(b));
        let near = 1.0 / (more - less);
        let reaches = |t: &f64| -1.0 / t + more == less;
        let Some(temperature) = [near, near.next_down(), near.next_up()].into_iter().find(reaches) else { continue };
        // The logit is lower where the noise is more.
        let logits = if a > b { [-1.0, 0.0] } else { [0.0, -1.0] };
        let chain = Chain(vec![Stage::Temperature(temperature)]);
        assert_eq!(sample(&logits, &[], 0, &chain, draw), Ok(0), "{chain} of {logits:?}, {draw:?}");
        equal += 1;
    }
    assert!(equal > 100, "{equal} pairs had equal scores");
}

/// There are 2^24 values of noise, so among thousands of tokens some have the same.
#[test]
fn of_equal_logits_with_equal_noise_the_lower_id_is_drawn() {
    const TOKENS: u32 = 6000;
    let mut row = Workspace::new();
    let mut equal = 0;
    for index in 0..60 {
        let draw = Draw { seed: 12, index };
        let mut noise: Vec<(f64, u32)> = (0..TOKENS).map(|id| (gumbel(draw, id), id)).collect();
        noise.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (least, loser) = noise[0];
        for pair in noise.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].0 - 0.5 > least) {
            let (low, high) = (pair[0].1, pair[1].1);
            // Top-p puts the tokens in order; then the temperature makes the logits of the pair equal.
            let chain = Chain(vec![Stage::TopP(1.0 - 1e-9), Stage::Temperature(2.0)]);
            for (first, second) in [(low, high), (high, low)] {
                let mut logits = vec![-INF; TOKENS as usize];
                for (id, z) in [(loser, 1.0), (first, 2e-20), (second, 1e-20)] {
                    logits[id as usize] = z;
                }
                let drawn = sample_in(&mut row, &logits, &[], 0, &chain, draw);
                assert_eq!(drawn, Ok(low), "{first} before {second}, {draw:?}");
                equal += 1;
            }
        }
    }
    assert!(equal > 20, "{equal} draws had equal noise");
}

/// A draw does not see tokens that are cut off, and a workspace carries nothing from row to row.
#[test]
fn a_draw_depends_on_seed_index_and_survivors_only() {
    let logits: Vec<f32> = (0..500).map(|i| ((i * 7919) % 997) as f32 * 0.01).collect();
    let mut row = Workspace::new();
    let (all, cut) = (Chain::default(), Chain(vec![Stage::TopK(60)]));
    let mut same = 0;
    for index in 0..300 {
        let draw = Draw { seed: 9, index };
        let free = sample_in(&mut row, &logits, &[], 0, &all, draw).unwrap();
        let kept = sample_in(&mut row, &logits, &[], 0, &cut, draw).unwrap();
        assert_eq!(kept, sample(&logits, &[], 0, &cut, draw).unwrap());
        if survivors(&logits, &[], 0, &cut).unwrap().iter().any(|l| l.0 == free) {
            assert_eq!(free, kept);
            same += 1;
        }
        assert!(sample_in(&mut row, &[f32::NAN], &[], 0, &cut, draw).is_err());
    }
    assert!(same > 100);
}

#[test]
fn log_probabilities_are_those_of_the_raw_logits() {
    let LogProbs { token, top } = log_probs(&[1.0, 3.0, -INF, 3.0, 0.0], 0, 10).unwrap();
    let ln_total = (1f64.exp() + 2.0 * 3f64.exp() + 1.0).ln();
    assert!((token - (1.0 - ln_total)).abs() < 1e-14);
    assert_eq!(top.iter().map(|t| t.0).collect::<Vec<_>>(), [1, 3, 0, 4]);
    assert!(top.iter().all(|&(id, p)| (p - ([1.0, 3.0, 0.0, 3.0, 0.0][id as usize] - ln_total)).abs() < 1e-14));
    assert_eq!(log_probs(&[1.0, 3.0], 1, 0).unwrap().top, []);
    assert_eq!(log_probs(&[1.0, -INF], 1, 1).unwrap(), LogProbs { token: f64::NEG_INFINITY, top: vec![(0, 0.0)] });
    assert_eq!(log_probs(&[-INF], 0, 1), Err(SampleError::Empty { stage: "logits" }));
}

/// The first tokens of long rows are found without looking at each; here by sorting all of them.
#[test]
fn the_first_tokens_of_long_rows_are_those_of_a_sort() {
    let mut seed = 1u64;
    let mut random = move |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    for round in 0..400 {
        let length = 1 + random(1000) as usize;
        let values = [3, 40, 1 << 20][round % 3];
        let logits: Vec<f32> = (0..length)
            .map(|_| match random(20) {
                0 => -INF,
                1 if round % 7 == 0 => INF,
                2 => -0.0,
                _ => random(values) as f32 / 7.0 - 1.0,
            })
            .collect();
        // So small that others than the largest become equal, or -infinity.
        let temperature = [0.7, 1e-300, 1e17, 5e-324][random(4) as usize];
        let k = 1 + random(40) as u32;
        let banned = random(length as u64) as u32;
        let max = logits.iter().copied().fold(-INF, f32::max);
        let heated = |z: f32| if z == max { 0.0 } else { (f64::from(z) - f64::from(max)) / temperature };
        let sorted = |row: Vec<f64>| {
            let mut tokens: Vec<(u32, f64)> = (0..).zip(row).filter(|t| t.1 > f64::NEG_INFINITY).collect();
            tokens.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
            tokens.into_iter().map(|t| t.0).take(k as usize).collect::<Vec<_>>()
        };
        let found = |chain: &[Stage]| {
            let left = survivors(&logits, &[], 0, &Chain(chain.to_vec()));
            left.map_or_else(|_| Vec::new(), |left| left.into_iter().map(|l| l.0).collect::<Vec<_>>())
        };

        let plain = sorted(logits.iter().map(|&z| f64::from(z)).collect());
        assert_eq!(found(&[Stage::TopK(k)]), plain, "round {round}: top {k}");
        let hot = sorted(logits.iter().map(|&z| heated(z)).collect());
        assert_eq!(
            found(&[Stage::Temperature(temperature), Stage::TopK(k)]),
            hot,
            "round {round}: top {k} at {temperature}"
        );
        // A ban in between takes effect on what the temperature gave.
        let without = (0..).zip(&logits).map(|(id, &z)| if id == banned { f64::NEG_INFINITY } else { heated(z) });
        let chain = [Stage::Temperature(temperature), Stage::Ban(vec![banned]), Stage::TopK(k)];
        assert_eq!(
            found(&chain),
            sorted(without.collect()),
            "round {round}: top {k} at {temperature} without {banned}"
        );
    }
}
