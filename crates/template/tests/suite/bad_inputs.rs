//! Templates and conversations that are wrong, greedy or hostile, each in a thread with a small stack.

use crate::common::greedy::{BOMBS, ENDLESS, whole};
use crate::common::{Request, limits, longer, read};
use inkstone_template::{Error, Kind, Limit, Limits, MAX_SOURCE, Output, Template};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Of a thread; the main thread of a program has 8 MiB, others 2.
const STACK: usize = 256 << 10;
/// A tenth of a second is what is wanted; machines that test may be slow, and do other things.
const SOON: Duration = Duration::from_secs(3);

fn in_small_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    match std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn rendered(source: &str, messages: &[Value], limits: Limits) -> Result<Output, Error> {
    Request { messages, limits, ..Request::default() }.render(&Template::new(source)?)
}

/// With a few short messages and the limits of these.
fn small(source: &str) -> Result<Output, Error> {
    let messages = [json!({"role": "user", "content": "Hi <there>"}), json!({"role": "assistant", "content": "Hello"})];
    rendered(source, &messages, limits(&messages))
}

fn text(source: &str) -> String {
    small(source).unwrap_or_else(|e| panic!("{source}: {e}")).text
}

#[test]
fn d01_what_never_ends_is_ended() {
    in_small_thread(|| {
        for template in ENDLESS {
            let start = Instant::now();
            let error = small(template).map(|output| output.text.len()).unwrap_err();
            let in_time = matches!(error.limit(), Some(Limit::Steps | Limit::Memory | Limit::Output));
            let too_deep = error.message().starts_with("calls nested more than");
            assert!(in_time || too_deep, "{template}: {error}");
            assert!(start.elapsed() < SOON, "{template}: {:?}", start.elapsed());
        }
    });
}

#[test]
fn d01_a_deep_call_says_where_it_was_called() {
    in_small_thread(|| {
        let error = small("{% macro m() %}\n{{ m() }}{% endmacro %}\n\n{{ m() }}").unwrap_err();
        assert_eq!((error.line(), error.column()), (2, 5), "{error}");
        assert_eq!(error.calls().len(), 8);
        assert!(error.calls().iter().all(|call| call.name == "m" && call.line == 2), "{error}");
    });
}

/// Source, line, column, and a part of the message.
const WRONG: &[(&str, usize, usize, &str)] = &[
    ("{{ 1 + }}", 1, 8, "expected an expression, found '}}'"),
    ("a\n  {{ x y }}", 2, 8, "expected '}}', found 'y'"),
    ("{{ 'abc }}", 1, 4, "missing end of this text"),
    ("{{ (1, 2 }}", 1, 10, "unexpected '}', expected ')'"),
    ("{{ a", 1, 1, "missing end of this tag: '}}'"),
    ("é{# x", 1, 2, "missing end of comment"),
    ("\n\n{% raw %}x", 3, 1, "missing end of raw"),
    ("{% if a %}\n{% for b in c %}\n{% endif %}", 3, 4, "unknown tag 'endif'; 'for' is open"),
    ("{% if a %}b", 1, 12, "unexpected end of the template: 'if' is open, expected 'elif' or 'else' or 'endif'"),
    ("{% endif %}", 1, 4, "unknown tag 'endif'"),
    ("{% foo %}", 1, 4, "unknown tag 'foo'"),
    ("{% %}", 1, 4, "expected the name of a tag, found '%}'"),
    ("é {{ 'é' | shout }}", 1, 12, "no filter named 'shout'"),
    ("{{ a is nice }}", 1, 9, "no test named 'nice'"),
    ("{{ ? }}", 1, 4, "unexpected character '?'"),
    ("{{ 9999999999999999999999999999999999999999 }}", 1, 4, "an integer of more than 128 bits"),
    ("{% set true = 1 %}", 1, 8, "can't assign to 'true'"),
    ("{% for loop in a %}{% endfor %}", 1, 8, "can't assign to 'loop'"),
    ("{% break %}", 1, 4, "'break' outside of a loop"),
    ("{{ f(a=1, a=2) }}", 1, 5, "these arguments can't come in this order, or one is there twice"),
    ("{% macro m(a, a) %}{% endmacro %}", 1, 15, "two parameters of one name"),
    // While it runs.
    ("a {{ nothing.at_all }}", 1, 13, "'nothing' is undefined"),
    ("{{ messages[0].no.thing }}", 1, 18, "'dict object' has no attribute 'no'"),
    ("{{ 1 +\n 'a' }}", 1, 6, "unsupported operand types for +: 'int' and 'str'"),
    ("{{ 'a'.shout() }}", 1, 13, "'str object' has no attribute 'shout'"),
    ("{{ [] | map('shout') | list }}", 1, 0, ""),
    ("{{ [1] | map('shout') | list }}", 1, 25, "no filter named 'shout'"),
    ("{{ 1 / 0 }}", 1, 6, "division by zero"),
    ("{{ raise_exception('no ' ~ messages[0].role) }}", 1, 19, "no user"),
];

#[test]
fn d02_errors_have_a_place() {
    in_small_thread(|| {
        for &(source, line, column, message) in WRONG {
            let Err(error) = small(source) else {
                assert_eq!(column, 0, "{source:?} has no error");
                continue;
            };
            assert_eq!((error.line(), error.column()), (line, column), "{source:?}: {error}");
            assert!(error.message().contains(message), "{source:?}: {error}");
            assert!(error.to_string().starts_with(&format!("line {line}, column {column}: ")), "{error}");
            // The line as it is, and a caret under the place.
            let context = error.context();
            let mut lines = context.lines();
            let (shown, caret) = (lines.next().unwrap(), lines.next().unwrap());
            assert_eq!(shown.trim_start(), source.split('\n').nth(line - 1).unwrap().trim_start(), "{source:?}");
            assert_eq!(caret.chars().count(), 2 + column, "{source:?}: {error}");
            assert!(caret.ends_with('^'));
        }
        assert_eq!(small("{{ raise_exception('no') }}").unwrap_err().kind(), Kind::Refused);
    });
}

#[test]
fn d02_a_long_line_is_shown_around_the_place() {
    in_small_thread(|| {
        let source = format!("{}{{{{ x.y.z }}}}{}", "é".repeat(5000), "a".repeat(5000));
        let error = small(&source).unwrap_err();
        assert_eq!((error.line(), error.column()), (1, 5005), "{error}");
        let context = error.context();
        let (shown, caret) = context.split_once('\n').unwrap();
        assert_eq!(shown.chars().nth(caret.chars().count() - 1), Some('.'), "{error}");
        assert!(shown.chars().count() < 200);
    });
}

#[test]
fn d02_tags_that_are_left_out_are_named() {
    in_small_thread(|| {
        for tag in ["block", "include", "import", "from", "extends", "autoescape", "trans", "do", "debug"] {
            let error = Template::new(&format!("\n{{% {tag} x %}}")).unwrap_err();
            assert_eq!(error.summary(), format!("line 2, column 4: tag '{tag}' is not available in chat templates"));
            assert_eq!(error.kind(), Kind::Syntax);
        }
    });
}

#[test]
fn d02_a_source_that_is_too_long_is_refused() {
    in_small_thread(|| {
        assert!(Template::new(&"a".repeat(MAX_SOURCE)).is_ok());
        let error = Template::new(&"a".repeat(MAX_SOURCE + 1)).unwrap_err();
        assert_eq!(error.message(), format!("the source has {} bytes, allowed are {MAX_SOURCE}", MAX_SOURCE + 1));
    });
}

#[test]
fn d03_what_would_take_all_memory_is_refused() {
    in_small_thread(|| {
        let messages = [json!({"role": "user", "content": "x".repeat(1 << 20)})];
        for bomb in BOMBS {
            let start = Instant::now();
            let result = rendered(&whole(bomb), &messages, Limits::default());
            let error = result.map(|output| output.text.chars().take(80).collect::<String>()).unwrap_err();
            let expected = error.limit().is_some() || error.kind() == Kind::Refused || too_big(&error);
            assert!(expected, "{bomb}: {error}");
            assert!(error.to_string().len() < 6000, "{bomb}: {} bytes of message", error.to_string().len());
            assert!(start.elapsed() < SOON, "{bomb}: {:?}", start.elapsed());
        }
    });
}

/// What is refused whatever the limits are.
fn too_big(error: &Error) -> bool {
    ["nested more than", "range: ", "width is ", "a text of more than", "calls nested"]
        .iter()
        .any(|message| error.message().contains(message))
}

#[test]
fn d03_what_is_given_back_can_be_taken_again() {
    in_small_thread(|| {
        let messages = [json!({"role": "user", "content": "x".repeat(100_000)})];
        for source in [
            "{% for i in range(1000) %}{% set x = 'a' * 100000 %}{% endfor %}",
            "{% for i in range(1000) %}{% set x = messages[0].content ~ i %}{% endfor %}",
            "{% for i in range(1000) %}{% set x %}{{ messages[0].content }}{% endset %}{% endfor %}",
            "{% macro m(x) %}{{ x }}{% endmacro %}{% for i in range(1000) %}{% set x = m(messages[0].content) %}{% endfor %}",
        ] {
            let output = rendered(source, &messages, limits(&messages)).unwrap_or_else(|e| panic!("{source}: {e}"));
            assert!(output.peak_bytes < 1 << 20, "{source}: {}", output.peak_bytes);
            assert_eq!(output.charged_bytes, 0, "{source}");
        }
    });
}

/// Start, a part that is repeated, the middle, a part that is repeated as often, the end.
const NESTED: &[[&str; 5]] = &[
    ["{{ ", "not ", "1", "", " }}"],
    ["{{ ", "1+", "1", "", " }}"],
    ["{{ 1", "", "", "+1", " }}"],
    ["{{ 'a'", "", "", "|e", " }}"],
    ["{{ a", "", "", ".b", " }}"],
    ["{{ a", "", "", "['b']", " }}"],
    ["{{ ", "a[", "1", "]", " }}"],
    ["{% if a %}", "", "", "{% elif a %}", "{% endif %}"],
    ["", "{% if a %}{% else %}", "", "{% endif %}", ""],
    ["{{ ", "(", "1", ")", " }}"],
    ["{{ ", "(", "1", ",)", " }}"],
    ["{{ ", "[", "1", "]", " }}"],
    ["{{ ", "{1:", "1", "}", " }}"],
    ["{{ ", "-", "1", "", " }}"],
    ["{{ ", "- +", "1", "", " }}"],
    ["{{ 2", "", "", "**1", " }}"],
    ["{{ ", "1**-", "1", "", " }}"],
    ["{{ 1", "", "", "<1", " }}"],
    ["{{ 1", "", "", " in 1", " }}"],
    ["{{ a", "", "", "()", " }}"],
    ["{{ ", "a(", "", ")", " }}"],
    ["{{ ", "a(b=", "1", ")", " }}"],
    ["{{ ", "a(*", "1", ")", " }}"],
    ["{{ ", "'a'|join(", "1", ")", " }}"],
    ["{{ ", "1 is sameas(", "1", ")", " }}"],
    ["{{ ", "1 is sameas ", "1", "", " }}"],
    ["{{ 1", "", "", " is defined", " }}"],
    ["{{ 1", "", "", "~1", " }}"],
    ["{{ 1", "", "", " and 1", " }}"],
    ["{{ 0", "", "", " or 0", " }}"],
    ["{{ ", "0 or 1 and ", "1", "", " }}"],
    ["{{ ", "1 if 1 else ", "1", "", " }}"],
    ["{{ 1", "", "", " if 1", " }}"],
    ["{{ ", "1 if (", "1", ") else 2", " }}"],
    ["{{ a", "", "", "[:]", " }}"],
    ["{{ a[", "a:", "", "", "] }}"],
    ["{{ ", "'a' ", "", "", " }}"],
    ["{{ [", "1,", "", "", "] }}"],
    ["{{ {", "1:1,", "", "", "} }}"],
    ["", "{{ {# ", "", " #} }}", ""],
    ["{% for x in [1] %}", "{% for x in [x] %}", "", "{% endfor %}", "{% endfor %}"],
    ["", "{% for x in [1] recursive %}", "", "{% endfor %}", ""],
    ["", "{% for x in [] %}{% else %}", "a", "{% endfor %}", ""],
    ["", "{% with a = 1 %}", "", "{% endwith %}", ""],
    ["", "{% filter e %}", "", "{% endfilter %}", ""],
    ["", "{% set a %}", "", "{% endset %}", ""],
    ["", "{% macro m() %}", "", "{% endmacro %}", ""],
    ["{% macro m() %}{{ caller() }}{% endmacro %}", "{% call m() %}", "a", "{% endcall %}", ""],
    ["", "{% generation %}", "a", "{% endgeneration %}", ""],
    ["{% set ", "(", "a", ")", " = 1 %}"],
    ["{% set ", "(", "a", ",)", " = 1 %}"],
    ["{% set a", "", "", ", b", " = 1 %}"],
    ["{% filter e", "", "", "|e", " %}{% endfilter %}"],
    ["{% macro m(a", "", "", "=1, a", ") %}{% endmacro %}"],
    ["{{ 1 | a", "", "", ".a", " }}"],
    ["{{ [1]", "", "", "|map('abs')", "|list }}"],
    ["{{ [1]", "", "", "|map('int')|list", " }}"],
    ["{{ [1]", "", "", "|batch(1)", "|list }}"],
    ["{{ ", "'a'.", "upper", "()", " }}"],
];

#[test]
fn d04_deep_sources_are_parsed_or_refused() {
    in_small_thread(|| {
        for [start, open, middle, close, end] in NESTED {
            let room = MAX_SOURCE - start.len() - middle.len() - end.len();
            let most = 100_000.min(room / (open.len() + close.len()));
            // As many as may be, and those around the depth that is allowed.
            for times in [12, 24, 25, 26, 48, 49, 50, 51, 97, 98, 99, 100, 101, 400, 1000, 10_000, most] {
                let source = format!("{start}{}{middle}{}{end}", open.repeat(times), close.repeat(times));
                let start = Instant::now();
                if let Err(error) = small(&source) {
                    assert!(error.to_string().len() < 6000, "{times} x {open} {close}");
                }
                // A part that is not closed any more.
                drop(Template::new(&source[..source.len() - end.len() - close.len() * (times / 2)]));
                assert!(start.elapsed() < SOON, "{times} x {open} {close}: {:?}", start.elapsed());
            }
        }
    });
}

#[test]
fn d04_long_chains_work() {
    in_small_thread(|| {
        let chain = |start: &str, part: &str, end: &str| format!("{start}{}{end}", part.repeat(50_000));
        in_small_thread(move || {
            assert_eq!(text(&chain("{{ ", "not ", "1 }}")), "True");
            assert_eq!(text(&chain("{{ 1", "+1", " }}")), "50001");
            assert_eq!(text(&chain("{{ 1", "<2 ", " }}")), "False");
            assert_eq!(text(&chain("{{ ", "-", "1 }}")), "1");
            assert_eq!(text(&chain("{{ 'a'", "|e", " }}")), "a");
            assert_eq!(text(&chain("{{ 1", "**1", " }}")), "1");
            assert_eq!(text(&chain("{{ ", "1~", "1 }}")).len(), 50_001);
            assert_eq!(text(&format!("{{% if 0 %}}{}{{% else %}}b{{% endif %}}", "{% elif 0 %}a".repeat(15_000))), "b");
            let error = small(&chain("{{ messages", ".b", " }}")).unwrap_err();
            assert_eq!(error.message(), "'list object' has no attribute 'b'");
        });
    });
}

/// What is made 90,000 times of what was there before.
const DEEPER: &[&str] = &[
    "[ns.x]",
    "(ns.x,)",
    "{'a': ns.x}",
    "{(ns.x,): 1}",
    "[ns.x, ns.x]",
    "dict(a=ns.x)",
    "[[ns.x]][0][0:]",
    "cycler(ns.x)",
    "joiner(ns.x)",
    "namespace(x=ns.x)",
    "([ns.x] | map('string'))",
    "([ns.x] | map(attribute='x', default=ns.x))",
    "([ns] | map(attribute='x') | list)",
    "([ns.x] | batch(1))",
    "([ns.x] | list | reverse)",
    "({'a': ns.x} | items)",
    "({'a': ns.x}.items())",
    "({'a': ns.x}.values())",
    "[ns.x].copy",
    "({'a': ns.x}.get)",
    "(ns.x,) * 2",
    "[1] + [ns.x]",
    "([ns.x] | groupby(0, default=ns.x))",
    "dict.fromkeys(['a'], ns.x)",
];

/// What is then done with it.
const USES: &[&str] = &[
    "",
    "{{ ns.x | length }}",
    "{{ ns.x }}",
    "{{ ns.x ~ 'a' }}",
    "{{ [ns.x] | tojson }}",
    "{{ ns.x == ns.y }}",
    "{{ ns.x < ns.y }}",
    "{{ [ns.x, ns.y] | sort }}",
    "{{ [ns.x, ns.y] | unique | list }}",
    "{{ ns.x in [ns.y] }}",
    "{{ {ns.x: 1} }}",
    "{{ '%s' % [ns.x] }}",
    "{% for y in ns.x %}{{ y }}{% endfor %}",
    "{{ ns.x is sequence }}",
];

/// What is done with 90,000 of them, too.
const FAR: &[&str] = &["", "{{ ns.x }}", "{{ ns.x == ns.y }}", "{{ [ns.x, ns.y] | sort }}"];

/// Enough for loops of 90,000 rounds and what they make.
fn ample() -> Limits {
    Limits { steps: 20_000_000, memory: 256 << 20, ..Limits::default() }
}

#[test]
fn d04_deep_values_are_used_or_refused() {
    in_small_thread(|| {
        for deeper in DEEPER {
            for used in USES {
                // Nearly as deep as it goes, and far deeper.
                for times in [31, 250, 90_000] {
                    if times == 90_000 && !FAR.contains(used) {
                        continue;
                    }
                    let grow = |name: &str| {
                        let made = deeper.replace("ns.x", &format!("ns.{name}"));
                        format!("{{% for i in range({times}) %}}{{% set ns.{name} = {made} %}}{{% endfor %}}")
                    };
                    let source = format!("{{% set ns = namespace(x=1, y=1) %}}{}{}{used}", grow("x"), grow("y"));
                    let limits = if times == 90_000 { ample() } else { Limits::default() };
                    if let Err(error) = rendered(&source, &[], limits) {
                        assert_ne!(error.kind(), Kind::Syntax, "{source}: {error}");
                    }
                }
            }
        }
    });
}

/// What keeps values that come out of a namespace, in a chain of 90,000.
#[test]
fn d04_chains_through_what_is_kept_are_bounded() {
    in_small_thread(|| {
        let body =
            |kept: &str| format!("{{% set ns = namespace(x=(1,)) %}}{{% for i in range(90000) %}}{kept}{{% endfor %}}");
        for kept in [
            "{% set g = [ns] | map(attribute='x') | unique %}{% set y = g | first %}{% set ns.x = (g,) %}",
            "{% set g = [ns, ns] | map(attribute='x') | batch(1) %}{% set y = g | first %}{% set ns.x = (g,) %}",
            "{% set g = [ns, ns] | map(attribute='x') | slice(2) %}{% set y = g | first %}{% set ns.x = (g,) %}",
            "{% for l in [1] %}{% set y = loop.changed(ns.x) %}{% set ns.x = (loop,) %}{% endfor %}",
            "{% for l in [ns] | map(attribute='x') %}{% set ns.x = (loop,) %}{% endfor %}",
            "{% for l in [ns, ns] | map(attribute='x') %}{% set y = loop.nextitem %}{% set ns.x = (loop,) %}{% endfor %}",
            "{% for l in [ns] | map(attribute='x') if true %}{% set y = loop.length %}{% set ns.x = (loop,) %}{% endfor %}",
            "{% macro m() %}{{ ns }}{% endmacro %}{% set ns.x = (m, ns.x) if i % 200 else (1,) %}",
            "{% for l in [1] %}{% set ns.x = (loop.cycle, loop) %}{% endfor %}",
        ] {
            drop(rendered(&body(kept), &[], ample()));
        }
    });
}

/// Nothing of a rendering is left, also where it holds itself.
#[test]
fn d04_rings_neither_hang_nor_leak() {
    in_small_thread(|| {
        let chain =
            "{% set ns = namespace(x=1) %}{% for i in range(90000) %}{% set ns.x = namespace(x=ns.x) %}{% endfor %}";
        for source in [
            "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}{{ ns == ns }}{{ ns.x.x.x.x is defined }}",
            "{% set ns = namespace() %}{% set ns.x = [ns, {'a': ns}] %}{{ ns }}{{ ns.x == ns.x }}",
            "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ a }}{{ a == b }}",
            "{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}{% set y = loop.changed(loop) %}{% endfor %}{% set y = ns.l.changed(ns.l) %}{{ ns.l.index }}",
            "{% set ns = namespace() %}{% for i in [ns, ns] | map(attribute='l') %}{% set ns.l = loop %}{% endfor %}",
            "{% set ns = namespace() %}{% macro m() %}{% endmacro %}{% set ns.m = m %}{{ ns }}",
            "{% macro m() %}{% macro n() %}{{ n }}{% endmacro %}{{ n() }}{% endmacro %}{{ m() }}{{ m() }}",
            "{% set ns = namespace() %}{% set g = [1] | map('default', ns) %}{% set ns.g = g %}{{ g | first }}",
            chain,
            &format!("{chain}{{{{ ns.x.x.x.x == ns.x.x.x.x }}}}"),
        ] {
            let output = rendered(source, &[], ample()).unwrap_or_else(|e| panic!("{source}: {e}"));
            assert_eq!(output.charged_bytes, 0, "{source}");
        }
        let printed = rendered(&format!("{chain}{{{{ ns }}}}"), &[], ample()).unwrap_err();
        assert_eq!(printed.message(), "values nested more than 256 deep");
    });
}

/// An expression and what it writes; `None`: an error of the sandbox or of what is undefined.
const ESCAPES: &[(&str, Option<&str>)] = &[
    ("''.__class__", None),
    ("''.__class__.__mro__[1].__subclasses__()", None),
    ("[].__class__.__base__", None),
    ("messages.__class__", None),
    ("messages[0].__class__", None),
    ("(1).__class__", None),
    ("namespace.__init__", Some("")),
    ("namespace().__class__", None),
    ("range.__call__", Some("")),
    ("range(3).__class__", None),
    ("raise_exception.__globals__['os']", None),
    ("raise_exception.__globals__", Some("")),
    ("self", Some("")),
    ("self.__init__.__globals__", None),
    ("lipsum.__globals__['os'].popen('id')", None),
    ("cycler.__init__.__globals__.os", None),
    ("joiner.__init__.__globals__.os", None),
    ("'' | attr('__class__')", None),
    ("('' | attr('__class__')) is defined", Some("False")),
    ("'' | attr('__cla' ~ 'ss__')", None),
    ("['a'] | map(attribute='__class__') | list", Some("[Undefined]")),
    ("['a'] | map(attribute='__class__.__mro__') | list", None),
    ("['a'] | map('attr', '__class__') | list", Some("[Undefined]")),
    ("['a'] | selectattr('__class__') | list", Some("[]")),
    ("['a'] | groupby('__class__') | list", Some("[(Undefined, ['a'])]")),
    ("['a'] | sort(attribute='__class__') | list", Some("['a']")),
    ("['a'] | sum(attribute='__class__')", None),
    ("'{0.__class__}'.format('a')", None),
    ("'{0.__class__.__mro__}'.format('a')", None),
    ("'{a[__class__]}'.format(a='a')", None),
    ("'{0.__class__}' | format('a')", None),
    ("('{0.__class__}' | safe).format('a')", None),
    ("'{:{0.__class__}}'.format('a')", None),
    ("'%(__class__)s' % {'a': 1}", None),
    ("''.format_map({'a': 1})", None),
    ("'a'.encode('utf-8')", None),
    ("'a'.translate({})", None),
    ("[1].append(2)", None),
    ("[1].sort()", None),
    ("[1].pop()", None),
    ("messages.clear()", None),
    ("messages[0].update({'role': 'system'})", None),
    ("{}.pop('a', 1)", None),
    ("{}.setdefault('a', 1)", None),
    ("messages[0]['__class__']", None),
    ("(messages[0] | attr('update'))", None),
    ("{} | attr('role')", Some("")),
    ("open('/etc/passwd')", None),
    ("__import__('os')", None),
    ("import('os')", None),
    ("url_for", Some("")),
    ("config", Some("")),
    ("request", Some("")),
    ("get_flashed_messages", Some("")),
    ("lipsum()", None),
    ("caller", Some("")),
    ("loop", Some("")),
    ("(1).real", Some("1")),
    ("(1).to_bytes(2)", None),
    ("'a'.upper", Some("<method upper of str object>")),
    ("range", Some("<function range>")),
    ("cycler(1)", Some("<Cycler object>")),
    ("joiner()", Some("<Joiner object>")),
    ("[1] | map('abs')", Some("<generator object map>")),
];

#[test]
fn d06_nothing_leads_out_of_the_sandbox() {
    in_small_thread(|| {
        for (expression, wanted) in ESCAPES {
            let source = format!("{{{{ ({expression}) }}}}");
            match (small(&source), wanted) {
                (Ok(output), Some(wanted)) => assert_eq!(output.text, *wanted, "{source}"),
                (Err(error), None) => {
                    assert!(!matches!(error.kind(), Kind::Limit(_) | Kind::Refused), "{source}: {error}");
                }
                // An attribute that is hidden and that nothing is done with is undefined.
                (Ok(output), None) => assert_eq!(output.text, "", "{source}"),
                (result, _) => panic!("{source}: {:?}", result.map(|output| output.text).map_err(|e| e.to_string())),
            }
        }
    });
}

#[test]
fn d06_namespaces_have_no_attributes_with_underscores() {
    in_small_thread(|| {
        for source in [
            "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
            "{{ namespace(__init__=1) }}",
            "{{ namespace({'_a': 1}) }}",
        ] {
            assert_eq!(small(source).unwrap_err().kind(), Kind::Sandbox, "{source}");
        }
    });
}

#[test]
fn d06_no_address_is_printed() {
    in_small_thread(|| {
        let source = "{% macro m() %}{{ caller }}{{ m }}{% endmacro %}{% set ns = namespace(m=m) %}\
        {% for x in [1, 2] %}{{ loop }}{{ [loop] }}{{ loop.cycle }}{{ loop.changed }}{% endfor %}\
        {% call m() %}{% endcall %}{{ m }}{{ ns }}{{ [m, ns, range, dict, cycler(1), joiner(), 'a'.upper] }}\
        {{ [1] | map('abs') }}{{ [1] | reverse }}{{ {} | items }}{{ {}.items }}{{ 'a' | batch(1) }}{{ [undefined] }}\
        {{ {'a': m}.items() }}{{ '%s%r' % (m, ns) }}{{ '{}{!r}'.format(m, ns) }}{{ m.arguments }}";
        let first = text(source);
        assert!(!first.contains("0x") && !first.contains(" at "), "{first}");
        assert_eq!(first, text(source));
        for wrong in
            ["{{ [1] | map('abs') + 1 }}", "{{ range + 1 }}", "{{ namespace() + 1 }}", "{{ messages | tojson + 1 }}"]
        {
            let error = small(wrong).unwrap_err();
            assert!(!error.message().contains("0x"), "{error}");
        }
    });
}

fn conversation(file: &str) -> Vec<Value> {
    serde_json::from_str(&read(&format!("long/{file}.json"))).unwrap()
}

fn names() -> Vec<String> {
    let folder = crate::common::folder().join("templates");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter_map(|name| name.strip_suffix(".jinja").map(str::to_string)).collect();
    names.sort();
    names
}

/// Published templates that look at all messages for each message: the time of 8,000 is minutes.
const SQUARE: [&str; 5] = ["deepseek-v3.2", "gemma-4", "gpt-oss", "trl-diffusion-gemma", "trl-gptoss-training"];

/// What the templates take of a conversation: texts, lists of parts, no system message, tools with arguments as texts.
fn kinds() -> Vec<Vec<Value>> {
    let dialog = conversation("dialog400");
    let agent = conversation("agent400");
    let mut parts = dialog.clone();
    for message in &mut parts {
        message["content"] = json!([{"type": "text", "text": message["content"]}]);
    }
    let mut texts = agent.clone();
    for call in texts.iter_mut().filter_map(|message| message.get_mut("tool_calls")) {
        call[0]["function"]["arguments"] = call[0]["function"]["arguments"].to_string().into();
    }
    vec![dialog[1..].to_vec(), dialog, parts, texts, agent]
}

/// Renders it with the limits of the conversation; gives the steps where the template takes the conversation.
fn steps(name: &str, template: &Template, messages: &[Value]) -> Option<u64> {
    let limits = limits(messages);
    match (Request { messages, limits: limits.clone(), ..Request::default() }).render(template) {
        Ok(output) => {
            // There is room: a template that needs more is no wonder.
            assert!(output.steps * 2 < limits.steps, "{name}: {} of {} steps", output.steps, limits.steps);
            assert!(output.peak_bytes * 2 < limits.memory, "{name}: {} of {}", output.peak_bytes, limits.memory);
            assert!(output.text.len() * 2 < limits.output, "{name}: {} of {}", output.text.len(), limits.output);
            Some(output.steps)
        }
        Err(error) => {
            assert_eq!(error.limit(), None, "{name}: {error}");
            None
        }
    }
}

#[test]
fn d08_long_conversations_are_rendered() {
    in_small_thread(|| {
        let (kinds, mut unused) = (kinds(), Vec::new());
        for name in names() {
            let template = Template::new(&read(&format!("templates/{name}.jinja"))).unwrap();
            let most = if SQUARE.contains(&&*name) { 1000 } else { 8000 };
            let kinds: Vec<&Vec<Value>> =
                kinds.iter().filter(|messages| steps(&name, &template, &longer(messages, 400)).is_some()).collect();
            match (kinds.first(), kinds.last()) {
                (Some(first), Some(last)) => {
                    for messages in [first, last] {
                        assert!(steps(&name, &template, &longer(messages, most)).is_some(), "{name}");
                    }
                }
                _ => unused.push(name),
            }
        }
        // It sets an attribute of what is no namespace, as transformers finds, too.
        assert_eq!(unused, ["mirothinker"]);
    });
}

/// What 8,000 messages take follows from fewer: a polynomial of the second degree through three sizes.
#[test]
fn d08_limits_grow_as_the_steps_of_templates_that_look_back() {
    in_small_thread(|| {
        for (name, kind) in [
            ("templates/deepseek-v3.2", "long/agent400.json"),
            ("templates/gemma-4", "long/agent400.json"),
            ("templates/gemma-4", "long/dialog400.json"),
            ("templates/gpt-oss", "long/agent400.json"),
            ("long/reports/scan-per-message", "long/reports/chat.json"),
            ("long/reports/scan-per-message", "long/reports/rounds.json"),
            ("long/reports/slice-per-round", "long/reports/rounds.json"),
        ] {
            let template = Template::new(&read(&format!("{name}.jinja"))).unwrap();
            let messages: Vec<Value> = serde_json::from_str(&read(kind)).unwrap();
            let at = |n: usize| steps(name, &template, &longer(&messages, n)).unwrap() as f64;
            let (a, b, c) = (at(500), at(1000), at(1500));
            // Newton's form, at 8,000.
            let last = a + 15.0 * (b - a) + 105.0 * (c - 2.0 * b + a);
            let allowed = limits(&longer(&messages, 8000)).steps as f64;
            assert!(last * 2.0 < allowed, "{name}, {kind}: {last} of {allowed}");
        }
    });
}

#[test]
fn d08_a_text_of_4_mb_is_rendered() {
    in_small_thread(|| {
        let long = "A fox, <b>bold</b> and naïve.\n".repeat((4 << 20) / 30);
        let parts = json!([{"type": "text", "text": long}]);
        let mut rendered = 0;
        for name in names() {
            let template = Template::new(&read(&format!("templates/{name}.jinja"))).unwrap();
            for content in [json!(long), parts.clone()] {
                let messages = [
                    json!({"role": "user", "content": content}),
                    json!({"role": "assistant", "content": content}),
                    json!({"role": "user", "content": "Hi"}),
                ];
                rendered += usize::from(steps(&name, &template, &messages).is_some());
            }
        }
        assert!(rendered > 60, "{rendered}");
    });
}
