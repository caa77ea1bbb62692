//! The models of this machine by name: the built-in story model, and the GGUF files in the folders of the user and in
//! the caches of other programs.
//!
//! A search reads folders and Ollama's manifests, and opens no model file. Every part of it is bounded.

mod families;
mod hub;
mod ollama;
mod places;
mod split;
mod walk;

pub(crate) use families::looks_like_a_name;
pub(crate) use places::Place;

use places::Layout;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use walk::Walk;

/// The name of the built-in story model.
pub(crate) const STORY: &str = "story";

/// A model that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// Its name on the command line.
    pub(crate) name: String,
    /// Its file; `None` for the built-in story model.
    pub(crate) path: Option<PathBuf>,
    /// Bytes of all its files.
    pub(crate) bytes: u64,
    /// Its files, if it is split.
    pub(crate) parts: Option<Parts>,
}

impl Found {
    /// Its path, or its description, for output.
    pub(crate) fn place(&self) -> String {
        self.path.as_ref().map_or("(inside the program)".to_string(), |path| path.display().to_string())
    }
}

/// The files of a split model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Parts {
    /// The files that were found.
    pub(crate) present: usize,
    /// The files of the whole model.
    pub(crate) all: usize,
}

/// The models, searched on first use.
pub(crate) struct Models {
    places: Vec<Place>,
    search: OnceCell<Search>,
}

/// The result of a search.
#[derive(Default)]
struct Search {
    /// The models, sorted by name and then by path, without duplicates.
    found: Vec<Found>,
    /// Places with more entries than a search reads.
    cut: Vec<PathBuf>,
}

impl Models {
    /// The models of this machine and user.
    pub(crate) fn of_machine() -> Models {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Models::of_places(places::places(&variable, std::env::home_dir().as_deref()))
    }

    fn of_places(places: Vec<Place>) -> Models {
        Models { places, search: OnceCell::new() }
    }

    /// Only these models.
    #[cfg(test)]
    pub(crate) fn of(names: &[(&str, Option<&str>)]) -> Models {
        let found = names.iter().map(|(name, path)| Found {
            name: (*name).to_string(),
            path: path.map(PathBuf::from),
            bytes: 0,
            parts: None,
        });
        Models { places: Vec::new(), search: OnceCell::from(Search { found: found.collect(), cut: Vec::new() }) }
    }

    /// All models in the order of their names.
    pub(crate) fn all(&self) -> &[Found] {
        &self.searched().found
    }

    /// The folders that are searched.
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// The folders that the user has named and that can't be read, with the errors.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = (&Path, io::Error)> {
        let own = self.places.iter().filter(|place| place.is_own);
        own.filter_map(|place| Some((&*place.folder, std::fs::read_dir(&place.folder).err()?)))
    }

    /// The folders with more entries than a search reads.
    pub(crate) fn cut(&self) -> &[PathBuf] {
        &self.searched().cut
    }

    /// The models with this name. If no model has it, `NAME.gguf` stands for `NAME`, and `NAME` for `NAME:latest`.
    pub(crate) fn named(&self, name: &str) -> Vec<&Found> {
        let with = |wanted: &str, files: bool| -> Vec<&Found> {
            self.all().iter().filter(|f| f.name == wanted && (!files || f.path.is_some())).collect()
        };
        let exact = with(name, false);
        if !exact.is_empty() {
            return exact;
        }
        match name.strip_suffix(".gguf") {
            Some(stem) => with(stem, true),
            None => with(&format!("{name}:{}", ollama::LATEST), true),
        }
    }

    fn searched(&self) -> &Search {
        self.search.get_or_init(|| search(&self.places))
    }
}

fn search(places: &[Place]) -> Search {
    let story = inkstone::embedded_file().map_or(0, |file| file.size());
    let story = Found { name: STORY.to_string(), path: None, bytes: story, parts: None };
    let mut search = Search { found: vec![story], cut: Vec::new() };
    let mut seen = HashSet::new();
    for place in places {
        let mut walk = Walk::new(&mut seen);
        let found = match place.layout {
            Layout::Files => split::grouped(&walk.gguf_files(&place.folder)),
            Layout::Hub => split::grouped(&hub::files(&place.folder, &mut walk)),
            Layout::Ollama => ollama::models(&place.folder, &mut walk),
        };
        if walk.is_exhausted() {
            search.cut.push(place.folder.clone());
        }
        search.found.extend(found);
    }
    // Two links may lead to one file.
    let mut once = HashSet::new();
    search.found.retain(|f| once.insert((f.name.clone(), f.path.as_deref().map(canonical))));
    search.found.sort();
    search
}

/// The path with its links resolved, or the path itself if this fails.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(models: &Models, name: &str) -> Vec<Option<PathBuf>> {
        models.named(name).into_iter().map(|f| f.path.clone()).collect()
    }

    #[test]
    fn an_exact_name_comes_first_then_the_two_short_forms() {
        let models = Models::of(&[
            ("a", Some("/1/a.gguf")),
            ("a", Some("/2/a.gguf")),
            ("b.gguf", Some("/b.gguf.gguf")),
            ("b", Some("/b.gguf")),
            ("m:1b", Some("/m1")),
            ("m:latest", Some("/m")),
            ("story", None),
        ]);
        let some = |paths: &[&str]| paths.iter().map(|p| Some(PathBuf::from(p))).collect::<Vec<_>>();
        assert_eq!(named(&models, "a"), some(&["/1/a.gguf", "/2/a.gguf"]));
        assert_eq!(named(&models, "a.gguf"), some(&["/1/a.gguf", "/2/a.gguf"]));
        assert_eq!(named(&models, "b.gguf"), some(&["/b.gguf.gguf"]));
        assert_eq!(named(&models, "b"), some(&["/b.gguf"]));
        assert_eq!(named(&models, "m"), some(&["/m"]));
        assert_eq!(named(&models, "m:1b"), some(&["/m1"]));
        assert_eq!(named(&models, "story"), [None]);
        // The built-in model has no file of this name.
        assert_eq!(named(&models, "story.gguf"), []);
        assert_eq!(named(&models, "M"), []);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_two_places_lead_to_is_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        for place in [&first, &second] {
            std::fs::create_dir(place).unwrap();
        }
        std::fs::write(first.join("a.gguf"), "x").unwrap();
        std::os::unix::fs::symlink(first.join("a.gguf"), second.join("a.gguf")).unwrap();
        std::os::unix::fs::symlink(first.join("a.gguf"), second.join("other.gguf")).unwrap();
        let places =
            [first.clone(), second.clone()].map(|folder| Place { folder, layout: Layout::Files, is_own: true });
        let models = Models::of_places(places.to_vec());
        let found: Vec<_> = models.all().iter().map(|f| (f.name.as_str(), f.path.clone())).collect();
        assert_eq!(
            found,
            [("a", Some(first.join("a.gguf"))), ("other", Some(second.join("other.gguf"))), ("story", None)]
        );
    }
}
