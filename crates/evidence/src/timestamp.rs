//! Stand-in until RFC 3161 is there.
use crate::certificate::Certificate;
use image_admission_untrusted::time::Timestamp;
/// Authority.
#[derive(Clone, Debug)]
pub struct Authority {
    /// Leaf.
    pub leaf: Option<Certificate>,
    /// Intermediates.
    pub intermediates: Vec<Certificate>,
    /// Roots.
    pub roots: Vec<Certificate>,
    /// From.
    pub valid_from: Option<Timestamp>,
    /// Until.
    pub valid_until: Option<Timestamp>,
}
/// Error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimestampError {
    /// Not yet.
    NotYet,
}
impl std::fmt::Display for TimestampError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("not yet")
    }
}
/// Verifies nothing.
///
/// # Errors
///
/// Always.
pub fn verify(_: &[u8], _: &[u8], _: &[Authority]) -> Result<Timestamp, TimestampError> {
    Err(TimestampError::NotYet)
}
