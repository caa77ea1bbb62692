//! `batch`: each request has the result that it has by itself, in the order of the lines.

use crate::common::{Ran, program, run, run_with_input, story};
use serde_json::{Value, json};
use std::process::Stdio;

/// The results of requests on standard input.
fn batch(options: &[&str], requests: &[Value]) -> Ran {
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    run_with_input(&[&["batch", "-"], options].concat(), input.as_bytes())
}

fn results(ran: &Ran) -> Vec<Value> {
    ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What does not depend on time: of a reply of `batch`, or of all lines of `complete --json`.
fn reply(lines: &[Value]) -> Value {
    let mut text = String::new();
    let (mut ids, mut logprobs) = (Vec::new(), Vec::new());
    for line in lines {
        text += line["text"].as_str().unwrap_or_default();
        ids.extend(line["ids"].as_array().into_iter().flatten().cloned());
        logprobs.extend(line["logprobs"].as_array().into_iter().flatten().cloned());
    }
    let end = lines.last().unwrap();
    let usage = ["prompt_tokens", "completion_tokens"].map(|name| &end["usage"][name]);
    json!({"text": text, "ids": ids, "logprobs": logprobs, "finish": end["finish"], "seed": end["seed"], "usage": usage})
}

#[test]
fn each_result_equals_complete_to_the_bit() {
    let prompts =
        ["Once upon a time", "Once upon a time", "The sun", "Lily and Ben", "One day", "Once upon a hill", "A"];
    let requests: Vec<Value> = prompts
        .iter()
        .enumerate()
        .map(|(i, prompt)| json!({"prompt": prompt, "seed": i / 2, "max_tokens": 5 + 9 * i, "logprobs": 3, "temperature": 0.9}))
        .collect();
    let ran = batch(&["--sequences", "3", "--kv-page", "16"], &requests).succeeded();
    let results = results(&ran);
    assert_eq!(results.len(), prompts.len());
    for (i, prompt) in prompts.iter().enumerate() {
        let (seed, tokens) = ((i / 2).to_string(), (5 + 9 * i).to_string());
        let line =
            ["complete", "-p", prompt, "--json", "--logprobs", "3", "--temp", "0.9", "--seed", &seed, "-n", &tokens];
        let wanted: Vec<Value> =
            run(&line).succeeded().text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(results[i]["index"], i);
        assert_eq!(results[i].get("id"), None);
        assert_eq!(reply(&[results[i]["replies"][0].clone()]), reply(&wanted), "{prompt}");
        // The form that the library reads.
        let whole: inkstone::Reply = serde_json::from_value(results[i]["replies"][0].clone()).unwrap();
        assert_eq!(whole.logprobs.len(), whole.ids.len());
    }
    assert!(ran.stderr.starts_with("requests: 7, failed 0; tokens: prompt "), "{}", ran.stderr);
}

#[test]
fn a_wrong_line_fails_in_its_place() {
    let lines = [
        json!({"prompt": "Once", "max_tokens": 3, "id": "a"}).to_string(),
        "nonsense".to_string(),
        String::new(),
        json!({"prompt": "Once", "temprature": 1, "id": {"line": 4}}).to_string(),
        json!({"prompt": "Once", "ids": [1], "id": 5}).to_string(),
        json!({"id": 6}).to_string(),
        json!({"prompt": 7, "id": 7}).to_string(),
        json!({"ids": [1, 4_000_000]}).to_string(),
        json!({"prompt": "Once", "top_p": 2}).to_string(),
        json!({"prompt": "Once", "n": 65}).to_string(),
        json!({"messages": [{"role": "no role"}]}).to_string(),
        json!({"prompt": ""}).to_string(),
        "   ".to_string(),
        "[]".to_string(),
        json!({"ids": [1, 2, 3], "max_tokens": 2, "id": null}).to_string(),
    ];
    let ran = run_with_input(&["batch", "-", "--temp", "0"], lines.join("\n").as_bytes());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let results = results(&ran);
    let indices: Vec<u64> = results.iter().map(|result| result["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, (0..13).collect::<Vec<u64>>());
    let wrong = [
        (1, "no request: "),
        (2, "no request: unknown field `temprature`, expected one of `temperature`"),
        (3, "no request: it has several of the fields prompt, ids, messages"),
        (4, "no request: it has none of the fields prompt, ids, messages"),
        (5, "no request: invalid type: integer `7`, expected a string"),
        (6, "token 4000000 at place 1 of the prompt"),
        (7, "top-p is 2, allowed is "),
        (8, "option n is 65, allowed: 1 to 64"),
        (9, "no request: "),
        (11, "no request: "),
    ];
    for (index, wanted) in wrong {
        let result: &Value = &results[index];
        assert!(result["error"].as_str().unwrap().starts_with(wanted), "{result}");
        assert!(result["replies"].is_null(), "{result}");
    }
    assert_eq!(
        [&results[0]["id"], &results[2]["id"], &results[5]["id"]],
        [&json!("a"), &json!({"line": 4}), &json!(7)]
    );
    for index in [0, 10, 12] {
        assert_eq!(results[index]["replies"].as_array().unwrap().len(), 1, "{}", results[index]);
    }
    let mut errors = ran.stderr.lines().filter(|line| line.starts_with("error: "));
    assert_eq!(errors.next(), Some("error: 10 of 13 requests failed; their results have the field error"));
}

#[test]
fn messages_are_answered_as_in_chat() {
    let story = story();
    let story = story.to_str().unwrap();
    let messages = json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello<|im_end|>"}]);
    let request = json!({"messages": messages, "temperature": 0, "max_tokens": 20});
    let ran = run_with_input(&["batch", story, "-"], request.to_string().as_bytes()).succeeded();
    let wanted =
        run(&["chat", story, "Hello<|im_end|>", "--system", "Be kind.", "--temp", "0", "-n", "20"]).succeeded();
    let result = &results(&ran)[0];
    assert_eq!(result["replies"][0]["text"].as_str().unwrap(), wanted.text().strip_suffix('\n').unwrap());
}

#[test]
fn options_of_the_command_line_apply_to_lines_without_them() {
    let requests = [json!({"prompt": "Once"}), json!({"prompt": "Once", "max_tokens": 2, "seed": 1})];
    let ran = batch(&["-n", "4", "--seed", "9", "-np", "1"], &requests).succeeded();
    let counts: Vec<(usize, u64)> = results(&ran)
        .iter()
        .map(|result| &result["replies"][0])
        .map(|reply| (reply["ids"].as_array().unwrap().len(), reply["seed"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [(4, 9), (2, 1)]);
}

#[test]
fn samples_are_replies_with_seeds_in_a_row() {
    let ran = batch(&[], &[json!({"prompt": "Once upon a time", "n": 3, "seed": 5, "max_tokens": 12})]).succeeded();
    let result = &results(&ran)[0];
    let replies = result["replies"].as_array().unwrap();
    assert_eq!(replies.len(), 3);
    for (i, reply) in replies.iter().enumerate() {
        let seed = (5 + i).to_string();
        let wanted = run(&["complete", "-p", "Once upon a time", "--seed", &seed, "-n", "12"]).succeeded();
        assert_eq!((reply["seed"].as_u64(), reply["text"].as_str()), (Some(5 + i as u64), Some(wanted.text())));
    }
}

#[test]
fn a_beam_search_gives_its_texts_with_scores_best_first() {
    let search = json!({"prompt": "Once upon a time", "num_beams": 3, "max_tokens": 8, "length_penalty": 0.5});
    let refused = json!({"prompt": "Once", "num_beams": 3, "seed": 1});
    let ran = batch(&[], &[search, json!({"prompt": "Once", "max_tokens": 2}), refused]);
    assert_eq!(ran.code, Some(1));
    let results = results(&ran);
    let replies = results[0]["replies"].as_array().unwrap();
    let scores: Vec<f64> = replies.iter().map(|reply| reply["score"].as_f64().unwrap()).collect();
    assert_eq!(scores.len(), 3);
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| *score < 0.0), "{scores:?}");
    assert!(replies.iter().all(|reply| reply["ids"].as_array().unwrap().len() == 8));
    assert_ne!(replies[0]["text"], replies[1]["text"]);
    assert_eq!(results[1]["replies"][0]["score"], json!(null));
    assert_eq!(results[2]["error"], "option seed is 1, allowed: not set with num_beams above 1");
}

#[test]
fn the_beginning_of_an_equal_prompt_is_found_unless_no_prefix_is_given() {
    let ids: Vec<u32> = (0..50).map(|i| 20 + i % 7).collect();
    let requests = [json!({"ids": ids, "max_tokens": 1}), json!({"ids": ids, "max_tokens": 1})];
    let cached = |options: &[&str]| -> Vec<u64> {
        let ran = batch(&[&["--sequences", "1"], options].concat(), &requests).succeeded();
        results(&ran).iter().map(|result| result["replies"][0]["usage"]["cached_tokens"].as_u64().unwrap()).collect()
    };
    assert_eq!(cached(&[]), [0, 49]);
    assert_eq!(cached(&["--no-prefix"]), [0, 0]);
    assert_eq!(cached(&["--no-cache-prompt"]), [0, 0]);
    let mut command = program();
    command.args(["batch", "-", "--sequences", "1"]).env("INKSTONE_NO_PREFIX", "1");
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let ran = crate::common::fed(command, input.as_bytes()).succeeded();
    assert_eq!(results(&ran)[1]["replies"][0]["usage"]["cached_tokens"], 0);
}

/// More requests than are in memory at once, some of which take long, from a file.
#[test]
fn results_of_a_long_file_have_the_order_of_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("requests.jsonl");
    let line = |i: usize| json!({"ids": [1, 20 + i % 50], "max_tokens": if i.is_multiple_of(90) { 300 } else { i % 3 }, "id": i, "ignore_end": true});
    std::fs::write(&file, (0..400).map(|i| format!("{}\n", line(i))).collect::<String>()).unwrap();
    let ran = run(&["batch", file.to_str().unwrap(), "--kv-memory", "4M"]).succeeded();
    let results = results(&ran);
    assert_eq!(results.len(), 400);
    for (i, result) in results.iter().enumerate() {
        assert_eq!((&result["index"], &result["id"]), (&json!(i), &json!(i)));
        let tokens = if i.is_multiple_of(90) { 300 } else { i % 3 };
        assert_eq!(result["replies"][0]["usage"]["completion_tokens"], tokens);
    }
}

#[test]
fn g2_a_line_of_more_than_10_mb_is_an_error_of_that_line() {
    let good = json!({"prompt": "Once", "max_tokens": 1}).to_string();
    let long = json!({"prompt": "a".repeat(10_000_000)}).to_string();
    let ran = run_with_input(&["batch", "-"], [good.as_str(), &long, &good].join("\n").as_bytes());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let results = results(&ran);
    assert_eq!(results.len(), 3);
    assert_eq!(
        results[1],
        json!({"index": 1, "error": "the line has more than 10000000 bytes, allowed: at most 10000000"})
    );
    assert!(results[0]["error"].is_null() && results[2]["error"].is_null());
    // A line just within the limit is too long for the context.
    let whole = json!({"prompt": "a".repeat(9_999_000)}).to_string();
    let ran = run_with_input(&["batch", "-"], whole.as_bytes());
    assert!(ran.text().contains("\"error\":\"the text has "), "{:?}", &ran.text()[..ran.text().len().min(300)]);
}

#[test]
fn g1_a_cache_that_is_too_small_is_refused_by_name() {
    let ran = run(&["batch", "-", "--kv-memory", "1000"]);
    ran.refused(2, "option kv_memory is 1000, allowed: ");
    run(&["complete", "Once", "--kv-page", "17"])
        .refused(2, "--kv-page \"17\": allowed: a power of two from 16 to 1024");
}

#[test]
fn what_is_no_file_of_requests_is_named() {
    run(&["batch"]).refused(2, "missing: FILE with one request per line, or - for standard input");
    run(&["batch", "model.gguf"]).refused(2, "; model.gguf is a model");
    run(&["batch", "no-such.jsonl"]).refused(1, "no-such.jsonl: can't read: ");
    let nothing = run_with_input(&["batch", "-"], b"\n\n").succeeded();
    assert_eq!(nothing.text(), "");
}

/// A result is written while the input goes on; a signal ends the program after the complete results.
#[cfg(unix)]
#[test]
fn a_signal_ends_with_the_results_that_are_complete() {
    use std::io::{BufRead, BufReader, Write};
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut command = program();
        command.args(["batch", "-", "--engine", "reference"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        writeln!(stdin, "{}", json!({"prompt": "Once", "max_tokens": 1})).unwrap();
        let first: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert_eq!(first["index"], 0);
        writeln!(stdin, "{}", json!({"prompt": "Once", "ignore_end": true, "max_tokens": 100_000})).unwrap();
        writeln!(stdin, "{}", json!({"prompt": "Once", "max_tokens": 1, "id": "behind"})).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let rest: Vec<Value> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert_eq!(rest.len(), 1, "{rest:?}");
        assert_eq!((&rest[0]["index"], &rest[0]["id"]), (&json!(2), &json!("behind")));
        drop(stdin);
    }
}
