//! Decides which argument is the model and which is the prompt.

use super::suggest::similar_name;
use crate::Error;
use crate::models::{self, Models};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The source of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelSource {
    /// The built-in story model.
    Embedded,
    /// A file.
    File(PathBuf),
}

impl ModelSource {
    /// The model of a path or a listed name. An existing file wins over a name.
    pub(crate) fn named(argument: &Path) -> Result<ModelSource, Error> {
        ModelSource::among(&Models::of_machine(), argument)
    }

    fn among(models: &Models, argument: &Path) -> Result<ModelSource, Error> {
        let is_there = argument.symlink_metadata().is_ok() && !argument.is_dir();
        let name = argument.to_str().filter(|_| !is_there && argument.is_relative());
        let found = name.map_or_else(Vec::new, |name| models.named(name));
        match &found[..] {
            [] => Ok(ModelSource::File(argument.to_path_buf())),
            [one] => Ok(one.path.clone().map_or(ModelSource::Embedded, ModelSource::File)),
            several => {
                let paths: Vec<_> = several.iter().map(|found| found.place()).collect();
                Err(Error::Usage(format!(
                    "{argument:?} is the name of {} models; give the path of one: {}",
                    paths.len(),
                    paths.join(", ")
                )))
            }
        }
    }
}

/// The source of the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptSource {
    /// The command line.
    Argument(OsString),
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// The arguments and options for both.
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

/// An option fixes the model or the prompt, and the arguments fill the other role. If both roles are free, the form of
/// a single argument decides.
pub(super) fn sources(given: &Given) -> Result<(ModelSource, PromptSource), Error> {
    sources_among(&Models::of_machine(), given)
}

fn sources_among(models: &Models, given: &Given) -> Result<(ModelSource, PromptSource), Error> {
    let mut model = given.model.map(Path::to_path_buf);
    let mut prompt = match (given.prompt, given.file) {
        (Some(text), _) => Some(PromptSource::Argument(text.to_os_string())),
        (None, Some(file)) => Some(PromptSource::File(file.to_path_buf())),
        (None, None) => None,
    };
    let too_many = |argument: &OsStr| {
        Error::Usage(format!("one argument too many: {argument:?}; model and prompt are already given"))
    };
    match (given.arguments, &model, &prompt) {
        ([], ..) => {}
        ([one], None, None) if looks_like_a_model(models, one)? => model = Some(one.into()),
        ([one], _, None) => prompt = Some(PromptSource::Argument(one.clone())),
        ([one], None, Some(_)) => model = Some(one.into()),
        ([first, second], None, None) => {
            model = Some(first.into());
            prompt = Some(PromptSource::Argument(second.clone()));
        }
        ([.., last], ..) => return Err(too_many(last)),
    }
    let model = model.map_or(Ok(ModelSource::Embedded), |model| ModelSource::among(models, &model))?;
    Ok((model, prompt.unwrap_or(PromptSource::Stdin)))
}

/// Whether an argument is an existing file, ends in `.gguf`, or is a word with a path separator or a listed name. A
/// word that looks like the name of another model is an error: the user does not mean a prompt.
fn looks_like_a_model(models: &Models, argument: &OsStr) -> Result<bool, Error> {
    let path = Path::new(argument);
    let text = argument.to_string_lossy();
    let is_word = !text.contains(char::is_whitespace);
    if std::fs::metadata(path).is_ok_and(|m| !m.is_dir())
        || text.ends_with(".gguf")
        || is_word && (text.contains(std::path::is_separator) || !models.named(&text).is_empty())
    {
        return Ok(true);
    }
    if !models::looks_like_a_name(&text) {
        return Ok(false);
    }
    let similar = similar_name(&text, models).map_or_else(String::new, |name| format!("; did you mean {name}?"));
    Err(Error::Usage(format!(
        "{text:?} looks like the name of a model, but this machine has no such model: models are GGUF files, `inkstone list` shows them, and -p {text} makes it the prompt{similar}"
    )))
}

/// Whether the argument is a model, or would be refused as the name of one.
pub(super) fn is_for_a_model(argument: &OsStr) -> bool {
    looks_like_a_model(&Models::of_machine(), argument).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources for arguments, `-m`, `-p` and `-f`, as text.
    fn meant(arguments: &[&str], m: Option<&str>, p: Option<&str>, f: Option<&str>) -> Result<String, Error> {
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        let (model, prompt) = (m.map(Path::new), p.map(OsStr::new));
        let given = Given { arguments: &arguments, model, prompt, file: f.map(Path::new) };
        let models =
            [("story", None), ("tale:1b", Some("/1")), ("Mine", Some("/2")), ("Mine", Some("/3")), ("a b", Some("/4"))];
        let (model, prompt) = sources_among(&Models::of(&models), &given)?;
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
    fn a_listed_name_is_the_model() {
        let one = |argument: &str| meant(&[argument], None, None, None).unwrap();
        assert_eq!(one("tale:1b"), "model /1, stdin");
        assert_eq!(one("story"), "embedded, stdin");
        assert_eq!(one("Story"), "embedded, prompt Story");
        assert_eq!(one("a b"), "embedded, prompt a b");
        assert_eq!(meant(&["story", "b"], None, None, None).unwrap(), "embedded, prompt b");
        assert_eq!(meant(&["b"], Some("tale:1b"), None, None).unwrap(), "model /1, prompt b");
        assert_eq!(meant(&["tale:1b"], None, Some("p"), None).unwrap(), "model /1, prompt p");
        assert_eq!(meant(&[], Some("a b"), None, None).unwrap(), "model /4, stdin");
    }

    #[test]
    fn a_name_of_several_models_is_an_error_that_lists_the_paths() {
        for (arguments, m) in [(&["Mine"][..], None), (&[], Some("Mine")), (&["Mine", "b"], None)] {
            let error = meant(arguments, m, None, None).unwrap_err();
            assert_eq!(error.to_string(), "\"Mine\" is the name of 2 models; give the path of one: /2, /3");
            assert_eq!(error.exit_code(), crate::error::USAGE);
        }
    }

    #[test]
    fn a_name_of_no_listed_model_is_no_prompt_unless_p_says_so() {
        let error = meant(&["tale:2b"], None, None, None).unwrap_err();
        assert_eq!(error.exit_code(), crate::error::USAGE);
        assert!(error.to_string().ends_with("did you mean tale:1b?"), "{error}");
        let error = meant(&["llama3.2"], None, None, None).unwrap_err();
        assert!(error.to_string().starts_with("\"llama3.2\" looks like the name of a model"), "{error}");
        assert!(error.to_string().contains("`inkstone list`"), "{error}");
        assert_eq!(meant(&[], None, Some("llama3.2"), None).unwrap(), "embedded, prompt llama3.2");
        assert_eq!(meant(&["tale:1b", "llama3.2"], None, None, None).unwrap(), "model /1, prompt llama3.2");
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
