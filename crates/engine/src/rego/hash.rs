//! The hash of a kind: it changes if a policy of the kind or a library changes, and stays if another kind's policy does.

use image_admission_settings::{RegoLibrary, RegoPolicy, RegoVersion};

/// FNV-1a, 64 bits: it only has to distinguish versions of the same settings.
struct Fnv(u64);

impl Fnv {
    fn text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        // A byte that no string contains: it separates one string from the next.
        self.0 = (self.0 ^ 0xff).wrapping_mul(0x0100_0000_01b3);
    }
}

/// The hash of the policies of one kind and of all libraries, in hexadecimal.
pub(super) fn of(policies: &[&RegoPolicy], libraries: &[RegoLibrary]) -> String {
    let version = |version| if version == RegoVersion::V0 { "v0" } else { "v1" };
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for policy in policies {
        hash.text(&policy.name);
        hash.text(version(policy.version));
        hash.text(&policy.rego);
        hash.text(&policy.parameters.as_ref().map(ToString::to_string).unwrap_or_default());
    }
    for library in libraries {
        hash.text(&library.name);
        hash.text(version(library.version));
        hash.text(&library.rego);
    }
    format!("{:016x}", hash.0)
}
