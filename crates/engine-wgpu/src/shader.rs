//! The text of a shader: a kernel of `inkstone-shaders` whose slots have other texts.

use std::borrow::Cow;
use std::fmt::Write;

/// A kernel and its variant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shader {
    /// The text, with the stand-ins of its slots.
    pub text: Cow<'static, str>,
    /// Texts that replace slots: the name of the slot, and the text.
    pub slots: Vec<(&'static str, Cow<'static, str>)>,
    /// Constants that it declares with `override`; the bits of an f64.
    constants: Vec<(&'static str, u64)>,
}

impl Shader {
    /// A kernel of the package of shaders, or the text of another one.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Shader {
        Shader { text: text.into(), slots: Vec::new(), constants: Vec::new() }
    }

    /// The kernel with this name. Tests try all names.
    pub(crate) fn named(name: &str) -> Shader {
        Shader::new(inkstone_shaders::wgsl::text(name).unwrap_or_default())
    }

    /// Puts a text in the place of a slot.
    #[must_use]
    pub fn slot(mut self, name: &'static str, text: impl Into<Cow<'static, str>>) -> Shader {
        self.slots.push((name, text.into()));
        self
    }

    /// Puts a file of the package of shaders in the place of a slot.
    #[must_use]
    pub(crate) fn file(self, slot: &'static str, name: &str) -> Shader {
        self.slot(slot, inkstone_shaders::wgsl::text(name).unwrap_or_default())
    }

    /// Sets a constant that the text declares with `override`.
    #[must_use]
    pub fn constant(mut self, name: &'static str, value: impl Into<f64>) -> Shader {
        self.constants.push((name, value.into().to_bits()));
        self
    }

    /// The constants and their values.
    pub(crate) fn constants(&self) -> Vec<(&'static str, f64)> {
        self.constants.iter().map(|(name, bits)| (*name, f64::from_bits(*bits))).collect()
    }

    /// The text with its slots replaced.
    ///
    /// # Errors
    /// A slot that the text does not have, or whose end is missing.
    pub fn assemble(&self) -> Result<String, String> {
        let (mut out, mut lines, mut used) = (String::with_capacity(self.text.len()), self.text.lines(), 0);
        while let Some(line) = lines.next() {
            let slot = line.trim().strip_prefix("// slot: ");
            let replaced = slot.and_then(|name| self.slots.iter().find(|(known, _)| *known == name.trim()));
            let Some((name, text)) = replaced else {
                let _ = writeln!(out, "{line}");
                continue;
            };
            used += 1;
            out.push_str(text);
            if !lines.any(|line| line.trim() == "// end slot") {
                return Err(format!("slot {name} has no end"));
            }
        }
        if used == self.slots.len() {
            return Ok(out);
        }
        let names: Vec<&str> = self.slots.iter().map(|(name, _)| *name).collect();
        Err(format!("of the slots {} it has {used}", names.join(", ")))
    }
}
