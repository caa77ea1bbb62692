//! The folders that are searched.

use super::walk::small_file;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of Ollama's service on Linux.
const OLLAMA_SERVICE: &str = "/usr/share/ollama/.ollama/models";
/// The file in the user's home with the path of LM Studio's home.
const LM_STUDIO_POINTER: &str = ".lmstudio-home-pointer";
/// The length of the longest path on Linux, and a line end.
const MAX_POINTER: u64 = 4096 + 2;

/// A folder, and how models are stored in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(super) layout: Layout,
    /// Whether `INKSTONE_MODELS` names it.
    pub(super) is_own: bool,
}

/// How models are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// GGUF files at any depth.
    Files,
    /// The hub cache of Hugging Face.
    Hub,
    /// The manifests and blobs of Ollama.
    Ollama,
}

/// The places without duplicates, in the order of the search. `variable` returns an environment variable unless it is
/// empty.
pub(super) fn places(variable: &dyn Fn(&str) -> Option<OsString>, home: Option<&Path>) -> Vec<Place> {
    let path = |name: &str| variable(name).map(PathBuf::from);
    let in_home = |rest: &str| home.map(|home| home.join(rest));
    let cache = path("XDG_CACHE_HOME").or_else(|| in_home(".cache"));
    let in_cache = |rest: &str| cache.as_ref().map(|cache| cache.join(rest));

    let own = variable("INKSTONE_MODELS").map(|list| std::env::split_paths(&list).collect::<Vec<_>>());
    let llama_cpp = path("LLAMA_CACHE").or_else(|| {
        if cfg!(target_os = "macos") {
            in_home("Library/Caches/llama.cpp")
        } else if cfg!(windows) {
            path("LOCALAPPDATA").map(|folder| folder.join("llama.cpp"))
        } else {
            in_cache("llama.cpp")
        }
    });
    let hub = path("HF_HUB_CACHE")
        .or_else(|| path("HUGGINGFACE_HUB_CACHE"))
        .or_else(|| path("HF_HOME").map(|folder| folder.join("hub")))
        .or_else(|| in_cache("huggingface/hub"));
    let ollama = match path("OLLAMA_MODELS") {
        Some(folder) => vec![folder],
        None => in_home(".ollama/models")
            .into_iter()
            .chain(cfg!(target_os = "linux").then(|| OLLAMA_SERVICE.into()))
            .collect(),
    };
    let lm_studio = (home.and_then(lm_studio_home).into_iter().map(|folder| folder.join("models")))
        .chain([".lmstudio/models", ".cache/lm-studio/models"].into_iter().filter_map(in_home));

    let of = |layout: Layout| move |folder: PathBuf| Place { folder, layout, is_own: false };
    let mut places: Vec<Place> = Vec::new();
    let own = own.unwrap_or_default().into_iter().map(of(Layout::Files)).map(|place| Place { is_own: true, ..place });
    let all = own
        .chain(llama_cpp.map(of(Layout::Files)))
        .chain(hub.map(of(Layout::Hub)))
        .chain(ollama.into_iter().map(of(Layout::Ollama)))
        .chain(lm_studio.map(of(Layout::Files)));
    for place in all.filter(|place| !place.folder.as_os_str().is_empty()) {
        if !places.iter().any(|known| (&known.folder, known.layout) == (&place.folder, place.layout)) {
            places.push(place);
        }
    }
    places
}

/// The folder that LM Studio has written into its pointer: one line with an absolute path.
fn lm_studio_home(home: &Path) -> Option<PathBuf> {
    let text = String::from_utf8(small_file(&home.join(LM_STUDIO_POINTER), MAX_POINTER)?).ok()?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let path = Path::new(line.strip_suffix('\r').unwrap_or(line));
    (path.is_absolute() && !line.contains(['\n', '\0'])).then(|| path.to_path_buf())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The places as lines; `variables` is the environment.
    fn lines(variables: &[(&str, &str)], home: Option<&str>) -> Vec<String> {
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        let places = places(&variable, home.map(Path::new));
        places.iter().map(|place| format!("{:?} {}", place.layout, place.folder.display())).collect()
    }

    #[test]
    fn without_variables_the_folders_are_in_the_home() {
        assert_eq!(
            lines(&[], Some("/h/me")),
            [
                "Files /h/me/.cache/llama.cpp",
                "Hub /h/me/.cache/huggingface/hub",
                "Ollama /h/me/.ollama/models",
                "Ollama /usr/share/ollama/.ollama/models",
                "Files /h/me/.lmstudio/models",
                "Files /h/me/.cache/lm-studio/models",
            ]
        );
        assert_eq!(lines(&[], None), ["Ollama /usr/share/ollama/.ollama/models"]);
    }

    #[test]
    fn a_variable_replaces_the_folder_and_the_first_of_several_counts() {
        let with = |variables: &[(&str, &str)], start: &str| {
            let lines = lines(&[&[("OLLAMA_MODELS", "/o"), ("LLAMA_CACHE", "/l")], variables].concat(), Some("/h"));
            lines.into_iter().filter(|line| line.starts_with(start)).collect::<Vec<_>>()
        };
        assert_eq!(with(&[], "Ollama"), ["Ollama /o"]);
        assert_eq!(with(&[], "Files /l"), ["Files /l"]);
        let hub = [
            ("HF_HUB_CACHE", "/1", "/1"),
            ("HUGGINGFACE_HUB_CACHE", "/2", "/2"),
            ("HF_HOME", "/3", "/3/hub"),
            ("XDG_CACHE_HOME", "/4", "/4/huggingface/hub"),
        ];
        for from in 0..hub.len() {
            let variables: Vec<_> = hub[from..].iter().map(|(name, value, _)| (*name, *value)).collect();
            assert_eq!(with(&variables, "Hub"), [format!("Hub {}", hub[from].2)]);
        }
        let xdg = lines(&[("XDG_CACHE_HOME", "/x")], Some("/h"));
        assert_eq!(xdg[..2], ["Files /x/llama.cpp", "Hub /x/huggingface/hub"]);
    }

    #[test]
    fn the_pointer_of_lm_studio_is_one_line_with_an_absolute_path() {
        let home = tempfile::tempdir().unwrap();
        let long = format!("/{}", "x".repeat(MAX_POINTER as usize));
        let cases: [(&[u8], Option<&str>); 9] = [
            (b"/data/lm", Some("/data/lm")),
            (b"/data/with space\n", Some("/data/with space")),
            (b"/data/lm\r\n", Some("/data/lm")),
            (b"", None),
            (b"relative/lm", None),
            (b"/one\n/two", None),
            (b"/nul\0", None),
            (b"/\xFF", None),
            (long.as_bytes(), None),
        ];
        for (text, wanted) in cases {
            std::fs::write(home.path().join(LM_STUDIO_POINTER), text).unwrap();
            assert_eq!(lm_studio_home(home.path()).as_deref(), wanted.map(Path::new), "{:?}", text.escape_ascii());
        }
        // A file whose path is LM Studio's default adds nothing.
        let default = home.path().join(".lmstudio");
        std::fs::write(home.path().join(LM_STUDIO_POINTER), default.to_str().unwrap()).unwrap();
        let lines = lines(&[], home.path().to_str());
        assert_eq!(lines.iter().filter(|line| line.contains("lmstudio")).count(), 1, "{lines:?}");
        std::fs::remove_file(home.path().join(LM_STUDIO_POINTER)).unwrap();
        assert_eq!(lm_studio_home(home.path()), None);
    }

    #[test]
    fn own_folders_are_a_list_and_come_first() {
        let variables = [("INKSTONE_MODELS", "/a::/b:/a"), ("LLAMA_CACHE", "/b")];
        let lines = lines(&variables, None);
        assert_eq!(lines[..2], ["Files /a", "Files /b"]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        let variable = |name: &str| (name == "INKSTONE_MODELS").then(|| OsString::from("/a:/h/.lmstudio/models"));
        let places = places(&variable, Some(Path::new("/h")));
        let own: Vec<_> =
            places.iter().filter(|place| place.is_own).map(|place| place.folder.to_str().unwrap()).collect();
        assert_eq!(own, ["/a", "/h/.lmstudio/models"]);
    }
}
