//! Engines by name.

use crate::{Engine, EngineOptions, Error, Reference, Result};
use std::fmt;
use std::sync::Arc;

/// Makes an engine.
pub type Factory = Arc<dyn Fn(&EngineOptions) -> Result<Arc<dyn Engine>> + Send + Sync>;

/// A table of engines, best first.
#[derive(Clone, Default)]
pub struct Engines {
    entries: Vec<(String, Factory)>,
}

impl Engines {
    /// In place of a name: the first engine that opens.
    pub const AUTO: &'static str = "auto";

    /// The engine of this crate.
    pub fn reference() -> Engines {
        let mut engines = Engines::default();
        engines.register(Reference::NAME, Arc::new(|options| Ok(Arc::new(Reference::new(options)?))));
        engines
    }

    /// Adds an engine before the others, in place of one of the same name.
    pub fn register(&mut self, name: impl Into<String>, factory: Factory) {
        let name = name.into();
        self.entries.retain(|(n, _)| *n != name);
        self.entries.insert(0, (name, factory));
    }

    /// Names, best first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// Opens the engine of this name; with [`Engines::AUTO`] the first one that opens.
    ///
    /// # Errors
    /// [`Error::NoEngine`], or why the engine (with `auto`: the best one) does not open.
    pub fn open(&self, name: &str, options: &EngineOptions) -> Result<Arc<dyn Engine>> {
        let known = || [Self::AUTO].into_iter().chain(self.names()).collect::<Vec<_>>().join(", ");
        let mut refusal = None;
        for (_, factory) in self.entries.iter().filter(|(n, _)| name == Self::AUTO || n == name) {
            match factory(options) {
                Ok(engine) => return Ok(engine),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        Err(refusal.unwrap_or_else(|| Error::NoEngine { name: name.to_owned(), known: known() }))
    }
}

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_opened_by_name_and_auto_takes_the_first_that_opens() {
        let mut engines = Engines::reference();
        let broken: Factory = Arc::new(|_| Err(Error::Cancelled));
        engines.register("broken", broken);
        let options = EngineOptions::default();
        assert_eq!(engines.names().collect::<Vec<_>>(), ["broken", "reference"]);
        assert_eq!(engines.open("auto", &options).unwrap().caps().name, "reference");
        assert!(matches!(engines.open("broken", &options), Err(Error::Cancelled)));
        let unknown = engines.open("cuda", &options).err().unwrap().to_string();
        assert_eq!(unknown, "no engine cuda; there are: auto, broken, reference");
    }
}
