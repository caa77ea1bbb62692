//! Functions that every template has: one function and one line of a table each.

use crate::args::{Args, needed};
use crate::clock;
use crate::dict::Pairs;
use crate::env::Env;
use crate::error::{Fail, Kind, Result, SHOWN, shortened, wrong};
use crate::iterate::Values;
use crate::loops::unpack;
use crate::meter::Charge;
use crate::print::string;
use crate::range::Range;
use crate::seq::{Gather, Seq};
use crate::text::Text;
use crate::value::{Cycler, Joiner, Value};
use std::cell::Cell;
use std::rc::Rc;

/// A function by name.
#[derive(Debug)]
pub(crate) struct Function {
    pub name: &'static str,
    pub run: fn(&Env, Args) -> Result<Value>,
}

static TABLE: &[Function] = &[
    Function { name: "cycler", run: cycler },
    Function { name: "dict", run: dict },
    Function { name: "joiner", run: joiner },
    Function { name: "namespace", run: namespace },
    Function { name: "raise_exception", run: raise_exception },
    Function { name: "range", run: range },
    Function { name: "strftime_now", run: strftime_now },
];

/// The function of this name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLE.iter().find(|function| function.name == name)
}

/// The names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|function| function.name)
}

fn range(env: &Env, args: Args) -> Result<Value> {
    let [a, b, c] = args.positional("range")?;
    let a = needed(a, "range", "stop")?.as_int("an argument of range")?;
    let (start, stop) = match b {
        None => (0, a),
        Some(b) => (a, b.as_int("an argument of range")?),
    };
    let step = c.map_or(Ok(1), |c| c.as_int("an argument of range"))?;
    Range::value(env, start, stop, step)
}

/// The pairs of a dict, or of a sequence of pairs, and those given by name.
fn pairs(env: &Env, args: Args, of: &str) -> Result<Pairs> {
    let positional = Args { positional: args.positional, named: &[] };
    let [from] = positional.bind(of, [""])?;
    let mut pairs = Pairs::new(&env.meter, args.named.len())?;
    match from {
        None => {}
        Some(Value::Dict(dict)) => {
            for (key, value) in dict.pairs() {
                env.meter.values(1)?;
                pairs.insert(key.clone(), value.clone())?;
            }
        }
        Some(Value::Undefined(undefined)) => return undefined.used(),
        Some(other) => {
            let mut values = Values::of(other)?;
            while let Some(value) = values.next(env)? {
                let pair = unpack(&value, 2, env)?;
                if let (Some(key), Some(value)) = (pair.get(0), pair.get(1)) {
                    crate::compare::check_hashable(key, &env.meter)?;
                    pairs.insert(key.clone(), value.clone())?;
                }
            }
        }
    }
    for (name, value) in args.named {
        pairs.insert(Value::Text(name.clone()), value.clone())?;
    }
    Ok(pairs)
}

fn dict(env: &Env, args: Args) -> Result<Value> {
    pairs(env, args, "dict")?.value()
}

fn namespace(env: &Env, args: Args) -> Result<Value> {
    let pairs = pairs(env, args, "namespace")?.finish()?;
    let named = pairs.pairs().iter().filter_map(|(key, value)| match key {
        // No other key can be asked for.
        Value::Text(name) => Some((name.clone(), value.clone())),
        _ => None,
    });
    let (named, charge) = crate::seq::charged(&env.meter, named, pairs.len())?;
    // The namespace charges them itself.
    drop(charge);
    env.namespace(named)
}

fn cycler(env: &Env, args: Args) -> Result<Value> {
    if args.positional.is_empty() || !args.named.is_empty() {
        return wrong("cycler needs an item or more, without names");
    }
    let mut items = Gather::with_capacity(&env.meter, args.positional.len())?;
    for value in args.positional {
        items.push(value.clone())?;
    }
    let items: Seq = items.seq()?;
    let charge = Charge::of::<Cycler>(&env.meter, 0)?;
    Ok(Value::Cycler(Rc::new(Cycler { items, at: Cell::new(0), _charge: charge })))
}

fn joiner(env: &Env, args: Args) -> Result<Value> {
    let [text] = args.bind("joiner", ["sep"])?;
    let text = text.map_or_else(|| env.text(", "), |text| Ok(text.clone()))?;
    crate::value::level_above([&text])?;
    let charge = Charge::of::<Joiner>(&env.meter, 0)?;
    Ok(Value::Joiner(Rc::new(Joiner { text, used: Cell::new(false), _charge: charge })))
}

fn raise_exception(env: &Env, args: Args) -> Result<Value> {
    let [message] = args.bind("raise_exception", ["message"])?;
    let message = string(needed(message, "raise_exception", "message")?, env)?;
    // An error shows its beginning only.
    Err(Fail::new(Kind::Refused, shortened(message.as_str(), SHOWN)))
}

fn strftime_now(env: &Env, args: Args) -> Result<Value> {
    let [format] = args.bind("strftime_now", ["format"])?;
    let format: &Text = needed(format, "strftime_now", "format")?.as_text("format")?;
    env.meter.bytes(format.len())?;
    Ok(Value::Text(clock::formatted(env.now, format, &env.meter)?))
}
