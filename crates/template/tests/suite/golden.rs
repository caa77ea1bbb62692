//! Every row of the golden data: what transformers with jinja2 makes of published templates, small ones and random programs.

use crate::common::{Outcome, Request, matches, outcome, read, rows};
use serde_json::Value;
use std::collections::HashMap;

/// Says all that differ, a few in full.
fn report(what: &str, rows: usize, wrong: Vec<String>) {
    for line in wrong.iter().take(12) {
        eprintln!("{line}\n");
    }
    assert!(wrong.is_empty(), "{what}: {} of {rows} rows differ", wrong.len());
    assert!(rows > 0);
}

fn request<'a>(row: &'a Value, contexts: &'a Value) -> Request<'a> {
    let messages = match row.get("on").and_then(Value::as_str) {
        Some(context) => &contexts[context],
        None => &row["messages"],
    };
    Request {
        messages: messages.as_array().map_or(&[], |list| list.as_slice()),
        tools: row.get("tools"),
        answer: row.get("add_generation_prompt").and_then(Value::as_bool).unwrap_or(true),
        now: row.get("now").and_then(Value::as_i64).unwrap_or(crate::common::NOW),
        ..Request::default()
    }
}

fn all_rows(file: &str) {
    let rows = rows(file);
    let contexts = rows[0].get("contexts").cloned().unwrap_or_default();
    let rows: Vec<&Value> = rows.iter().filter(|row| row.get("template").is_some()).collect();
    let wrong = rows.iter().filter_map(|row| {
        let source = row["template"].as_str().unwrap();
        let got = outcome(source, &request(row, &contexts));
        let wanted = ["text", "refused", "failed"].iter().find_map(|kind| row.get(*kind));
        (!matches(row, &got)).then(|| format!("{source:?}\n  wanted {}\n  got    {got:?}", wanted.unwrap()))
    });
    report(file, rows.len(), wrong.collect());
}

#[test]
fn small_templates_are_as_golden() {
    all_rows("small.jsonl");
}

#[test]
fn random_programs_are_as_golden() {
    all_rows("random.jsonl");
}

#[test]
fn found_differences_are_as_golden() {
    all_rows("found.jsonl");
}

#[test]
fn reported_cases_are_as_golden() {
    all_rows("reports.jsonl");
}

#[test]
fn published_templates_are_as_golden() {
    let data: Value = serde_json::from_str(&read("conversations.json")).unwrap();
    let mut conversations: HashMap<String, Value> = HashMap::new();
    for (name, messages) in data["conversations"].as_object().unwrap() {
        conversations.insert(name.clone(), messages.clone());
    }
    for name in ["dialog400", "agent400"] {
        conversations.insert(name.into(), serde_json::from_str(&read(&format!("long/{name}.json"))).unwrap());
    }
    let mut templates = HashMap::new();
    let golden = read("golden.tsv");
    let mut wrong = Vec::new();
    let mut rows = 0;
    for row in golden.lines() {
        let [name, conversation, with, variables, answer, kind, _, value] =
            row.split('\t').collect::<Vec<_>>().try_into().unwrap();
        rows += 1;
        let template = templates.entry(name).or_insert_with(|| {
            inkstone_template::Template::new(&read(&format!("templates/{name}.jinja"))).map_err(|e| e.to_string())
        });
        let request = Request {
            messages: conversations[conversation].as_array().unwrap(),
            tools: (with == "tools").then_some(&data["tools"]),
            documents: (with == "documents").then_some(&data["documents"]),
            variables: (variables != "-").then(|| &data["variables"][variables]),
            answer: answer == "1",
            ..Request::default()
        };
        let got = match template {
            Ok(template) => match request.render(template) {
                Ok(output) => Outcome::Text(output.text),
                Err(error) if error.kind() == inkstone_template::Kind::Refused => {
                    Outcome::Refused(error.message().to_string())
                }
                Err(error) => Outcome::Failed(error.to_string()),
            },
            Err(error) => Outcome::Failed(error.clone()),
        };
        let right = match (kind, &got) {
            ("text", Outcome::Text(text)) => sha256::hex(text.as_bytes()) == value,
            ("refused", Outcome::Refused(message)) => {
                serde_json::from_str::<String>(value).unwrap() == message.chars().take(300).collect::<String>()
            }
            ("failed", Outcome::Failed(_)) => true,
            _ => false,
        };
        if !right {
            let got: String = format!("{got:?}").chars().take(600).collect();
            wrong.push(format!("{row}\n  got {got}"));
        }
    }
    report("golden.tsv", rows, wrong);
}

/// Some renderings in full, so that a difference shows more than that there is one.
#[test]
fn some_renderings_are_equal_in_full() {
    let data: Value = serde_json::from_str(&read("conversations.json")).unwrap();
    let texts: Value = serde_json::from_str(&read("texts.json")).unwrap();
    let mut wrong = Vec::new();
    let texts = texts.as_object().unwrap();
    for (key, wanted) in texts {
        let [name, conversation, with, variables, answer] = key.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((with, variables), ("tools", "-"), "{key}");
        let request = Request {
            messages: data["conversations"][conversation].as_array().unwrap(),
            tools: Some(&data["tools"]),
            answer: answer == "1",
            ..Request::default()
        };
        let got = outcome(&read(&format!("templates/{name}.jinja")), &request);
        if got != Outcome::Text(wanted.as_str().unwrap().into()) {
            wrong.push(format!("{key}\n  wanted {wanted}\n  got {got:?}"));
        }
    }
    report("texts.json", texts.len(), wrong);
}

/// SHA-256 (FIPS 180-4), for the sums of the golden data.
mod sha256 {
    const K: [u32; 64] = [
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
        0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
        0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
        0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
        0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
        0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
        0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    ];

    pub fn hex(data: &[u8]) -> String {
        let mut h: [u32; 8] =
            [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
        let mut padded = data.to_vec();
        padded.push(0x80);
        padded.resize(
            padded.len().div_ceil(64) * 64
                + if padded.len() % 64 > 56 || padded.len().is_multiple_of(64) { 64 } else { 0 },
            0,
        );
        let end = padded.len();
        padded[end - 8..].copy_from_slice(&(data.len() as u64 * 8).to_be_bytes());
        for block in padded.chunks(64) {
            let mut w = [0u32; 64];
            for (word, bytes) in w.iter_mut().zip(block.chunks(4)) {
                *word = u32::from_be_bytes(bytes.try_into().unwrap());
            }
            for i in 16..64 {
                let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
                let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
                w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
            }
            let mut s = h;
            for i in 0..64 {
                let [a, b, c, d, e, f, g, last] = s;
                let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
                let t1 = last.wrapping_add(s1).wrapping_add((e & f) ^ (!e & g)).wrapping_add(K[i]).wrapping_add(w[i]);
                let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
                let t2 = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
                s = [t1.wrapping_add(t2), a, b, c, d.wrapping_add(t1), e, f, g];
            }
            for (h, s) in h.iter_mut().zip(s) {
                *h = h.wrapping_add(s);
            }
        }
        h.iter().map(|word| format!("{word:08x}")).collect()
    }
}
