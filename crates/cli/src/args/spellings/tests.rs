//! The whole table, on the commands that generate text.

use super::*;
use crate::args::Arguments;
use clap::{CommandFactory, Parser};

const COMMANDS_WITH_TEXT: [&str; 4] = ["run", "complete", "chat", "batch"];

fn understand(line: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
    let mut program = Arguments::command();
    program.build();
    let line: Vec<OsString> = ["inkstone"].iter().chain(line).map(OsString::from).collect();
    let understood = super::understand(&program, &line)?;
    let arguments = understood.arguments.into_iter().skip(1).map(|a| a.into_string().unwrap()).collect();
    Ok((arguments, understood.notes))
}

#[track_caller]
fn assert_becomes(line: &str, wanted: &str) {
    let (arguments, _) = understand(&line.split(' ').collect::<Vec<_>>()).unwrap();
    assert_eq!(arguments.join(" "), wanted, "{line}");
}

#[track_caller]
fn assert_refused(line: &str, wanted: &str) {
    assert_eq!(understand(&line.split(' ').collect::<Vec<_>>()).unwrap_err(), wanted, "{line}");
}

/// Arguments that an option may have.
fn sample(row: &Row) -> Vec<&'static str> {
    match (row.value, &row.meaning) {
        (Value::Switch, _) => vec![],
        (Value::Pair, _) => vec!["1", "2"],
        (Value::Word(words), _) => vec![words[0]],
        (Value::One, Meaning::Is("--kv-type")) => vec!["f16"],
        (Value::One, Meaning::Is("--ctx")) => vec!["0"],
        (Value::One, Meaning::Is("--logit-bias")) => vec!["5-1.5"],
        (Value::One, Meaning::Variables) => vec!["{\"a\": [1, \"b\"]}"],
        // It is left out as well: it would be refused.
        (Value::One, Meaning::NotNeeded(_)) => vec!["-hf"],
        (Value::One, _) => vec!["1"],
    }
}

/// Every spelling with each command is our option, left out with a note, or refused by its own name.
#[test]
fn each_spelling_is_understood_or_refused_by_name() {
    let (mut spellings, mut aliases, mut notes) = (0, 0, 0);
    for row in TABLE {
        for name in row.names.split(' ') {
            spellings += 1;
            for command in COMMANDS_WITH_TEXT {
                // A row may be for another command only.
                let is_for = |row: &&Row| row.commands.is_empty() || row.commands.contains(&command);
                let mut rows = TABLE.iter().filter(is_for);
                let Some(row) = rows.find(|row| row.names.split(' ').any(|known| known == name)) else { continue };
                let line = [&[command, name][..], &sample(row)].concat();
                match understand(&line) {
                    Err(refusal) => assert!(refusal.contains(name), "{line:?}: {refusal}"),
                    Ok((arguments, said)) => {
                        let is_alias = matches!(row.meaning, Meaning::Like(..));
                        assert!(said.is_empty() || is_alias || arguments == [command], "{line:?}: {arguments:?}");
                        let parsed =
                            Arguments::try_parse_from(["inkstone"].map(String::from).into_iter().chain(arguments));
                        match parsed {
                            Ok(_) => {}
                            Err(e) => assert_eq!((name, e.exit_code()), ("--usage", 0), "{line:?}: {e}"),
                        }
                        (aliases, notes) = (aliases + usize::from(said.is_empty()), notes + said.len());
                    }
                }
            }
        }
    }
    assert!(spellings > 300 && aliases > 100 && notes > 200, "{spellings} {aliases} {notes}");
}

#[test]
fn what_a_spelling_stands_for_is_an_option_with_as_many_values() {
    let mut program = Arguments::command();
    program.build();
    for row in TABLE {
        let (Meaning::Is(ours) | Meaning::Like(ours, _)) = row.meaning else { continue };
        let own: Vec<_> = program.get_subcommands().filter_map(|command| own(command, ours)).collect();
        assert!(!own.is_empty(), "{ours}");
        let takes_one = own.iter().all(|own| own.get_action().takes_values() && !own.is_require_equals_set());
        assert_eq!(takes_one, matches!(row.value, Value::One), "{ours}");
    }
}

/// Each spelling of a row with an off value: left out with a note, or refused with another value.
#[test]
fn a_value_that_switches_a_missing_feature_off_is_not_needed() {
    let mut spellings = 0;
    for row in TABLE {
        let Some(off) = row.off else { continue };
        let Meaning::NotYet(what) = row.meaning else { panic!("{}: it is not missing", row.names) };
        assert!(matches!(row.value, Value::One), "{}", row.names);
        for name in row.names.split(' ') {
            spellings += 1;
            let shown = if off.is_empty() { "\"\"" } else { off };
            let as_number = off.parse::<f64>().map_or(off.to_string(), |number| format!("{number:.2}"));
            for arguments in [vec![name, off], vec![name, &as_number], vec![&format!("{name}={off}")]] {
                let line = [&["run", "m.gguf"], &arguments[..], &["Hi"]].concat();
                let (left, notes) = understand(&line).unwrap();
                assert_eq!(left, ["run", "m.gguf", "Hi"], "{line:?}");
                assert_eq!(notes, [format!("note: {name} {shown} is not needed: it means no {what}")], "{line:?}");
            }
            for on in ["2", "0.5", "x"] {
                let refusal = understand(&["run", name, on, "Hi"]).unwrap_err();
                assert_eq!(refusal, format!("{name} is not supported yet: {what}"), "{on}");
            }
            assert!(understand(&["run", name]).is_err(), "{name} without a value");
        }
    }
    assert!(spellings > 10, "{spellings}");
    assert_refused("run --mirostat 2 --mirostat-lr 0.1", "--mirostat is not supported yet: Mirostat sampling");
    assert_becomes("run --mirostat 0 --mirostat-lr 0.1 --typical 1", "run --typical 1");
}

#[test]
fn no_spelling_is_hidden_behind_another_row() {
    for command in ["run", "complete", "chat", "batch", "show"] {
        let rows = TABLE.iter().filter(|row| row.commands.contains(&command));
        let general = TABLE.iter().filter(|row| row.commands.is_empty());
        for all in [rows.collect::<Vec<_>>(), general.collect()] {
            let mut names: Vec<_> = all.iter().flat_map(|row| row.names.split(' ')).collect();
            names.sort_unstable();
            let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{command}: {twice:?}");
        }
    }
}

#[test]
fn what_other_programs_need_is_left_out_with_a_note() {
    let (arguments, notes) =
        understand(&["run", "m.gguf", "-ngl", "99", "-fa", "Hi", "-fa", "on", "--no-mmap=1"]).unwrap();
    assert_eq!(arguments, ["run", "m.gguf", "Hi"]);
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert_eq!(
        notes[0],
        "note: -ngl is not needed: one engine computes the whole model; --engine and --device choose it"
    );
    assert_becomes("chat m.gguf --n-gpu-layers -1 -n -1", "chat m.gguf -n -1");
    assert_becomes("bench m.gguf -ngl 99 -b 8 -r 2 -p 16", "bench m.gguf -b 8 -r 2 -p 16");
    assert_becomes("run -ngl", "run");
}

#[test]
fn names_of_other_programs_become_ours() {
    assert_becomes(
        "run m.gguf -sys -x --predict 5 -r User: -l 5+1",
        "run m.gguf --system=-x --max-tokens=5 --stop=User: --logit-bias=5+1",
    );
    assert_becomes("run -ctk f16 -ctv f16", "run --kv-type=f16");
    assert_becomes("run -l 5+1 -l 5+1", "run --logit-bias=5+1 --logit-bias=5+1");
    assert_becomes("run -no-cnv", "run --raw");
    assert_becomes("batch m.gguf x.jsonl -np 4 --no-cache-prompt", "batch m.gguf x.jsonl --sequences=4 --no-prefix");
    assert_becomes("complete -np 4 --cache-prompt", "complete");
    assert_becomes("complete -no-cnv", "complete");
    assert_becomes("run --cache-type-k=f32", "run --kv-type=f32");
    assert_becomes("run --predict", "run --max-tokens");
    assert_becomes(
        "run --top_k 5 --ctx_size=8 --n_gpu_layers 9 --a_b --stop --a_b",
        "run --top-k 5 --ctx-size=8 --a_b --stop --a_b",
    );
    let (arguments, notes) = understand(&["run", "--prompt-cache", "x", "--prompt-cache-all"]).unwrap();
    assert_eq!(arguments, ["run", "--session=x"]);
    let difference = "FILE keeps the whole text, and a prompt is added to it";
    assert_eq!(notes[0], format!("note: --prompt-cache is --session: {difference}"));
    assert_eq!(notes.len(), 2, "{notes:?}");
    let (arguments, _) = understand(&["chat", "--chat-template-kwargs", "{\"a\": true, \"b\": \"c d\"}"]).unwrap();
    assert_eq!(arguments, ["chat", "--template-var=a=true", "--template-var=b=\"c d\""]);
}

#[test]
fn what_is_missing_is_refused_by_name() {
    assert_refused(
        "run -hf a/b",
        "-hf is not supported: inkstone downloads nothing; inkstone list shows the model files that are here",
    );
    assert_refused("chat --grammar x", "--grammar is not supported yet: grammars");
    assert_refused("complete -sys x", "-sys is --system, which complete does not take");
    assert_refused("show m.gguf --seed 1", "show does not take --seed");
    assert_refused("chat -no-cnv", "-no-cnv is not supported: inkstone complete continues raw text");
    assert_refused(
        "pull llama3",
        "pull is not a command of inkstone: inkstone downloads nothing; inkstone list shows the model files that are here",
    );
    let refusal = understand(&["chat", "--chat-template-kwargs", "[1]"]).unwrap_err();
    assert!(refusal.starts_with("--chat-template-kwargs \"[1]\": allowed: a JSON object, "), "{refusal}");
}

/// Options of the program, values of options, arguments after `--`, and unknown options are not changed.
#[test]
fn all_else_is_left_alone() {
    for line in [
        "run -p -ngl",
        "run --prompt -hf -n 5",
        "run -vp -hf -t 2",
        "run -f -",
        "run -p -- -t 1",
        "run m.gguf -- -ngl 99 -hf",
        "run --stop -ngl --system --mlock",
        "run -n5 -t4 -s7 -p=x -vh",
        "run --mmap --special -m m.gguf",
        "run --unknown -x -",
        "run --temp -1 -n -1 --seed -1",
        "bench m.gguf -p 16 -n 8 -b 2 -r 1 -o json -t 1",
        "show m.gguf --check",
        "Once",
        "help run",
        "--version",
    ] {
        assert_becomes(line, line);
    }
    // A value that clap does not take for one is an option.
    assert_becomes("run --temp -ngl 99", "run --temp");
    assert_becomes("run --mmap -ngl 99", "run --mmap");
}

#[cfg(unix)]
#[test]
fn bytes_that_are_not_text_are_left_alone() {
    use std::os::unix::ffi::OsStringExt;
    let mut program = Arguments::command();
    program.build();
    let bytes = |text: &[u8]| OsString::from_vec(text.to_vec());
    let line = ["inkstone", "run", "-ngl"].map(OsString::from).into_iter().chain([bytes(b"\xff"), bytes(b"-\xff")]);
    let understood = super::understand(&program, &line.collect::<Vec<_>>()).unwrap();
    assert_eq!(understood.arguments[2..], [bytes(b"-\xff")]);
}
