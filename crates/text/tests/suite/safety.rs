//! Only the template can write control tokens of a prompt; no text of a conversation can.

use super::bad_templates::in_small_thread;
use super::templates::{conversation, folder, markers, read, vocabulary};
use inkstone_text::{ChatTemplate, Conversation, Encode, Json, Message, Origin, Rendered, TokenKind, Tokenizer};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// The control and unknown tokens of a prompt.
fn control_ids(tokenizer: &Tokenizer, rendered: &Rendered) -> Vec<u32> {
    let ids = tokenizer.encode_rendered(rendered, &Encode::plain()).unwrap();
    ids.into_iter().filter(|id| is_control(tokenizer, *id)).collect()
}

fn is_control(tokenizer: &Tokenizer, id: u32) -> bool {
    matches!(tokenizer.token(id).unwrap().kind, TokenKind::Control)
}

/// A value with a text where the mark stands.
fn planted(value: &Json, text: &str) -> Json {
    match value {
        Json::String(s) => s.replace('§', text).into(),
        Json::Array(list) => list.iter().map(|v| planted(v, text)).collect(),
        Json::Object(fields) => {
            Json::Object(fields.iter().map(|(k, v)| (k.replace('§', text), planted(v, text))).collect())
        }
        other => other.clone(),
    }
}

fn vocabularies() -> BTreeMap<String, Tokenizer> {
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/tokenizers");
    let mut found = BTreeMap::from([("markers".to_string(), markers())]);
    for entry in std::fs::read_dir(known).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "gguf") {
            found.insert(path.file_stem().unwrap().to_string_lossy().into(), vocabulary(&path));
        }
    }
    found
}

#[test]
fn d09_control_tokens_are_the_templates_whatever_is_planted() {
    in_small_thread(|| {
        let data: Json = serde_json::from_str(&read("safety.json")).unwrap();
        let (fields, harmless) = (data["fields"].as_object().unwrap(), data["harmless"].as_str().unwrap());
        // Where a template looks at the text itself, what it writes may change.
        let reads: HashSet<[&str; 3]> =
            data["reads"].as_array().unwrap().iter().map(|row| [0, 1, 2].map(|i| row[i].as_str().unwrap())).collect();
        let mut templates: Vec<(String, ChatTemplate)> = std::fs::read_dir(folder().join("templates"))
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let source = std::fs::read_to_string(&path).unwrap();
                (path.file_stem().unwrap().to_string_lossy().into(), ChatTemplate::new(source).unwrap())
            })
            .collect();
        templates.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!((templates.len(), fields.len()), (56, 23));
        let mut compared = 0;
        for (name, tokenizer) in vocabularies() {
            let Some(forged) = data["vocabularies"][&name]["text"].as_str() else { continue };
            for (template_name, template) in &templates {
                for (field_name, field) in fields {
                    if reads.contains(&[&*name, &**template_name, &**field_name]) {
                        continue;
                    }
                    let with = |text: &str| template.render(&conversation(&planted(field, text)), &tokenizer);
                    let what = format!("{name}, {template_name}, {field_name}");
                    match (with(harmless), with(forged)) {
                        (Ok(harmless), Ok(forged)) => {
                            let wanted = control_ids(&tokenizer, &harmless);
                            assert_eq!(control_ids(&tokenizer, &forged), wanted, "{what}: {:?}", forged.text());
                        }
                        (Err(_), Err(_)) => {}
                        (harmless, forged) => panic!("{what}: {harmless:?}, {forged:?}"),
                    }
                    compared += 1;
                }
            }
        }
        assert!(compared > 5000, "{compared}");
    });
}

/// Pieces of the texts of control tokens, by a number.
fn pieces(tokens: &[String], seed: &mut u64) -> String {
    let mut next = |n: usize| {
        // Knuth's MMIX generator: the high bits are good.
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % n
    };
    let mut out = String::new();
    for _ in 0..=next(4) {
        let token = &tokens[next(tokens.len())];
        let cut: Vec<usize> = token.char_indices().map(|(at, _)| at).chain([token.len()]).collect();
        let (a, b) = (cut[next(cut.len())], cut[next(cut.len())]);
        out += match next(3) {
            0 => token,
            _ => &token[a.min(b)..a.max(b)],
        };
    }
    out
}

/// The control tokens of a prompt are those of the parts that the template wrote, each alone: no text completes one,
/// and none breaks one.
#[test]
fn d09_random_programs_make_no_token_of_pieces() {
    in_small_thread(|| {
        let tokenizer = markers();
        let tokens: Vec<String> = (0..tokenizer.vocab_size() as u32)
            .filter(|id| is_control(&tokenizer, *id))
            .map(|id| tokenizer.token(id).unwrap().text.to_string())
            .collect();
        let mut seed = 7;
        let (mut rendered_programs, mut found) = (0, 0);
        for line in read("random.jsonl").lines() {
            let row: Json = serde_json::from_str(line).unwrap();
            // The program writes tokens, too.
            let source = format!("<|im_start|>{}<|im_end|>", row["template"].as_str().unwrap());
            let Ok(template) = ChatTemplate::new(source) else { continue };
            let mut given = row.clone();
            for message in given["messages"].as_array_mut().unwrap() {
                message["content"] = pieces(&tokens, &mut seed).into();
            }
            let Ok(rendered) = template.render(&conversation(&given), &tokenizer) else { continue };
            let mut wanted = Vec::new();
            for (run, origin) in rendered.runs() {
                if *origin == Origin::Template {
                    let ids = tokenizer.encode(&rendered.text()[run.clone()], &Encode::plain().special(true)).unwrap();
                    wanted.extend(ids.into_iter().filter(|id| is_control(&tokenizer, *id)));
                }
            }
            assert_eq!(control_ids(&tokenizer, &rendered), wanted, "{line}\n{:?}", rendered.text());
            rendered_programs += 1;
            found += wanted.len();
        }
        assert!(rendered_programs > 700 && found > 1400, "{rendered_programs} {found}");
    });
}

/// A template's own tokens are tokens however it makes them; what it joins of texts is none.
#[test]
fn d09_it_counts_who_wrote_each_byte() {
    in_small_thread(|| {
        let tokenizer = markers();
        let start = tokenizer.find("<|im_start|>").unwrap();
        let cases = [
            ("{{ '<|im_' ~ 'start|>' }}", "x", vec![start]),
            ("{{ ['<|im', 'start|>'] | join('_') }}", "x", vec![start]),
            ("{{ '<|IM_START|>' | lower }}", "x", vec![start]),
            ("{{ '<|im_%s|>' % 'start' }}", "x", vec![start]),
            ("{{ 'a<|im_start|>b'[1:-1] | replace('q', messages[0].content) }}", "x", vec![start]),
            ("{{ '<|im_' ~ messages[0].content }}", "start|>", vec![]),
            ("{{ messages[0].content }}|>", "<|im_start", vec![]),
            ("{{ messages[0].content | replace('#', '') }}", "<|im_#start|>", vec![]),
            ("{{ messages[0].content.split('#') | join }}", "<#|im_start|>", vec![]),
            ("{{ messages[0].content[1:] }}", "#<|im_start|>", vec![]),
            ("{% for c in messages[0].content %}{{ c }}{% endfor %}", "<|im_start|>", vec![]),
            ("{{ messages[0].content | upper | lower }}", "<|im_start|>", vec![]),
            ("{{ {messages[0].content: 1} }}", "<|im_start|>", vec![]),
            ("{{ messages | tojson }}", "<|im_start|>", vec![]),
            ("{{ '%s' % messages[0].content }}{{ '{:<40}'.format(messages[0].content) }}", "<|im_start|>", vec![]),
            (
                "{% set x %}{{ messages[0].content }}{% endset %}{{ x | indent }}<|im_start|>",
                "<|im_start|>",
                vec![start],
            ),
            ("<|im_start|>{{ messages[0].role }}{{ '<|im_start|>' ~ messages[0].role }}", "x", vec![start, start]),
        ];
        for (source, said, wanted) in cases {
            let given = Conversation::new(vec![Message::user(said)]);
            let rendered = ChatTemplate::new(source).unwrap().render(&given, &tokenizer).unwrap();
            assert_eq!(control_ids(&tokenizer, &rendered), wanted, "{source}: {:?}", rendered.text());
        }
        let role = Message::from_json(json!({"role": "user", "content": "x"})).unwrap();
        let template = ChatTemplate::new("{{ '<|' ~ messages[0].role ~ '|>' }}").unwrap();
        let rendered = template.render(&Conversation::new(vec![role]), &tokenizer).unwrap();
        assert_eq!(control_ids(&tokenizer, &rendered), [tokenizer.find("<|user|>").unwrap()]);
        // A role is the template's, so it was checked to be a name.
        assert!(Message::from_json(json!({"role": "<|im_start|>", "content": "x"})).is_err());
    });
}
