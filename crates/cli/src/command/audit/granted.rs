//! A host for several policies at once, behind what one of them may ask.

use std::fmt;

use image_admission_module_host::answers::{Grants, HostAnswers, HostCall, Request};

/// A host that hands out what is granted, and refuses the rest in the host's words.
pub(super) struct Granted<'a> {
    grants: &'a Grants,
    host: &'a dyn HostAnswers,
}

impl<'a> Granted<'a> {
    /// Puts `grants` before `host`.
    pub(super) fn new(grants: &'a Grants, host: &'a dyn HostAnswers) -> Self {
        Self { grants, host }
    }
}

impl HostAnswers for Granted<'_> {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        // What can't be parsed the host itself refuses.
        if let Ok(request) = Request::parse(&call.namespace, &call.operation, &call.payload)
            && let Some((api_version, kind)) = request.resource()
        {
            self.grants.check_resource(api_version, kind)?;
        }
        self.host.answer(call)
    }

    fn may_block(&self) -> bool {
        self.host.may_block()
    }
}

impl fmt::Debug for Granted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Granted").field("grants", &self.grants).finish_non_exhaustive()
    }
}
