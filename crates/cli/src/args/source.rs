//! Which argument is the model and which the prompt.

use crate::Error;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where the model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelSource {
    /// The one inside the program.
    Embedded,
    /// A file.
    File(PathBuf),
}

/// Where the prompt comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptSource {
    /// The command line.
    Argument(OsString),
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// What the command line says of both.
pub(super) struct Given<'a> {
    /// Arguments without an option: at most two.
    pub(super) arguments: &'a [OsString],
    /// `-m`
    pub(super) model: Option<&'a Path>,
    /// `-p`
    pub(super) prompt: Option<&'a OsStr>,
    /// `-f`
    pub(super) file: Option<&'a Path>,
}

/// An option takes its role; what is left of the two is for the arguments. Of a single argument with both roles free,
/// its look decides.
pub(super) fn sources(given: &Given) -> Result<(ModelSource, PromptSource), Error> {
    let mut model = given.model.map(Path::to_path_buf);
    let mut prompt = match (given.prompt, given.file) {
        (Some(text), _) => Some(PromptSource::Argument(text.to_os_string())),
        (None, Some(file)) => Some(PromptSource::File(file.to_path_buf())),
        (None, None) => None,
    };
    let too_many = |argument: &OsStr| {
        Error::Usage(format!("one argument too many: {argument:?}; model and prompt are given already"))
    };
    match (given.arguments, &model, &prompt) {
        ([], ..) => {}
        ([one], None, None) if looks_like_a_model(one) => model = Some(one.into()),
        ([one], _, None) => prompt = Some(PromptSource::Argument(one.clone())),
        ([one], None, Some(_)) => model = Some(one.into()),
        ([first, second], None, None) => {
            model = Some(first.into());
            prompt = Some(PromptSource::Argument(second.clone()));
        }
        ([.., last], ..) => return Err(too_many(last)),
    }
    Ok((model.map_or(ModelSource::Embedded, ModelSource::File), prompt.unwrap_or(PromptSource::Stdin)))
}

/// An existing file, or what ends in `.gguf`, or has a path separator and no space.
pub(super) fn looks_like_a_model(argument: &OsStr) -> bool {
    let path = Path::new(argument);
    let text = argument.to_string_lossy();
    let like_a_path = text.contains(std::path::is_separator) && !text.contains(char::is_whitespace);
    std::fs::metadata(path).is_ok_and(|m| !m.is_dir()) || text.ends_with(".gguf") || like_a_path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `run` makes of arguments without an option, `-m`, `-p` and `-f`.
    fn meant(arguments: &[&str], m: Option<&str>, p: Option<&str>, f: Option<&str>) -> Result<String, Error> {
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        let (model, prompt) = (m.map(Path::new), p.map(OsStr::new));
        let (model, prompt) = sources(&Given { arguments: &arguments, model, prompt, file: f.map(Path::new) })?;
        let model = match model {
            ModelSource::Embedded => "embedded".to_string(),
            ModelSource::File(path) => format!("model {}", path.display()),
        };
        Ok(match prompt {
            PromptSource::Argument(text) => format!("{model}, prompt {}", text.to_string_lossy()),
            PromptSource::File(path) => format!("{model}, file {}", path.display()),
            PromptSource::Stdin => format!("{model}, stdin"),
        })
    }

    #[test]
    fn one_argument_is_the_model_or_the_prompt_by_its_look() {
        let cases = [
            ("Once upon a time", "embedded, prompt Once upon a time"),
            ("Hello", "embedded, prompt Hello"),
            ("", "embedded, prompt "),
            ("src", "embedded, prompt src"),           // a folder
            ("Cargo.toml", "model Cargo.toml, stdin"), // a file
            ("no such.gguf", "model no such.gguf, stdin"),
            ("models/story", "model models/story, stdin"),
            ("either / or", "embedded, prompt either / or"),
        ];
        for (argument, wanted) in cases {
            assert_eq!(meant(&[argument], None, None, None).unwrap(), wanted);
        }
    }

    #[test]
    fn options_take_their_role_and_arguments_the_other() {
        assert_eq!(meant(&[], None, None, None).unwrap(), "embedded, stdin");
        assert_eq!(meant(&["a", "b"], None, None, None).unwrap(), "model a, prompt b");
        assert_eq!(meant(&["x.gguf"], Some("m"), None, None).unwrap(), "model m, prompt x.gguf");
        assert_eq!(meant(&["x"], None, Some("p"), None).unwrap(), "model x, prompt p");
        assert_eq!(meant(&["x"], None, None, Some("f")).unwrap(), "model x, file f");
        assert_eq!(meant(&[], Some("m"), Some("p"), None).unwrap(), "model m, prompt p");
        assert_eq!(meant(&[], None, None, Some("f")).unwrap(), "embedded, file f");
    }

    #[test]
    fn no_argument_is_left_over() {
        for (m, p) in [(Some("m"), Some("p")), (Some("m"), None), (None, Some("p"))] {
            let error = meant(&["a", "b"], m, p, None).unwrap_err();
            assert!(error.to_string().starts_with("one argument too many: \"b\""), "{error}");
        }
        assert!(meant(&["a"], Some("m"), Some("p"), None).is_err());
    }
}
