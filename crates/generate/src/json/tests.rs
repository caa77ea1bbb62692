use super::*;
use crate::Cancel;
use inkstone_text::Message;
use serde_json::{from_str, json, to_string};

/// The text of a value, which reads as the same value again.
#[track_caller]
fn written<T: Serialize + for<'de> Deserialize<'de> + std::fmt::Debug>(value: &T) -> String {
    let text = to_string(value).unwrap();
    assert_eq!(format!("{:?}", from_str::<T>(&text).unwrap()), format!("{value:?}"), "{text}");
    text
}

#[track_caller]
fn refused<T: for<'de> Deserialize<'de> + std::fmt::Debug>(text: &str, part: &str) {
    let error = from_str::<T>(text).unwrap_err().to_string();
    assert!(error.contains(part), "{text}: {error}");
}

#[test]
fn options_have_their_names_and_what_is_not_set_is_left_out() {
    assert_eq!(written(&Options::default()), "{}");
    let all = Options::all_set();
    let names = concat!(
        r#"{"temperature":0.7,"top_k":40,"top_p":0.9,"typical_p":0.8,"min_p":0.05,"repeat_penalty":1.1,"repeat_last_n":64,"#,
        r#""frequency_penalty":0.1,"presence_penalty":-0.1,"no_repeat_ngram":3,"logit_bias":[[5,-1.5]],"banned":[7],"#,
        r#""min_tokens":2,"max_tokens":64,"stop":["END"],"stop_ids":[9],"ignore_end":true,"seed":18446744073709551615,"#,
        r#""n":2,"num_beams":3,"length_penalty":0.5,"early_stopping":true,"logprobs":4,"special":true,"bos":false,"#,
        r#""deadline_seconds":1.5,"cache_salt":"user 1","template_vars":{"enable_thinking":false},"#,
        r#""template_limits":{"steps":1000}}"#,
    );
    assert_eq!(written(&all), names);
    // A switch is left out, and null means that a field is not set.
    assert_eq!(to_string(&Options::default().cancel(Cancel::new())).unwrap(), "{}");
    let nothing: Options = from_str(r#"{"temperature":null,"max_tokens":null,"deadline_seconds":null}"#).unwrap();
    assert_eq!(format!("{nothing:?}"), format!("{:?}", Options::default()));
    // If a name is there twice, the last value counts.
    let twice = Options::default().template_var("a", 1).template_var("a", 2);
    assert_eq!(to_string(&twice).unwrap(), r#"{"template_vars":{"a":2}}"#);
}

#[test]
fn a_limit_is_a_number_or_unlimited() {
    assert_eq!(written(&Options::default().unlimited()), r#"{"max_tokens":"unlimited"}"#);
    for (value, part) in
        [("-1", "a number of tokens"), ("1.5", "a number of tokens"), (r#""none""#, r#"string "none""#)]
    {
        refused::<Options>(&format!(r#"{{"max_tokens":{value}}}"#), part);
    }
}

#[test]
fn times_are_seconds_that_can_be() {
    for seconds in ["-1", "1e300"] {
        refused::<Options>(&format!(r#"{{"deadline_seconds":{seconds}}}"#), "allowed: a time in seconds");
    }
    let times = Timings { prefill: Duration::from_millis(20), decode: Duration::from_micros(1), total: Duration::MAX };
    let text = to_string(&times).unwrap();
    assert!(text.starts_with(r#"{"prefill_seconds":0.02,"decode_seconds":1e-6,"total_seconds":1.8"#), "{text}");
    let times = Timings { total: Duration::from_secs(2), ..times };
    written(&times);
    // The rate that the program adds is ignored.
    let program =
        r#"{"prefill_seconds":0.02,"decode_seconds":1e-6,"total_seconds":2.0,"decode_tokens_per_second":null}"#;
    assert_eq!(from_str::<Timings>(program).unwrap(), times);
    refused::<Timings>(r#"{"prefill_seconds":-0.5,"decode_seconds":0,"total_seconds":1}"#, "prefill_seconds is -0.5");
}

#[test]
fn pieces_and_replies_are_as_the_program_writes_them() {
    let bare = Piece { text: "é".to_owned(), ids: vec![7, 8], logprobs: Vec::new() };
    assert_eq!(written(&bare), r#"{"text":"é","ids":[7,8]}"#);
    let score = TokenScore { id: 7, logprob: -0.5, top: vec![(7, -0.5), (3, f32::NEG_INFINITY)] };
    let piece = Piece { logprobs: vec![score.clone()], ..bare };
    let scores = r#""logprobs":[{"id":7,"logprob":-0.5,"top":[[7,-0.5],[3,null]]}]"#;
    assert_eq!(written(&piece), format!(r#"{{"text":"é","ids":[7,8],{scores}}}"#));
    written(&TokenScore { logprob: f32::NEG_INFINITY, ..score.clone() });
    let reply = Reply {
        text: "é".to_owned(),
        ids: vec![7, 8],
        logprobs: vec![score],
        finish: FinishReason::Stop,
        score: None,
        seed: 5,
        usage: Usage { prompt_tokens: 3, cached_tokens: 0, completion_tokens: 2 },
        timings: Timings::default(),
    };
    let rest = concat!(
        r#""finish":"stop","seed":5,"usage":{"prompt_tokens":3,"cached_tokens":0,"completion_tokens":2},"#,
        r#""timings":{"prefill_seconds":0.0,"decode_seconds":0.0,"total_seconds":0.0}"#,
    );
    assert_eq!(written(&reply), format!(r#"{{"text":"é","ids":[7,8],{scores},{rest}}}"#));
    // A text of a beam search.
    assert!(written(&Reply { score: Some(-0.25), ..reply }).contains(r#""finish":"stop","score":-0.25,"seed":5"#));
}

#[test]
fn a_finish_is_read_by_name_and_length_is_the_limit() {
    use FinishReason::{Callback, Cancelled, Context, Deadline, End, Error, Length, Stop};
    for reason in [End, Stop, Length, Callback, Deadline, Cancelled, Error] {
        assert_eq!(written(&reason), format!("\"{}\"", reason.name()));
    }
    let text = to_string(&Context).unwrap();
    assert_eq!((&*text, from_str::<FinishReason>(&text).unwrap()), ("\"length\"", Length));
    let known = "`end`, `stop`, `length`, `callback`, `deadline`, `cancelled`, `error`";
    refused::<FinishReason>("\"context\"", &format!("unknown variant `context`, expected one of {known}"));
}

#[test]
fn unknown_fields_are_errors() {
    refused::<Options>(r#"{"top_q":1}"#, "unknown field `top_q`");
    refused::<Options>(r#"{"cancel":true}"#, "unknown field `cancel`");
    refused::<Options>(r#"{"template_limits":{"deadline":1}}"#, "unknown field `deadline`");
    refused::<Piece>(r#"{"text":"","ids":[],"id":1}"#, "unknown field `id`");
    refused::<TokenScore>(r#"{"id":1,"logprob":0,"top":[],"text":"a"}"#, "unknown field `text`");
    refused::<Usage>(
        r#"{"prompt_tokens":1,"cached_tokens":0,"completion_tokens":1,"tokens":2}"#,
        "unknown field `tokens`",
    );
    refused::<Timings>(r#"{"prefill":1}"#, "unknown field `prefill`");
    let reply = json!({"text": "", "ids": [], "finish": "end", "seed": 1, "error": "no"});
    refused::<Reply>(&reply.to_string(), "unknown field `error`");
}

#[test]
fn messages_are_objects_with_a_role() {
    let message = Message::from_json(json!({"role": "tool", "content": [1], "name": "f"})).unwrap();
    assert_eq!(written(&message), r#"{"role":"tool","content":[1],"name":"f"}"#);
    assert_eq!(written(&vec![Message::user("Hi")]), r#"[{"role":"user","content":"Hi"}]"#);
    refused::<Message>(r#"{"role":"<|im_end|>","content":""}"#, "the role of a message");
    refused::<Message>("[]", "a message is []");
}
