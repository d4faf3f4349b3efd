//! The words of rejections.

use image_admission_settings::MessageStyle;
use schemars::JsonSchema;

/// The contact line of rejections, and what comes first in them.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    /// Whom to ask, in the last line of every rejection: `Ask #platform-security`. At most 200 characters, without braces.
    #[schemars(
        length(min = 1, max = 200),
        regex(pattern = r"^[^{}\r\n]+$"),
        extend("examples" = ["#platform-security", "security@example.com"])
    )]
    pub contact: Option<String>,
    /// The URL of a page, in that line: `See https://wiki.example/pre-scan`. `{rule}` stands for what rejects: the name of your
    /// policy, or of a limit, like `max-severity-critical`. At most 500 characters.
    #[schemars(
        length(max = 500),
        regex(pattern = "^https?://"),
        extend("examples" = ["https://wiki.example.com/images#{rule}"])
    )]
    pub docs: Option<String>,
    /// What comes first if a scan rejects images.
    pub style: Option<MessageStyle>,
}
