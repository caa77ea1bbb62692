//! Our engine.

use inkstone_template::{Given, Limits, Origin, Renderer, Template};
use serde_json::Value;
use std::collections::HashMap;

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
        // Of no weight for what is measured.
        let limits = Limits { steps: u64::MAX, memory: usize::MAX, output: usize::MAX, ..Limits::default() };
        let mut renderer = self.template.renderer(&limits);
        renderer.now(NOW);
        let messages = Values { renderer: &renderer, keys: HashMap::new() }.list(messages)?;
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

/// Makes values of JSON, whose texts are input.
struct Values<'c, 'r, 't> {
    renderer: &'r Renderer<'t>,
    /// Keys come again and again.
    keys: HashMap<&'c str, Given>,
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
                    pairs.push((self.key(key)?, self.value(value)?));
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

    fn key(&mut self, key: &'c str) -> Result<Given> {
        if let Some(known) = self.keys.get(key) {
            return Ok(known.clone());
        }
        let made = self.renderer.text(key, Origin::Input)?;
        self.keys.insert(key, made.clone());
        Ok(made)
    }
}
