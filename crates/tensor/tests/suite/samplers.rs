//! The sampling chain against golden data: `probs` of a case are the probabilities after the whole chain (see the
//! README beside the data).

use inkstone_tensor::sampling::{Chain, ChainRef, Draw, Stage, TokenBias, sample, survivors};
use serde_json::Value;
use std::path::PathBuf;

fn golden(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/samplers").join(name);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| v.as_str().unwrap().parse().unwrap())
}

fn logits(case: &Value) -> Vec<f32> {
    case["logits"].as_array().unwrap().iter().map(|v| number(v) as f32).collect()
}

fn ids(v: &Value) -> Vec<u32> {
    v.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

fn chain(options: &Value) -> Chain {
    let options = options.as_object().unwrap();
    let last_n = options.get("last_n").map(|v| v.as_u64().unwrap() as u32);
    let stages = options.iter().filter(|(name, _)| *name != "last_n").map(|(name, v)| match name.as_str() {
        "logit_bias" => {
            let bias = |(id, b): (&String, &Value)| TokenBias { token: id.parse().unwrap(), bias: number(b) as f32 };
            Stage::Bias(v.as_object().unwrap().iter().map(bias).collect())
        }
        "banned" => Stage::Ban(ids(v)),
        "repetition_penalty" => Stage::Repetition { penalty: number(v), last_n },
        "frequency_penalty" => Stage::Frequency(number(v)),
        "presence_penalty" => Stage::Presence(number(v)),
        "no_repeat_ngram" => Stage::NoRepeatNgram(number(v) as u32),
        "temperature" => Stage::Temperature(number(v)),
        "top_k" => Stage::TopK(number(v) as u32),
        "typical_p" => Stage::TypicalP(number(v)),
        "top_p" => Stage::TopP(number(v)),
        "min_p" => Stage::MinP(number(v)),
        other => panic!("option {other}"),
    });
    Chain::in_order(stages)
}

#[test]
fn every_case_has_the_probabilities_of_the_oracle() {
    let cases = golden("cases.json");
    assert_eq!(cases.len(), 94);
    for case in &cases {
        let (name, logits, chain) = (&case["name"], logits(case), chain(&case["options"]));
        let (mut history, generated) = (ids(&case["prompt"]), ids(&case["generated"]));
        let generated_from = history.len();
        history.extend(generated);
        chain.check(logits.len()).unwrap();
        let wanted: Vec<f64> = case["probs"].as_array().unwrap().iter().map(number).collect();
        let left = survivors(&logits, &history, generated_from, &chain).unwrap();
        let mut probabilities = vec![0.0; logits.len()];
        for &(id, p) in &left {
            probabilities[id as usize] = p;
        }
        for (id, (p, w)) in probabilities.iter().zip(&wanted).enumerate() {
            assert!((p - w).abs() <= 1e-12, "{name}, {chain}: token {id} has {p}, oracle {w}");
        }
        assert!(left.is_sorted_by(|a, b| a.1 >= b.1), "{name}: {left:?}");

        // The words of a step mean the same, and what is drawn is one of the survivors.
        let mut words = vec![99];
        chain.encode(&mut words);
        words.push(99);
        let read = ChainRef::decode(&words[1..]).unwrap();
        assert_eq!(read.to_string(), chain.to_string());
        assert_eq!(survivors(&logits, &history, generated_from, read).unwrap(), left);
        for index in 0..20 {
            let drawn = sample(&logits, &history, generated_from, read, Draw { seed: 5, index }).unwrap();
            assert!(left.iter().any(|&(id, p)| id == drawn && p > 0.0), "{name}: {drawn}");
        }
    }
}

/// Examples whose printed numbers are known to be wrong, with the right ones to four digits.
#[test]
fn worked_examples_have_the_right_numbers() {
    let cases = golden("worked-wrong.json");
    assert_eq!(cases.len(), 6);
    for case in &cases {
        let example = case["example"].as_str().unwrap();
        let chain = match example.split_once(' ').unwrap() {
            ("temperature", t) => Chain(vec![Stage::Temperature(t.parse().unwrap())]),
            ("top-k", k) => Chain(vec![Stage::TopK(k.parse().unwrap())]),
            _ => panic!("{example}"),
        };
        let left = survivors(&logits(case), &[], 0, &chain).unwrap();
        for (id, right) in case["right"].as_array().unwrap().iter().enumerate() {
            let p = left.iter().find(|l| l.0 as usize == id).map_or(0.0, |l| l.1);
            assert!((p - number(right)).abs() < 6e-5, "{example}: token {id} has {p}");
        }
    }
}
