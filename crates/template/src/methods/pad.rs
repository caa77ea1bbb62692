//! `center`, `zfill`, `expandtabs` and their like.

use super::{own, taken, width};
use crate::args::{Args, needed};
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::text::{Builder, Origin, Text};
use crate::value::Value;

/// The text with so much of a character on both sides.
fn padded(text: &Text, left: usize, right: usize, fill: &Text, env: &Env) -> Result<Text> {
    if left + right == 0 {
        return Ok(text.clone());
    }
    let mut out =
        Builder::with_capacity(&env.meter, text.len().saturating_add((left + right).saturating_mul(fill.len())))?;
    out.repeat(fill, left)?;
    out.text(text)?;
    out.repeat(fill, right)?;
    Ok(out.finish()?.safe(text.is_safe()))
}

/// A text in the middle of a wider one.
pub(crate) fn centered(text: &Text, width: usize, fill: &Text, env: &Env) -> Result<Text> {
    let pad = width.saturating_sub(text.chars());
    // If both the padding and the width are odd, the additional space is on the left.
    let left = pad / 2 + (pad & width & 1);
    padded(text, left, pad - left, fill, env)
}

fn aligned(
    env: &Env,
    value: &Value,
    args: Args,
    of: &str,
    pad: impl FnOnce(&Text, usize, &Text) -> Result<Text>,
) -> Result<Value> {
    let [to, fill] = args.positional(of)?;
    let (text, to) = (own(value)?, width(needed(to, of, "width")?, "width")?);
    let fill = match fill {
        Some(fill) => taken(text, fill.as_text("fillchar")?, env)?,
        None => Text::new(&env.meter, " ", Origin::Template)?,
    };
    if fill.chars() != 1 {
        return wrong("the fill character must be exactly one character long");
    }
    Ok(Value::Text(pad(text, to, &fill)?))
}

pub(super) fn center(env: &Env, value: &Value, args: Args) -> Result<Value> {
    aligned(env, value, args, "center", |text, to, fill| centered(text, to, fill, env))
}

pub(super) fn ljust(env: &Env, value: &Value, args: Args) -> Result<Value> {
    aligned(env, value, args, "ljust", |text, to, fill| padded(text, 0, to.saturating_sub(text.chars()), fill, env))
}

pub(super) fn rjust(env: &Env, value: &Value, args: Args) -> Result<Value> {
    aligned(env, value, args, "rjust", |text, to, fill| padded(text, to.saturating_sub(text.chars()), 0, fill, env))
}

pub(super) fn zfill(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [to] = args.positional("zfill")?;
    let (text, to) = (own(value)?, width(needed(to, "zfill", "width")?, "width")?);
    let pad = to.saturating_sub(text.chars());
    // Zeros go behind a sign.
    let sign = usize::from(text.as_str().starts_with(['+', '-']));
    let zero = Text::new(&env.meter, "0", Origin::Template)?;
    let mut out = Builder::with_capacity(&env.meter, text.len().saturating_add(pad))?;
    out.text(&text.part(0..sign))?;
    out.repeat(&zero, pad)?;
    out.text(&text.part(sign..text.len()))?;
    Ok(Value::Text(out.finish()?.safe(text.is_safe())))
}

pub(super) fn expandtabs(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [size] = args.bind("expandtabs", ["tabsize"])?;
    let (text, size) = (own(value)?, size.map_or(Ok(8), |size| width(size, "tabsize"))?);
    env.meter.scan(text.len())?;
    let space = Text::new(&env.meter, " ", Origin::Template)?;
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    let mut column = 0;
    for (c, origin) in text.chars_with_origin() {
        match c {
            '\t' if size == 0 => {}
            '\t' => {
                let n = size - column % size;
                out.repeat(&space, n)?;
                column += n;
            }
            c => {
                out.char(c, origin)?;
                column = if c == '\n' || c == '\r' { 0 } else { column + 1 };
            }
        }
    }
    Ok(Value::Text(out.finish()?.safe(text.is_safe())))
}
