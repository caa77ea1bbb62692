//! `bench`: its forms and its lines.

use crate::common::{Ran, run, run_with_input, story};
use serde_json::Value;

fn bench(more: &[&str]) -> Ran {
    let story = story();
    let small = ["bench", story.to_str().unwrap(), "-p", "8", "-r", "2", "-t", "1"];
    run(&[&small[..], more].concat()).succeeded()
}

#[test]
fn each_test_of_each_number_has_a_row() {
    let text = bench(&["-n", "4", "-d", "0,5", "-b", "1,2", "-o", "json"]);
    let rows: Vec<Value> = serde_json::from_str(text.text()).unwrap();
    let mut tests: Vec<[u64; 4]> =
        rows.iter().map(|r| ["n_prompt", "n_gen", "n_depth", "sequences"].map(|f| r[f].as_u64().unwrap())).collect();
    // Memory may have changed in all slices of a test, which then has no row; with one thread it has but one state.
    tests.dedup();
    let wanted = [[8, 0, 0, 1], [0, 4, 0, 1], [8, 0, 5, 1], [0, 4, 5, 1], [0, 4, 0, 2], [0, 4, 5, 2]];
    assert!(tests.iter().all(|t| wanted.contains(t)), "{tests:?}");
    assert!([[8, 0, 0, 1], [8, 0, 5, 1]].iter().all(|t| tests.contains(t)), "{tests:?}");
    for row in &rows {
        assert!(row["avg_ts"].as_f64().unwrap() > 0.0 && row["stddev_ts"].as_f64().unwrap() >= 0.0, "{row}");
        assert!(row["load_ns"].as_u64().unwrap() > 0 && row["first_token_ns"].as_u64().unwrap() > 0, "{row}");
        assert_eq!((row["n_threads"].as_u64(), row["state"].as_str()), (Some(1), Some("single")));
    }
}

#[test]
fn tables_lines_and_values_have_the_same_tests() {
    let md = bench(&["-n", "0"]);
    let lines: Vec<&str> = md.text().lines().collect();
    assert_eq!(lines.len(), 3, "{}", md.text());
    assert!(lines[2].contains("| story-5m-q8_0 |") && lines[2].contains("| pp8 |"), "{}", lines[2]);
    assert!(md.stderr.contains("first token"), "{}", md.stderr);
    let jsonl = bench(&["-n", "0", "-o", "jsonl"]);
    let object: Value = serde_json::from_str(jsonl.text()).unwrap();
    let csv = bench(&["-n", "0", "-o", "csv"]);
    let (head, values) = csv.text().trim_end().split_once('\n').unwrap();
    let names: Vec<&str> = head.split(',').collect();
    assert_eq!(names, object.as_object().unwrap().keys().collect::<Vec<_>>());
    assert_eq!(values.split(',').count(), names.len());
}

#[test]
fn a_driver_asks_for_slices() {
    let story = story();
    let input = "fill 10\ndecode 20\ndecode 20\nprompt 8\nfirst 8\nfirst 8\npeak\nsweep\nproducts\nfill 9999\nwhat\nquit\nsweep\n";
    let arguments =
        ["bench", story.to_str().unwrap(), "--slices", "-t", "1", "-b", "2", "-c", "100", "--numerics", "fast"];
    let ran = run_with_input(&arguments, input.as_bytes()).succeeded();
    let answers: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 12, "{}", ran.text());
    let number =
        |i: usize, field: &str| answers[i][field].as_u64().unwrap_or_else(|| panic!("{field}: {}", answers[i]));
    assert!(number(0, "load_ns") > 0 && number(0, "sequences") == 2);
    assert_eq!(number(1, "depth"), 10);
    for i in [2, 3] {
        assert_eq!(number(i, "tokens"), 2 * number(i, "steps"));
        assert!(number(i, "ns") > 0 && number(i, "bytes") > 0 && number(i, "macs") > 0);
    }
    assert_eq!(number(4, "tokens"), 16);
    assert_eq!(number(5, "token"), number(6, "token"));
    assert!(answers[7].get("peak_bytes").is_some());
    assert!(answers[8]["gb_per_s"].as_f64().unwrap() > 0.0 && answers[9]["gmac_per_s"].as_f64().unwrap() > 0.0);
    assert!(answers[10]["error"].as_str().unwrap().contains("allowed: 1 to 100"), "{}", answers[10]);
    assert!(answers[11]["error"].as_str().unwrap().contains("\"what\": allowed: fill N"), "{}", answers[11]);
}

/// The tests of the scheduler with their units and bounds.
const RATIOS: [(&str, &str, &str, f64); 7] = [
    ("batch", "tokens/s", ">=", 0.9),
    ("single", "tokens/s", ">=", 0.95),
    ("prompt", "tokens/s", ">=", 0.98),
    ("prefix", "s", "<=", 0.03),
    ("stall", "s", "<=", 1.5),
    ("scattered", "tokens/s", ">=", 0.95),
    ("samples", "s", "<=", 1.2),
];

fn scheduler(more: &[&str]) -> Ran {
    let story = story();
    let small = ["bench", story.to_str().unwrap(), "--scheduler", "-r", "1", "-t", "1", "-c", "64", "--kv-page", "16"];
    run(&[&small[..], more].concat())
}

#[test]
fn the_scheduler_has_a_ratio_for_each_test() {
    let ran = scheduler(&["-o", "json"]).succeeded();
    let rows: Vec<Value> = serde_json::from_str(ran.text()).unwrap();
    for (row, (test, unit, bound, floor)) in rows.iter().zip(RATIOS) {
        let number = |field: &str| row[field].as_f64().filter(|n| *n > 0.0).unwrap_or_else(|| panic!("{field}: {row}"));
        assert_eq!([&row["test"], &row["unit"], &row["bound"]], [test, unit, bound]);
        assert_eq!((number("floor"), number("n_ctx"), number("kv_page")), (floor, 64.0, 16.0), "{row}");
        let ratio = number("ratio");
        assert!((ratio - number("measured") / number("base")).abs() <= 1e-9 * ratio, "{row}");
        assert_eq!(row["met"], if bound == ">=" { ratio >= floor } else { ratio <= floor }, "{row}");
        assert!(ran.stderr.lines().any(|line| line == test), "{}", ran.stderr);
        // A prompt that is found, and a text that waits for one: no machine is so slow that these ratios are near 1.
        assert!(!["prefix", "stall"].contains(&test) || ratio < 0.9, "{row}");
    }
    assert_eq!(rows.len(), RATIOS.len());
}

#[test]
fn ratios_that_miss_their_floors_are_errors_on_demand() {
    // Without shared pages a prompt takes the same time again.
    let ran = scheduler(&["--no-prefix", "--assert"]);
    let rows: Vec<&str> = ran.text().lines().skip(2).collect();
    assert_eq!((ran.code, rows.len()), (Some(1), RATIOS.len()), "{}", ran.stderr);
    let missed: Vec<&str> =
        RATIOS.iter().zip(&rows).filter(|(_, row)| row.ends_with("| no |")).map(|((test, ..), _)| *test).collect();
    assert!(missed.contains(&"prefix") && !missed.contains(&"stall"), "{missed:?}");
    let told = ran.stderr.lines().last().unwrap();
    assert!(told.starts_with("error: the scheduler misses floors: ") && told.contains("(allowed: <= 0.03)"), "{told}");
    let named = |test: &str| told.contains(&format!("{test} "));
    assert!(RATIOS.iter().all(|(test, ..)| named(test) == missed.contains(test)), "{told}: {missed:?}");
}

#[test]
fn what_can_not_be_is_refused() {
    let story = story();
    let story = story.to_str().unwrap();
    run(&["bench", story, "--slices", "-t", "1,2"]).refused(2, "--slices takes one number of --threads");
    run(&["bench", story, "-b", "0"]).refused(2, "allowed: a whole number from 1 to 64");
    run(&["bench", story, "-o", "xml"]).refused(2, "allowed: md, json, jsonl, csv");
    run(&["bench", story, "-c", "9"]).refused(2, "--slices");
    run(&["bench", story, "-c", "9"]).refused(2, "--scheduler");
    run(&["bench", story, "--scheduler", "-c", "31"]).refused_after(2, "ctx is 31, allowed: at least 32");
    for other in ["--slices", "--kernels", "-p=8", "-n=8", "-d=8", "-b=2"] {
        run(&["bench", story, "--scheduler", other]).refused(2, "does not go with");
    }
    run(&["bench", story, "--kernels"]).refused(2, "--kernels");
    run(&["bench", story, "--assert"]).refused(2, "--assert goes with --kernels or --scheduler");
    run(&["bench"]).refused(2, "missing: ");
    run(&["bench", "nowhere.gguf"]).refused(1, "no such file");
}
