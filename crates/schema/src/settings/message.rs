//! The words of rejections.

use image_admission_settings::MessageStyle;
use schemars::JsonSchema;

/// What rejections say beside their reasons, and what comes first.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    /// Whom to ask, in one line that ends every rejection: `Ask #platform-security`. At most 200 characters, without braces.
    #[schemars(
        length(min = 1, max = 200),
        regex(pattern = r"^[^{}\r\n]+$"),
        extend("examples" = ["#platform-security", "security@example.com"])
    )]
    pub contact: Option<String>,
    /// The address of a page, in that line: `See https://wiki.example/pre-scan`. `{rule}` stands for a short name of what rejects:
    /// of a policy of yours its name, of a limit `max-severity-critical` and its like. At most 500 characters.
    #[schemars(
        length(max = 500),
        regex(pattern = "^https?://"),
        extend("examples" = ["https://wiki.example.com/images#{rule}"])
    )]
    pub docs: Option<String>,
    /// What comes first where a scan rejects images.
    pub style: Option<MessageStyle>,
}
