//! Whether this machine and the API server agree on the time. Ages of reports, ends of exemptions and certificates depend on it.

use super::cluster::Cluster;
use super::finding::{About, Check, Finding, Status};
use crate::command::policy::now;

/// Seconds that an answer may take, and those that the policy forgives clocks.
const SMALL: i64 = 30;
const FORGIVEN: i64 = 600;

pub(super) fn check(cluster: &Cluster) -> Vec<Finding> {
    let mut about = About::new(Check::Clock, "API server");
    match cluster.clock() {
        Err(why) => about.only(Status::Unknown, why),
        Ok(None) => about.only(Status::Unknown, "its clock isn't known: files don't have it, and `--live` asks for it"),
        Ok(Some(server)) => {
            let seconds = server.0.saturating_sub(now().0);
            let word = if seconds < 0 { "behind" } else { "ahead of" };
            let message = format!("its clock is {} s {word} this machine's", seconds.abs());
            if seconds.abs() > FORGIVEN {
                about.add(Status::Fail, format!("{message}, and the policy forgives clocks {FORGIVEN} s"));
            } else if seconds.abs() > SMALL {
                about.add(Status::Warn, message);
            }
            about.or_ok("its clock is this machine's")
        }
    }
}
