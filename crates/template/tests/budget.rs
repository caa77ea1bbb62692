//! What a rendering takes is what its meter says. A test binary of its own, because it counts what its threads allocate.
#![allow(unsafe_code)]

#[path = "suite/common/mod.rs"]
#[allow(dead_code)]
mod common;

use common::greedy::{BOMBS, ENDLESS, MUCH, whole};
use common::{Request, read};
use inkstone_template::{Error, Kind, Limits, Output, Template};
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

thread_local! {
    /// Bytes that this thread holds, and the most that it held. Renderings stay on their thread.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn held(more: isize) {
    // A thread that ends has no count any more.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + more, most.max(now + more)));
    });
}

struct Counting;

// SAFETY: every call goes to the system's allocator as it is; the counts are cells of the thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        held(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        held(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        held(-(layout.size() as isize));
        // SAFETY: the caller's promise; the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Where it can't grow in place, both are there for a moment.
        held(size as isize);
        held(-(layout.size() as isize));
        // SAFETY: the caller's promise; the pointer came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that were held while this ran, beside those before.
fn most(run: impl FnOnce()) -> usize {
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    run();
    (HELD.with(Cell::get).1 - before).unsigned_abs()
}

fn rendered(source: &str, messages: &[Value], limits: Limits) -> Result<Output, Error> {
    Request { messages, limits, ..Request::default() }.render(&Template::new(source)?)
}

fn message() -> [Value; 1] {
    [json!({"role": "user", "content": "The quick <b>fox</b> jumps over\nthe naïve dog. ".repeat(40)})]
}

#[test]
fn a_rendering_leaves_no_charge() {
    let mut done = 0;
    for source in MUCH {
        match rendered(source, &message(), Limits { steps: 10_000_000, ..Limits::default() }) {
            Ok(output) => assert_eq!(output.charged_bytes, 0, "{source}"),
            Err(error) => panic!("{source}: {error}"),
        }
        done += 1;
    }
    assert_eq!(done, MUCH.len());
}

#[test]
fn values_that_are_held_outside_are_charged_until_they_go() {
    let template = Template::new("{{ a }}").unwrap();
    let mut renderer = template.renderer(&Limits::default());
    let empty = renderer.bytes();
    let text = renderer.text(&"x".repeat(1000), inkstone_template::Origin::Input).unwrap();
    let held = renderer.bytes() - empty;
    assert!((1000..1200).contains(&held), "{held}");
    renderer.set("a", text.clone());
    assert_eq!(renderer.render().unwrap().charged_bytes, held);
    let renderer = template.renderer(&Limits::default());
    drop(renderer.text("abc", inkstone_template::Origin::Input).unwrap());
    assert_eq!(renderer.bytes(), 0);
    drop(text);
}

/// What is done with a large text `t` of N bytes.
const LARGE: &[&str] = &[
    "t ~ 'b'",
    "t + 'b'",
    "t | upper",
    "t.lower()",
    "t | title",
    "t | capitalize",
    "t.swapcase()",
    "t | e",
    "t | urlencode",
    "t | tojson",
    "t | replace('a', 'b')",
    "t.replace('a', 'é')",
    "t.split('b')",
    "t.split('aaaaaaaa')",
    "t[::-1]",
    "t[::2]",
    "t | wordwrap(9)",
    "t | indent(9, first=true)",
    "'b'.center(N)",
    "'b'.zfill(N)",
    "'é' * (N // 2)",
    "[1] * (N // 32)",
    "range(99999) | list * 3 if false else (range(99999) | list) * (N // 3200000)",
    "t | list",
    "t | trim('a')",
    "'a'.strip(t)",
    "[t] | string",
    "[t, t] | join",
    "t | int",
    "t | float",
    "t | striptags",
    "'%s' % t",
    "'{}'.format(t)",
    "'%.*f' % (N, 1.5)",
    "'{:.{}f}'.format(1.5, N)",
    "'{:0{},d}'.format(1, N)",
    "t is upper",
    "t | truncate(N // 2)",
    "t | sort",
    "(range(99999) | list) | sort",
    "(range(99999) | map('string') | list) | groupby(0) | length",
    "dict.fromkeys(range(99999))",
    "{t: t} | string",
    "t.expandtabs()",
    "raise_exception(t)",
    "namespace(x=t ~ 'b')",
    "strftime_now(t)",
    "t.partition('b')",
    "t | batch(N // 9) | list",
];

#[test]
fn the_allocator_gives_no_more_than_the_limit_and_a_quarter() {
    for limit in [1 << 20, 8 << 20, 32 << 20] {
        let messages = [json!({"role": "user", "content": "x y\n".repeat(limit / 64)})];
        let deep = ["[ns.x]", "{'a': ns.x}", "namespace(x=ns.x)", "ns.x ~ 'ab'", "[ns.x, ns.x]", "ns.x + [i]"];
        let deep = deep.map(|made| {
            let start = if made.contains('+') { "[]" } else { "'a'" };
            format!("{{% set ns = namespace(x={start}) %}}{{% for i in range(99999) %}}{{% set ns.x = {made} %}}{{% endfor %}}{{{{ ns.x }}}}")
        });
        // A text that takes a good part of the memory, and a copy of it or two.
        let large = LARGE.iter().flat_map(|used| {
            [limit / 20, limit * 3 / 10, limit * 9 / 20, limit * 19 / 20]
                .map(|n| format!("{{% set t = 'a' * {n} %}}{{% set x = {} %}}", used.replace('N', &n.to_string())))
        });
        let bombs = BOMBS.iter().chain(ENDLESS).chain(MUCH).map(|bomb| whole(bomb)).chain(deep).chain(large);
        for source in bombs {
            let template = Template::new(&source).unwrap();
            let limits = Limits { memory: limit, output: limit, steps: 3_000_000, ..Limits::default() };
            let request = Request { messages: &messages, limits, ..Request::default() };
            let taken = most(|| drop(request.render(&template)));
            assert!(taken <= limit + limit / 4 + (1 << 20), "{source}: {taken} bytes, allowed were {limit}");
        }
    }
}

/// A template, a conversation, and the degree of the polynomial that its steps are.
const GROWTH: &[(&str, &str, usize)] = &[
    ("templates/gpt-oss", "{role: user}", 1),
    ("templates/qwen3", "{role: user}", 1),
    ("templates/deepseek-v3.1", "{role: user}", 1),
    ("templates/plain-chatml", "{role: user}", 1),
    ("templates/trl-idefics3", "{role: user}", 1),
    ("templates/mistral-nemo", "{role: user}", 1),
    ("templates/gemma-4", "{role: user}", 2),
    ("long/reports/scan-per-message", "{role: user}", 2),
    ("long/reports/scan-per-message", "{role: tool}", 2),
    ("long/reports/slice-per-round", "{role: user}", 1),
    ("long/reports/slice-per-round", "calls", 2),
    ("templates/gpt-oss", "calls", 2),
    ("templates/deepseek-v3.2", "calls", 2),
    ("templates/qwen3", "calls", 1),
];

#[test]
fn steps_of_equal_messages_are_a_polynomial() {
    for &(name, kind, degree) in GROWTH {
        let template = Template::new(&read(&format!("{name}.jinja"))).unwrap();
        let round: Vec<Value> = match kind {
            "calls" => serde_json::from_str(&read("long/agent400.json")).unwrap(),
            _ => {
                let role = if kind.contains("tool") { "tool" } else { "user" };
                let question = json!({"role": role, "content": "What is it?"});
                vec![question, json!({"role": "assistant", "content": "It is a fox."})]
            }
        };
        // All rounds are as the first.
        let start = if kind == "calls" { 2 } else { 0 };
        let equal = |n: usize| -> Vec<Value> {
            let rest = round[start..start + 2].iter().cycle().take(n - start);
            round[..start].iter().chain(rest).cloned().collect()
        };
        let steps = |n: usize| {
            let messages = equal(n);
            let limits = Limits::for_conversation(n, 20 * n, 200 * n);
            match (Request { messages: &messages, limits, ..Request::default() }).render(&template) {
                Ok(output) => output.steps as f64,
                Err(error) => panic!("{name}, {kind}, {n}: {error}"),
            }
        };
        // Through 500, 1,000 (and 2,000) what 4,000 are is known.
        let (a, b, c, d) = (steps(500), steps(1000), steps(2000), steps(4000));
        let linear = a + 7.0 * (b - a);
        let square = {
            let (first, second) = ((b - a) / 500.0, (c - b) / 1000.0);
            a + 3500.0 * first + 3500.0 * 3000.0 * (second - first) / 1500.0
        };
        let expected = if degree == 1 { linear } else { square };
        assert!((d / expected - 1.0).abs() < 0.01, "{name}, {kind}: {d} steps, by the polynomial {expected}");
        let is_linear = (d / linear - 1.0).abs() < 0.01;
        assert_eq!(is_linear, degree == 1, "{name}, {kind}: {a} {b} {c} {d}");
    }
}

/// Twice as much to search, to sort, to copy takes twice the steps.
#[test]
fn steps_follow_the_work() {
    for (source, unit) in [
        ("{% set x = t.count('zz') %}", "ab"),
        ("{% set x = 'zz' in t %}", "ab"),
        ("{% set x = t.find('zz') %}", "é"),
        ("{% set x = t.rfind('zz') %}", "é"),
        ("{% set x = t.split('zz') %}", "ab"),
        ("{% set x = t | replace('zz', '') %}", "ab"),
        ("{% set x = t | upper %}", "ab"),
        ("{% set x = t | upper %}", "é"),
        ("{% set x = t == (t ~ '') %}", "ab"),
        ("{% set x = t | length %}", "é"),
        ("{% set x = t[1:] | length %}", "é"),
        ("{% set x = t | tojson %}", "ab"),
        ("{% set x = t ~ t %}", "ab"),
        ("{% set x = t | striptags %}", "ab"),
        ("{% set x = t | wordcount %}", "ab"),
        ("{% set x = t | wordwrap(9) %}", "ab"),
        ("{% set x = t.isalpha() %}", "ab"),
        ("{% set x = t | int %}", "ab"),
        ("{% set x = t | trim %}", "  "),
        ("{% set x = [t] | string %}", "é"),
        ("{% set x = t | list | sort | length %}", "b"),
        ("{% set x = t is sameas(t) %}", "ab"),
        ("{% set x = {t: 1}[t] %}", "ab"),
    ] {
        let steps = |n: usize| {
            let whole = format!("{{% set t = '{unit}' * {n} %}}{source}");
            rendered(&whole, &[], Limits { steps: 1 << 40, ..Limits::default() }).unwrap().steps as f64
        };
        let base = |n: usize| {
            let whole = format!("{{% set t = '{unit}' * {n} %}}");
            rendered(&whole, &[], Limits::default()).unwrap().steps as f64
        };
        let (once, twice) = (steps(30_000) - base(30_000), steps(60_000) - base(60_000));
        assert!(once > 30_000.0 / 256.0, "{source}: {once} steps for 30,000 times {unit:?}");
        assert!((1.9..2.3).contains(&(twice / once)), "{source}: {once}, twice {twice}");
    }
}

/// No limit but the flag and the deadline.
fn boundless() -> Limits {
    Limits { steps: u64::MAX, memory: usize::MAX, output: usize::MAX, ..Limits::default() }
}

const SEARCH: &str = "{% set t = 'ab' * 5000000 %}{% for i in range(100000) %}{% for j in range(100000) %}{% set x = t.count('ba') %}{% endfor %}{% endfor %}";
const SORT: &str = "{% set l = (range(100000) | list) * 5 %}{% for i in range(100000) %}{% set x = l | sort(reverse=true) %}{% endfor %}";
const LOOP: &str = "{% for i in range(100000) %}{% for j in range(100000) %}{% for k in range(100000) %}{% endfor %}{% endfor %}{% endfor %}";
const RECURSION: &str = "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(300) }}";
const GENERATORS: &str = "{% for i in range(100000) %}{% set x = ((range(100000) | list) * 5) | map('string') | select | list | length %}{% endfor %}";

/// A tenth of a second, and what a machine that tests does beside it.
const WITHIN: Duration = Duration::from_millis(300);

#[test]
fn without_limits_a_flag_ends_it() {
    for source in [SEARCH, SORT, LOOP, RECURSION, GENERATORS] {
        let flag = Arc::new(AtomicBool::new(false));
        let limits = Limits { cancel: Some(flag.clone()), ..boundless() };
        let thread = std::thread::spawn(move || {
            let error = rendered(source, &[], limits).unwrap_err();
            (error.kind(), Instant::now())
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(!thread.is_finished(), "{source}");
        let set = Instant::now();
        flag.store(true, Ordering::Relaxed);
        let (kind, ended) = thread.join().unwrap();
        assert_eq!(kind, Kind::Cancelled, "{source}");
        assert!(ended - set < WITHIN, "{source}: {:?}", ended - set);
    }
}

#[test]
fn without_limits_a_deadline_ends_it() {
    for source in [SEARCH, SORT, LOOP, RECURSION, GENERATORS] {
        let deadline = Instant::now() + Duration::from_millis(200);
        let error = rendered(source, &[], Limits { deadline: Some(deadline), ..boundless() }).unwrap_err();
        assert_eq!(error.kind(), Kind::Deadline, "{source}");
        assert!(deadline.elapsed() < WITHIN, "{source}: {:?}", deadline.elapsed());
    }
}

#[test]
fn without_limits_what_can_not_be_is_an_error() {
    for source in [
        "{{ 'a' * 10 ** 30 }}",
        "{{ [1] * 10 ** 30 }}",
        "{{ [1] * 10 ** 17 }}",
        "{{ (1,) * (2 ** 63) }}",
        "{{ 'a'.center(4 * 10 ** 9) }}",
    ] {
        let error = rendered(source, &[], boundless()).unwrap_err();
        assert!(matches!(error.kind(), Kind::Runtime | Kind::Limit(_)), "{source}: {error}");
    }
}
