//! The companion in a cluster that is played.

mod laws;
mod scanners;
mod stories;
mod world;
