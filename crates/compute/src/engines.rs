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
    /// In place of a name: the first engine that opens and runs the model, never the reference engine.
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

    /// The engines that a name stands for, best first. [`Engines::AUTO`] stands for all but the reference engine, which
    /// is far slower than any other.
    ///
    /// # Errors
    /// [`Error::NoEngine`] if there are none.
    pub fn named(&self, name: &str) -> Result<Vec<(&str, &Factory)>> {
        let auto = name == Self::AUTO;
        let stands_for = |n: &str| if auto { n != Reference::NAME } else { n == name };
        let found: Vec<_> = self.entries.iter().filter(|(n, _)| stands_for(n)).map(|(n, f)| (n.as_str(), f)).collect();
        if found.is_empty() { Err(self.none(name)) } else { Ok(found) }
    }

    fn none(&self, name: &str) -> Error {
        let known = [Self::AUTO].into_iter().chain(self.names()).collect::<Vec<_>>().join(", ");
        Error::NoEngine { name: name.to_owned(), known }
    }

    /// Opens the engine of this name; with [`Engines::AUTO`] the first one that opens.
    ///
    /// # Errors
    /// [`Error::NoEngine`], or why the engine (with `auto`: the best one) does not open.
    pub fn open(&self, name: &str, options: &EngineOptions) -> Result<Arc<dyn Engine>> {
        let auto = (name == Self::AUTO).then(|| options.auto.unwrap_or(0));
        let options = EngineOptions { auto, ..options.clone() };
        let mut opened = self.named(name)?.into_iter().map(|(_, factory)| factory(&options));
        let best = opened.next().unwrap_or_else(|| Err(self.none(name)));
        best.or_else(|refusal| opened.find_map(Result::ok).ok_or(refusal))
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
        let options = EngineOptions::default();
        let none = engines.open("auto", &options).err().unwrap().to_string();
        assert_eq!(none, "no engine auto; there are: auto, reference");
        // Told of the bytes of the weights only if it was not asked for by name.
        let told: Factory = Arc::new(|options| match options.auto {
            Some(bytes) => Ok(Arc::new(Reference::new(&EngineOptions::default().budget(1000 + bytes))?)),
            None => Err(Error::Cancelled),
        });
        engines.register("told", told);
        engines.register("broken", Arc::new(|_| Err(Error::Cancelled)));
        assert_eq!(engines.names().collect::<Vec<_>>(), ["broken", "told", "reference"]);
        assert_eq!(engines.named("auto").unwrap().iter().map(|(n, _)| *n).collect::<Vec<_>>(), ["broken", "told"]);
        assert_eq!(engines.open("auto", &options).unwrap().caps().memory, 1000);
        assert_eq!(engines.open("auto", &options.clone().auto(7)).unwrap().caps().memory, 1007);
        for name in ["broken", "told"] {
            assert!(matches!(engines.open(name, &options.clone().auto(7)), Err(Error::Cancelled)), "{name}");
        }
        let unknown = engines.open("cuda", &options).err().unwrap().to_string();
        assert_eq!(unknown, "no engine cuda; there are: auto, broken, told, reference");
    }
}
