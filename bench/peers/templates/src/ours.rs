//! The interpreter of Inkstone.

use inkstone_template::{Given, Limits, Origin, Renderer, Template};
use serde_json::Value;

use crate::{Engine, NOW, Result, TOKENS};

pub struct Ours<'s> {
    source: &'s str,
    template: Template,
}

impl<'s> Ours<'s> {
    pub fn new(source: &'s str) -> Result<Self> {
        Ok(Self { source, template: Template::new(source)? })
    }
}

impl Engine for Ours<'_> {
    fn parse(&self) -> Result<()> {
        Template::new(self.source)?;
        Ok(())
    }

    fn render(&self, messages: &[Value]) -> Result<String> {
        // The counting of steps and bytes is measured; no limit is reached.
        let limits = Limits { steps: u64::MAX, memory: usize::MAX, output: usize::MAX, ..Limits::default() };
        let mut renderer = self.template.renderer(&limits);
        renderer.now(NOW);
        let messages = Values { renderer: &renderer, known: Vec::new() }.list(messages)?;
        renderer.set("messages", messages);
        renderer.set("tools", Given::none());
        renderer.set("add_generation_prompt", true.into());
        for (name, token) in TOKENS {
            let token = renderer.text(token, Origin::Template)?;
            renderer.set(name, token);
        }
        Ok(renderer.render()?.text)
    }
}

/// Keys and roles that are kept.
const KEPT: usize = 16;

/// Makes values of JSON, as `inkstone-text` does: texts are input, roles are the template's.
struct Values<'c, 'r, 't> {
    renderer: &'r Renderer<'t>,
    /// Keys and roles.
    known: Vec<(&'c str, Origin, Given)>,
}

impl<'c> Values<'c, '_, '_> {
    fn value(&mut self, value: &'c Value) -> Result<Given> {
        Ok(match value {
            Value::Null => Given::none(),
            Value::Bool(truth) => (*truth).into(),
            Value::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(n), _) => n.into(),
                (None, Some(n)) => n.into(),
                (None, None) => n.as_f64().unwrap_or(f64::NAN).into(),
            },
            Value::String(text) => self.renderer.text(text, Origin::Input)?,
            Value::Array(list) => self.list(list)?,
            Value::Object(fields) => {
                let mut pairs = Vec::with_capacity(fields.len());
                for (key, value) in fields {
                    let value = match value {
                        Value::String(role) if key == "role" => self.known(role, Origin::Template)?,
                        value => self.value(value)?,
                    };
                    pairs.push((self.known(key, Origin::Input)?, value));
                }
                self.renderer.dict(pairs.into_iter())?
            }
        })
    }

    fn list(&mut self, list: &'c [Value]) -> Result<Given> {
        let mut values = Vec::with_capacity(list.len());
        for value in list {
            values.push(self.value(value)?);
        }
        Ok(self.renderer.list(values)?)
    }

    /// A text that may come again and again. The first few are kept: they are most of all, and are found sooner than by a hash.
    fn known(&mut self, text: &'c str, origin: Origin) -> Result<Given> {
        let is_it = |(known, known_origin, _): &&(&str, Origin, Given)| *known == text && *known_origin == origin;
        if let Some((.., known)) = self.known.iter().find(is_it) {
            return Ok(known.clone());
        }
        let made = self.renderer.text(text, origin)?;
        if self.known.len() < KEPT {
            self.known.push((text, origin, made.clone()));
        }
        Ok(made)
    }
}
