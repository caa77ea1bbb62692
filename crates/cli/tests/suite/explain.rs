//! `explain` of the model inside the program.

use crate::common::{run, story};
use inkstone::gguf::{Gguf, OpenOptions};
use serde_json::Value;
use std::collections::BTreeSet;

fn json(more: &[&str]) -> Value {
    let ran = run(&[&["explain", "--json"], more].concat()).succeeded();
    serde_json::from_str(ran.text()).expect("one object")
}

fn steps(object: &Value) -> &[Value] {
    object["steps"].as_array().expect("a list")
}

/// The paths of all fields, and the types of their values.
fn fields(value: &Value, path: &str, found: &mut BTreeSet<(String, &'static str)>) {
    let kind = match value {
        Value::Object(members) => {
            for (name, value) in members {
                fields(value, format!("{path}.{name}").trim_start_matches('.'), found);
            }
            return;
        }
        Value::Array(items) => {
            items.iter().for_each(|item| fields(item, &format!("{path}[]"), found));
            return;
        }
        Value::Null => return,
        Value::Bool(_) => "truth",
        Value::Number(_) => "number",
        Value::String(_) => "text",
    };
    found.insert((path.to_owned(), kind));
}

#[test]
fn the_fields_of_the_object_are_those_of_the_documentation() {
    let mut found = BTreeSet::new();
    // Kernels of few rows fuse it all, so that none is refused. The model has no window of its own.
    [&[][..], &["--prefill"], &["--kv-window", "64:4"]].iter().for_each(|more| fields(&json(more), "", &mut found));
    let found: Vec<String> = found.iter().map(|(path, kind)| format!("`{path}` {kind}")).collect();
    let page = include_str!("../../../../docs/explain.md");
    let rows = page.lines().filter(|l| l.starts_with("| `")).map(|l| l.split('|').map(str::trim).collect::<Vec<_>>());
    let mut documented: Vec<String> = rows.map(|r| format!("{} {}", r[1], r[2])).collect();
    documented.sort();
    let mut found: Vec<String> = found;
    // The system may not say it.
    let huge = "`engine.huge_page_bytes` number".to_owned();
    if !found.contains(&huge) {
        found.push(huge);
    }
    found.sort();
    assert_eq!(found, documented);
}

#[test]
fn every_weight_of_the_model_is_read_by_a_step_of_its_layer() {
    let object = json(&[]);
    let mut named = BTreeSet::new();
    for step in steps(&object) {
        for weight in step["weights"].as_array().unwrap() {
            let name = weight["name"].as_str().unwrap();
            let layer = name.strip_prefix("blk.").map(|n| n.split('.').next().unwrap().parse::<u64>().unwrap());
            assert_eq!(step["layer"].as_u64(), layer, "{step}");
            named.insert(name.to_owned());
        }
    }
    let file = Gguf::open(story(), &OpenOptions::default()).unwrap();
    let all: BTreeSet<String> = file.tensors().iter().map(|t| t.name.clone()).collect();
    assert_eq!(named, all);
    let attends = |s: &&Value| s["op"].as_str().is_some_and(|op| op.contains("attend"));
    assert!(steps(&object).iter().filter(attends).any(|s| s["layer"] == 4), "what names a cache has its layer");
    let bytes: u64 = steps(&object).iter().map(|s| s["bytes"].as_u64().unwrap()).sum();
    let weights = object["memory"]["weight_bytes"].as_u64().unwrap();
    assert!(bytes > weights / 2, "a token reads the weights but for most of the embedding");
}

#[test]
fn refusals_carry_their_reason_and_the_chosen_instruction_set_is_the_only_one() {
    let object = json(&["--isa", "portable", "--threads", "1"]);
    assert_eq!((&object["engine"]["isa"], &object["engine"]["threads"]), (&["portable"][..].into(), &1.into()));
    for step in steps(&object) {
        assert!(step["isa"].is_null() || step["isa"] == "portable", "{step}");
        let refused = step["refused"].as_array().unwrap();
        assert!(refused.iter().all(|r| r.as_str().unwrap().ends_with(')')), "{step}");
    }
    assert!(steps(&object).iter().any(|s| s["isa"] == "portable"));
    let text = run(&["explain", "--without-fusion", "norm_linear"]).succeeded();
    let refused = text.text().lines().find(|l| l.starts_with("[1] ")).expect("a list");
    assert!(refused.contains("linear.f32.") && refused.contains(" (no Q8_0 weights)"), "{refused}");
}

/// Workers arrange the activations of many rows together, each for itself those of few.
#[test]
fn first_phases_and_their_scratch_are_shown() {
    let phased = |object: &Value| {
        let with = |field: &str| steps(object).iter().filter(|s| s[field].as_u64().unwrap() > 0).count();
        (with("first_tiles"), with("scratch_bytes"))
    };
    let (first, scratch) = phased(&json(&["--prefill"]));
    assert!(first >= 5 && scratch == first, "{first} first phases, {scratch} scratches");
    assert_eq!(phased(&json(&[])), (0, 0));
    let text = |more: &[&str]| run(&[&["explain"], more].concat()).succeeded().text().to_owned();
    let legend = "\ntiles of a first phase + tiles; the results of first phases take up to ";
    assert!(text(&["--prefill"]).contains(legend) && !text(&[]).contains(legend));
}

#[test]
fn definitions_use_no_instruction_set_and_that_is_no_fault() {
    let object = json(&["--engine", "reference"]);
    assert_eq!(object["engine"]["isa"], Value::Array(Vec::new()));
    for step in steps(&object) {
        assert_eq!((&step["isa"], &step["scalar"]), (&Value::Null, &false.into()), "{step}");
    }
}

#[test]
fn fast_numerics_that_change_nothing_are_noted() {
    let ran = run(&["explain", "--numerics", "fast"]).succeeded();
    let note = "note: numerics fast: on this machine no weight of this model has a faster one than precise";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    run(&["explain", "--numerics", "sloppy"]).refused(2, "--numerics \"sloppy\": allowed: precise, fast");
}

#[test]
fn layers_that_run_alike_are_shown_once() {
    let folded = run(&["explain"]).succeeded();
    let text = folded.text();
    assert!(text.contains("\nlayer 0\n") && text.contains("\nlayers 1-4 as layer 0\n"), "{text}");
    assert!(!text.contains("\nlayer 1\n") && text.contains("\nafter the layers\n"), "{text}");
    let all = run(&["explain", "--all"]).succeeded();
    assert!(all.text().contains("\nlayer 4\n") && !all.text().contains(" as layer "), "{}", all.text());
    assert_eq!(folded.stderr, "");
}

#[test]
fn passes_are_told_of_the_plan_that_is_shown_and_to_programs_of_all() {
    let passes = |more: &[&str]| {
        let ran = run(&[&["explain"], more].concat()).succeeded();
        ran.text().split_once("\npasses of the compiler\n").unwrap().1.to_owned()
    };
    let buckets = ["(up to 1 rows,", "(up to 8 rows,", "rows, 1 logit rows)", "rows, 8 logit rows)"];
    let told = |text: &str| buckets.map(|bucket| text.contains(bucket));
    assert_eq!(told(&passes(&[])), [true, false, true, false]);
    assert_eq!(told(&passes(&["--rows", "5"])), [false, true, false, true]);
    assert_eq!(told(&passes(&["--prefill"])), [false; 4]);
    assert!(passes(&["--prefill"]).contains("(up to 512 rows,"));
    assert_eq!(told(&json(&[])["report"].to_string()), [true; 4]);
}

#[test]
fn rows_choose_the_plan() {
    let prefill = json(&["--prefill"]);
    assert_eq!((&prefill["plan"]["name"], &prefill["plan"]["rows"]), (&"body".into(), &64.into()));
    let eight = json(&["--rows", "8"]);
    assert_eq!((&eight["plan"]["rows"], &eight["plan"]["logit_rows"]), (&8.into(), &8.into()));
    let flops = |object: &Value| steps(object).iter().map(|s| s["flops"].as_u64().unwrap()).sum::<u64>();
    assert!(flops(&eight) > 7 * flops(&json(&[])));
    run(&["explain", "--rows", "65"]).refused(2, "option rows is 65, allowed: 1 to 64");
    run(&["explain", "--prefill", "--rows", "1000"]).refused(2, "option rows is 1000, allowed: 1 to 512");
    run(&["explain", "--rows", "0"]).refused(2, "--rows \"0\": allowed: a whole number from 1");
}

#[test]
fn the_graph_and_the_plan_are_printed_alone() {
    let graph = run(&["explain", story().to_str().unwrap(), "--graph"]).succeeded();
    for begin in ["graph body\n", "\ngraph head\n", "\ngraph select\n", " = weight blk.0.attn_q.weight  q8_0["] {
        assert!(graph.text().contains(begin), "{begin:?}");
    }
    let plan = run(&["explain", "--plan"]).succeeded();
    assert!(plan.text().starts_with("plan body+head+select  rows <= 1 "), "{}", plan.text());
    run(&["explain", "--plan", "--json"]).refused(2, "--plan does not go with --json");
}
