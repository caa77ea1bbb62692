//! A template with what counts the values that it makes: instructions behind those that make one; and operations that
//! make much of little at once, which ask for room before.

use super::meter::{Meter, VALUE};
use minijinja::machinery::{Instruction, Instructions, Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, Value, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters, functions};
use minijinja_contrib::pycompat;

/// The filter that counts a value and gives it back.
const COUNTED: &str = "_counted";

/// No place among the interpreter's remembered filters.
const UNCACHED: u8 = u8::MAX;

/// Words in one tag: the compiler takes the square of their number.
const MAX_WORDS: usize = 2048;

/// The same source, with the filter behind what stands before each `*`. Otherwise the compiler computes products of
/// constants, texts of 100 MB among them, before anything is counted.
///
/// # Errors
/// A tag of too many words. What can't be read is left for the compiler to name.
pub(super) fn unfolded(source: &str, syntax: &SyntaxConfig) -> Result<String, crate::Error> {
    let (mut out, mut done, mut operand, mut words) = (String::with_capacity(source.len()), 0, false, 0);
    for (token, span) in tokenize(source, false, syntax.clone()).map_while(Result::ok) {
        words = if matches!(token, Token::VariableStart | Token::BlockStart) { 0 } else { words + 1 };
        if words > MAX_WORDS {
            let message = format!("a tag of more than {MAX_WORDS} words");
            return Err(crate::Error::Template { line: Some(span.start_line.into()), message });
        }
        // A `*` without an operand before it unpacks a list.
        if matches!(token, Token::Mul) && operand {
            let at = span.start_offset as usize;
            out.extend([&source[done..at], "|", COUNTED, " "]);
            done = at;
        }
        operand = !matches!(token, Token::ParenOpen | Token::BracketOpen | Token::Comma);
    }
    out.push_str(&source[done..]);
    Ok(out)
}

/// The same program, counted. Texts of the template itself are written like values, because a block that is set to a
/// variable collects them.
///
/// # Errors
/// Lists that are unpacked into lists or arguments, which nothing could count in between.
pub(super) fn counted<'s>(old: &Instructions<'s>) -> Result<Instructions<'s>, Error> {
    use Instruction::*;
    let count = || ApplyFilter(COUNTED, Some(1), UNCACHED);
    let mut code: Vec<(Instruction, Option<usize>)> = Vec::new();
    // Where each instruction has gone, for jumps.
    let mut places = Vec::new();
    while let Some(instruction) = old.get(places.len() as u32) {
        let line = old.get_line(places.len() as u32);
        places.push(code.len() as u32);
        let mut add = |instructions: &[Instruction<'s>]| code.extend(instructions.iter().map(|i| (i.clone(), line)));
        match instruction {
            EmitRaw(text) => add(&[LoadConst(Value::from(*text)), Emit]),
            // The value lies below what has the attribute.
            SetAttr(_) => add(&[Swap, count(), Swap, instruction.clone()]),
            Add | Mul | StringConcat | Slice | BuildList(_) | BuildMap(_) | BuildTuple(_) | ApplyFilter(..) => {
                add(&[instruction.clone(), count()]);
            }
            UnpackLists(_) => {
                let what = "a list can't be unpacked into a list or into arguments";
                return Err(Error::new(ErrorKind::SyntaxError, what));
            }
            other => add(std::slice::from_ref(other)),
        }
    }
    places.push(code.len() as u32);
    let mut new = Instructions::new(old.name(), old.source());
    for (mut instruction, line) in code {
        if let Iterate(to)
        | Jump(to)
        | JumpIfFalse(to)
        | JumpIfFalseOrPop(to)
        | JumpIfTrueOrPop(to)
        | BuildMacro(_, to, _) = &mut instruction
        {
            *to = places[*to as usize];
        }
        match line.and_then(|line| u16::try_from(line).ok()) {
            Some(line) => new.add_with_line(instruction, line),
            None => new.add(instruction),
        };
    }
    Ok(new)
}

/// What the instructions of [`counted`] call, and operations that are counted or ask for room themselves.
pub(super) fn install(environment: &mut Environment<'_>, meter: &Meter) {
    let counting = meter.clone();
    environment.add_filter(COUNTED, move |value: Value| counting.made(value));
    let makers =
        [("dict", Value::from_function(functions::dict)), ("namespace", Value::from_function(functions::namespace))];
    for (name, original) in makers {
        let meter = meter.clone();
        environment.add_function(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let value = original.call(state, &args.into_values())?;
            meter.count(&value).map(|()| value)
        });
    }
    let multipliers = [
        ("replace", Value::from_function(filters::replace)),
        ("join", Value::from_function(filters::join)),
        ("indent", Value::from_function(filters::indent)),
        ("format", Value::from_function(filters::format)),
        ("batch", Value::from_function(filters::batch)),
        ("slice", Value::from_function(filters::slice)),
        ("split", Value::from_function(filters::split)),
        ("lines", Value::from_function(filters::lines)),
        ("list", Value::from_function(filters::list)),
        ("sort", Value::from_function(filters::sort)),
        ("unique", Value::from_function(filters::unique)),
        ("map", Value::from_function(filters::map)),
        ("select", Value::from_function(filters::select)),
        ("reject", Value::from_function(filters::reject)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("groupby", Value::from_function(filters::groupby)),
        ("zip", Value::from_function(filters::zip)),
        ("chain", Value::from_function(filters::chain)),
    ];
    for (name, original) in multipliers {
        let meter = meter.clone();
        environment.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            meter.room(estimate(name, &args))?;
            original.call(state, &args)
        });
    }
    let meter = meter.clone();
    environment.set_unknown_method_callback(move |state, value, method, args| {
        let mut all: Vec<Value> = [value].into_iter().chain(args).cloned().collect();
        if method == "join" {
            // In Python it is the separator that has the method.
            all.reverse();
        }
        meter.room(estimate(method, &all))?;
        meter.made(pycompat::unknown_method_callback(state, value, method, args)?)
    });
}

/// A bound of the bytes that an operation's result has beyond what it takes.
fn estimate(operation: &str, args: &[Value]) -> usize {
    let text = |i: usize| args.get(i).map_or_else(String::new, Value::to_string);
    // The characters of a text are its items.
    let items = |i: usize| args.get(i).and_then(|list| list.try_iter().ok()).map_or(0, Iterator::count);
    let numbers = || args.iter().skip(1).flat_map(numbers).fold(0, usize::max);
    match operation {
        "replace" => text(0).matches(&text(1)).count().saturating_mul(text(2).len()),
        "join" => items(0).saturating_mul(text(1).len()),
        "indent" => (text(0).matches('\n').count() + 1).saturating_mul(numbers()),
        "split" if text(1).is_empty() => text(0).split_whitespace().count().saturating_mul(VALUE),
        "split" => text(0).matches(&text(1)).count().saturating_mul(VALUE),
        "lines" | "splitlines" => text(0).matches('\n').count().saturating_mul(VALUE),
        "batch" | "slice" => items(0).saturating_add(numbers()).saturating_mul(VALUE),
        // Any number of lists, of which each may be a text.
        "list" | "sort" | "unique" | "map" | "select" | "reject" | "selectattr" | "rejectattr" | "groupby" | "zip"
        | "chain" => (0..args.len()).map(items).fold(0, usize::saturating_add).saturating_mul(VALUE),
        "format" => {
            let format = text(0);
            let widths = format.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
            let widths = widths.map(|digits| digits.parse().unwrap_or(usize::MAX)).fold(0, usize::saturating_add);
            let each = (1..args.len()).map(|i| text(i).len()).fold(numbers(), usize::saturating_add);
            format.matches(['%', '{']).count().saturating_mul(each).saturating_add(widths)
        }
        _ => 0,
    }
}

/// A whole number, or those among named arguments.
fn numbers(value: &Value) -> Vec<usize> {
    let named = if value.is_kwargs() {
        value.try_iter().into_iter().flatten().filter_map(|key| value.get_item(&key).ok()).collect()
    } else {
        Vec::new()
    };
    [value.clone()].into_iter().chain(named).filter_map(|value| value.as_usize()).collect()
}
