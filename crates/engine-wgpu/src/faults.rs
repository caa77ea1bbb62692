//! Faults that tests plant: failures of drivers and devices, which no driver shows on request, and mistakes of kernels and of
//! the host, for checks that must find them.

/// Faults of an engine. By default there are none.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The allocation of memory with this number fails, counted from 1; 0: none.
    pub allocation: u64,
    /// Parts of the texts of shaders and what replaces them.
    pub shaders: Vec<(String, String)>,
    /// A mistake of the host.
    pub host: Option<Mistake>,
}

/// Mistakes of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// A dispatch has the parameters of the dispatch before.
    Parameters,
    /// Ranges are copied before the work of their submit.
    EarlyCopy,
    /// A staging buffer is used again before its ranges were fetched.
    Staging,
    /// Operands begin a word late.
    Offset,
}

impl Faults {
    /// Whether there are none.
    pub(crate) fn are_none(&self) -> bool {
        self.allocation == 0 && self.shaders.is_empty() && self.host.is_none()
    }

    /// The text of a shader with its faults.
    pub(crate) fn planted(&self, text: String) -> String {
        self.shaders.iter().fold(text, |text, (from, to)| text.replace(from, to))
    }

    /// Whether the host makes this mistake.
    pub(crate) fn has(&self, mistake: Mistake) -> bool {
        self.host == Some(mistake)
    }
}
