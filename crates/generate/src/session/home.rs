//! The salt that belongs to a restored session.

use crate::inbox::Shared;
use inkstone_kvcache::Salt;
use std::sync::Arc;

/// A salt that a session shares only with its forks. The rows of a file can't be verified, so no other request may find
/// them. When the last of these sessions is dropped, the pages with the salt are free.
pub(super) struct Home {
    pub salt: Salt,
    shared: Arc<Shared>,
}

impl Home {
    pub fn new(salt: Salt, shared: Arc<Shared>) -> Home {
        Home { salt, shared }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Does not wait for a step.
        self.shared.forget(self.salt);
    }
}
