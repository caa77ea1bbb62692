//! The clock of deadlines, which tests set.

/// The time now.
#[cfg(not(test))]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

#[cfg(test)]
pub(crate) use tests::now;

#[cfg(test)]
pub(crate) mod tests;
