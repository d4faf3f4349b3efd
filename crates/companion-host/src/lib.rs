//! The companion's I/O. What it does is decided in `image-admission-companion`.

pub mod http;
pub mod lease;
pub mod log;
pub mod shutdown;
