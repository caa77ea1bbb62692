//! `run` and `logits` with the model inside the program.

use crate::common::{self, run, run_with_input, story};
use inkstone::kvcache::Format;
use inkstone::{Model, ModelOptions, Piece, Timings, Usage};
use serde_json::Value;

const GREEDY: [&str; 6] = ["complete", "--temp", "0", "-n", "12", "-p"];

fn greedy(prompt: &str, more: &[&str]) -> common::Ran {
    run(&[&GREEDY[..], &[prompt], more].concat())
}

fn lines(ran: &common::Ran) -> Vec<Value> {
    ran.text().lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

#[test]
fn standard_output_has_the_text_and_nothing_else() {
    let plain = greedy("Once upon a time", &[]).succeeded();
    let objects = greedy("Once upon a time", &["--json"]).succeeded();
    let objects = lines(&objects);
    let (end, pieces) = objects.split_last().expect("a last object");
    let text: String = pieces.iter().map(|p| p["text"].as_str().expect("a text")).collect();
    assert_eq!(plain.text(), text);
    assert!(!text.is_empty() && !plain.stdout.contains(&0x1b));
    let ids: usize = pieces.iter().map(|p| p["ids"].as_array().expect("ids").len()).sum();
    assert_eq!((ids, &end["usage"]["completion_tokens"]), (12, &Value::from(12)));
    assert_eq!(end["finish"], "length");
    assert!(end["seed"].is_u64() && end["timings"]["total_seconds"].is_f64());
    assert!(pieces.iter().all(|p| p.get("logprobs").is_none()));
    let said: Vec<_> = plain.stderr.lines().filter(|l| !l.starts_with("note: this model can chat: ")).collect();
    assert_eq!(said.len(), 1, "{}", plain.stderr);
    assert!(said[0].starts_with("tokens: prompt 5, generated 12, ") && said[0].ends_with("finish length"));
}

#[test]
fn every_way_to_give_model_and_prompt_gives_the_same_text() {
    let story = story();
    let story = story.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prompt.txt");
    std::fs::write(&file, "Once upon a time\n").unwrap();
    let wanted = greedy("Once upon a time", &[]).succeeded().stdout;
    let options = ["--temp", "0", "-n", "12"];
    let ways: [&[&str]; 6] = [
        &["complete", "Once upon a time"],
        &["complete", story, "Once upon a time"],
        &["complete", story, "-p", "Once upon a time"],
        &["complete", "-m", story, "Once upon a time"],
        &["complete", story, "-f", file.to_str().unwrap()],
        &["complete", "-f", file.to_str().unwrap(), "--engine", "cpu", "-t", "1"],
    ];
    for way in ways {
        assert_eq!(run(&[way, &options].concat()).succeeded().stdout, wanted, "{way:?}");
    }
    for input in ["Once upon a time", "Once upon a time\n", "Once upon a time\r\n"] {
        let ran = run_with_input(&[&["complete", story], &options[..]].concat(), input.as_bytes());
        assert_eq!(ran.succeeded().stdout, wanted, "{input:?}");
    }
}

/// Texts of control tokens are these tokens if asked for, and one of them begins the prompt whoever writes it.
#[test]
fn control_tokens_are_in_a_prompt_if_asked_for() {
    let turn = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n";
    let answer = run(&["chat", "Hello", "--temp", "0"]).succeeded();
    for prompt in [turn.to_string(), format!("<|startoftext|>{turn}")] {
        let ran = run(&["complete", "--special", "--temp", "0", "-p", &prompt]).succeeded();
        assert_eq!(format!("{}\n", ran.text()), answer.text(), "{prompt:?}");
    }
    let tokens = |prompt: &str, more: &[&str]| {
        lines(&greedy(prompt, &[more, &["--json"]].concat()).succeeded()).pop().unwrap()["usage"]["prompt_tokens"]
            .clone()
    };
    assert_eq!(tokens("<|startoftext|>Once upon a time", &["--special"]), tokens("Once upon a time", &[]));
    assert!(tokens("<|startoftext|>Once", &[]).as_u64() > tokens("<|startoftext|>Once", &["--special"]).as_u64());
}

#[test]
fn log_probabilities_are_in_the_objects_or_on_standard_error() {
    let objects = lines(&greedy("Once", &["--json", "--logprobs", "2"]).succeeded());
    let scores: Vec<_> = objects.iter().filter_map(|o| o.get("logprobs")?.as_array()).flatten().collect();
    assert_eq!(scores.len(), 12);
    for score in &scores {
        assert_eq!(score["top"].as_array().unwrap().len(), 2);
        // Greedy: the token is the most probable one.
        assert_eq!(score["top"][0][0], score["id"]);
    }
    let plain = greedy("Once", &["--logprobs", "2"]).succeeded();
    assert_eq!(plain.stdout, greedy("Once", &[]).succeeded().stdout);
    assert_eq!(plain.stderr.lines().filter(|l| l.contains(" logprob ")).count(), 12);
}

/// The names and their order are part of the program's interface, and the library reads what the program writes.
#[test]
fn objects_have_their_names_in_order_and_the_library_reads_them() {
    let ran = greedy("Once", &["--json", "--logprobs", "1"]).succeeded();
    let lines: Vec<&str> = ran.text().lines().collect();
    let (end, pieces) = lines.split_last().unwrap();
    let without_numbers = |line: &str| line.replace(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'), "");
    for line in pieces {
        let piece: Piece = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&piece).unwrap(), *line);
        let text = serde_json::to_string(&piece.text).unwrap();
        let scores = r#""logprobs":[{"id":,"logprob":,"top":[[,]]}]"#;
        assert_eq!(without_numbers(&line.replacen(&text, "TEXT", 1)), format!(r#"{{"text":TEXT,"ids":[],{scores}}}"#));
    }
    let names = concat!(
        r#"{"finish":"length","seed":,"usage":{"prompt_tokens":,"cached_tokens":,"completion_tokens":},"#,
        r#""timings":{"prefill_seconds":,"decode_seconds":,"total_seconds":,"decode_tokens_per_second":}}"#,
    );
    assert_eq!(without_numbers(end), names);
    let mut end: Value = serde_json::from_str(end).unwrap();
    let usage: Usage = serde_json::from_value(end["usage"].take()).unwrap();
    let timings: Timings = serde_json::from_value(end["timings"].take()).unwrap();
    assert_eq!(usage.completion_tokens, 12);
    assert!(timings.total >= timings.prefill && timings.decode_rate(&usage).is_some());
}

#[test]
fn a_profile_follows_the_text_on_standard_error() {
    let plain = greedy("Once upon a time", &[]).succeeded();
    let ran = greedy("Once upon a time", &["--profile"]).succeeded();
    assert_eq!(ran.stdout, plain.stdout);
    let lines: Vec<&str> = ran.stderr.lines().skip_while(|l| !l.starts_with("profile: ")).collect();
    assert!(lines[0].starts_with("profile: memory is read at ") && lines[0].contains("B/s with 1 thread"), "{lines:?}");
    assert_eq!(lines[1], "body+head+select, 11 runs of 1 row; a run:");
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>(),
        ["kernel", "steps", "time", "share", "bytes", "of", "the", "read"]
    );
    assert!(lines.iter().any(|l| l.contains("attend") && l.contains(" us ") && l.ends_with('%')), "{lines:?}");
    assert_eq!(lines.iter().filter(|l| l.starts_with("all ")).count(), 2, "{lines:?}");
    let none = greedy("Once", &["--profile", "--engine", "reference"]).succeeded();
    assert!(
        none.stderr.ends_with("note: engine reference does not record the times of its steps\n"),
        "{}",
        none.stderr
    );
}

#[test]
fn fusions_can_be_switched_off_by_name() {
    let wanted = greedy("Once upon a time", &[]).succeeded().stdout;
    for name in inkstone::graph::fusions() {
        let found = greedy("Once upon a time", &["--without-fusion", name]).succeeded().stdout;
        assert_eq!(found, wanted, "without {name}");
    }
    run(&["complete", "--without-fusion", "tea", "Hi"]).refused(2, "--without-fusion \"tea\": allowed: map, ");
}

#[test]
fn a_seed_gives_its_text_again_and_no_seed_is_shown() {
    let first = run(&["complete", "Once upon a time", "-n", "20", "--json"]).succeeded();
    let end = lines(&first).pop().unwrap();
    let seed = end["seed"].to_string();
    let again = run(&["complete", "Once upon a time", "-n", "20", "--seed", &seed, "--json"]).succeeded();
    let ids = |ran: &common::Ran| lines(ran).iter().map(|o| o["ids"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first), ids(&again));
}

#[test]
fn e03_a_prompt_longer_than_the_context_is_refused_with_both_numbers() {
    let ran = run(&["complete", "-c", "16", "-p", &"word ".repeat(30)]);
    ran.refused(1, "16");
    assert!(ran.stderr.contains("the prompt has "), "{}", ran.stderr);
    let full = run(&["complete", "-c", "16", "--temp", "0", "--json", "Once upon a time"]).succeeded();
    let finish = lines(&full).pop().unwrap()["finish"].clone();
    assert_eq!(finish, "length");
    assert!(full.stderr.contains("finish context full"), "{}", full.stderr);
}

#[test]
fn e05_a_stop_text_ends_the_text_before_it() {
    let whole = greedy("Once upon a time", &[]).succeeded();
    let stop: String = whole.text().chars().skip(8).take(4).collect();
    let cut = greedy("Once upon a time", &["--stop", &stop]).succeeded();
    assert_eq!(cut.text(), whole.text().split(&stop).next().unwrap());
    assert!(cut.stderr.ends_with("finish stop\n"));
}

#[test]
fn logits_are_a_numpy_file_of_every_position() {
    let folder = tempfile::tempdir().unwrap();
    let (all, chunked) = (folder.path().join("all.npy"), folder.path().join("chunked.npy"));
    let story = story();
    let base = ["logits", story.to_str().unwrap(), "--ids", "1,322,265,310", "--kv-type", "f32", "--out"];
    let ran = run(&[&base[..], &[all.to_str().unwrap()]].concat()).succeeded();
    assert_eq!(ran.text(), "");
    run(&[&base[..], &[chunked.to_str().unwrap(), "--chunk", "1"]].concat()).succeeded();
    let all = std::fs::read(all).unwrap();
    assert_eq!(all.len(), 128 + 4 * 4096 * 4);
    assert!(String::from_utf8_lossy(&all[..128]).contains("'shape': (4, 4096)"));
    assert_eq!(all, std::fs::read(chunked).unwrap());
    let f32_cache = Format::named("f32").unwrap();
    let model = Model::open_with(&story, &ModelOptions::default().kv_type(f32_cache)).unwrap();
    let logits = model.logits(&[1, 322, 265, 310], None).unwrap();
    let bytes: Vec<u8> = logits.iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(all[128..] == bytes, "the values of the file are not those of the library");
}

#[test]
fn every_instruction_set_gives_the_same_logits_and_one_that_is_not_here_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let story = story();
    let logits = |isa: &str| {
        let out = folder.path().join(isa);
        let arguments = ["logits", story.to_str().unwrap(), "--ids", "1,322,265,310", "--isa", isa, "--out"];
        let ran = run(&[&arguments[..], &[out.to_str().unwrap()]].concat());
        if ran.code == Some(0) {
            return Some(std::fs::read(out).unwrap());
        }
        ran.refused(2, &format!("engine cpu has no instruction set {isa} here; there are: "));
        assert!(ran.stderr.trim_end().ends_with("portable") && !out.exists(), "{}", ran.stderr);
        None
    };
    let portable = logits("portable").expect("plain Rust runs everywhere");
    for isa in ["avx2", "avx512"] {
        match logits(isa) {
            Some(found) => assert!(found == portable, "{isa} has other bits"),
            None => eprintln!("not on this cpu: {isa}"),
        }
    }
    assert_eq!(logits("sse9"), None);
    let reference = run(&["complete", "Hi", "--engine", "reference", "--isa", "portable"]);
    reference.refused(2, "engine reference has no instruction set portable here; there are: none");
}

#[test]
fn logits_of_ids_outside_the_vocabulary_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.npy");
    let story = story();
    let ran = run(&["logits", story.to_str().unwrap(), "--ids", "1,4096", "--out", out.to_str().unwrap()]);
    assert!(matches!(ran.code, Some(1 | 2)), "{}", ran.stderr);
    assert!(ran.stderr.contains("4096"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The address space of a small machine, with the model inside the program and with files that are refused.
#[cfg(target_os = "linux")]
#[test]
fn four_gigabytes_of_address_space_are_enough() {
    let limited = |arguments: &str| common::run_in_four_gigabytes(arguments, std::path::Path::new(""));
    limited("complete 'Once upon a time' -n 5").succeeded();
    limited("complete 'Once upon a time' -n 5 -c 1073741824").refused(1, "the largest that fits");
    limited("complete /dev/zero Hi").refused(1, "a character device");
    limited("tokenize /dev/null Hi").refused(1, "a character device");
    limited("complete -f /dev/zero").refused(1, "/dev/zero: more than 32768 bytes");
}

/// The token that is most probable, and the same request without it.
#[test]
fn tokens_are_banned_and_biased() {
    let first = |more: &[&str]| {
        let objects = lines(&greedy("Once upon a time", &[more, &["--json"]].concat()).succeeded());
        objects.iter().find_map(|o| o["ids"].get(0)?.as_u64()).unwrap()
    };
    let best = first(&[]);
    let next = first(&["--ban", &format!("300,{best}")]);
    assert_ne!(next, best);
    assert_eq!(first(&["--logit-bias", &format!("{best}-inf")]), next);
    assert_eq!(first(&["--logit-bias", "300=1e3", "--logit-bias", "301+50"]), 300);
    greedy("Once", &["--ban", "4000000"]).refused(2, "4000000");
}

#[test]
fn a_limit_of_no_tokens_only_reads_the_prompt() {
    let ran = run(&["complete", "-n", "0", "-p", "Once upon a time", "--json", "--profile"]).succeeded();
    let objects = lines(&ran);
    let [end] = &objects[..] else { panic!("{}", ran.text()) };
    assert_eq!((&end["finish"], &end["usage"]["prompt_tokens"]), (&Value::from("length"), &Value::from(5)));
    assert_eq!(end["usage"]["completion_tokens"], 0);
    assert!(ran.stderr.contains("profile: ") && ran.stderr.contains("body, 1 run of 5 rows; a run:"), "{}", ran.stderr);
    let chat = run(&["chat", "-n", "0", "Hello"]).succeeded();
    assert_eq!(chat.text(), "\n");
}

#[test]
fn the_end_of_a_text_is_put_off() {
    let tokens = |more: &[&str]| {
        let chat = [&["chat", "Hello", "--temp", "0", "-n", "100", "--json"], more].concat();
        let end = lines(&run(&chat).succeeded()).pop().unwrap();
        (end["usage"]["completion_tokens"].as_u64().unwrap(), end["finish"].as_str().unwrap().to_string())
    };
    let (all, finish) = tokens(&[]);
    assert!(all < 100 && finish == "end", "{all} {finish}");
    assert_eq!(tokens(&["--ignore-eos"]), (100, "length".to_string()));
    assert!(tokens(&["--min-tokens", &(all + 5).to_string()]).0 > all);
}

#[test]
fn a_budget_bounds_the_memory() {
    run(&["complete", "-p", "Once", "--budget", "1M"]).refused(1, "the model needs ");
    let small = greedy("Once", &["--budget", "7M"]).succeeded();
    assert!(small.stderr.contains("memory does not hold"), "{}", small.stderr);
}
