//! Circles of what needs itself.

use std::collections::BTreeMap;

/// A name that is in a circle, or that is only needed by those in one; none where there is no circle. What is needed and isn't
/// in the graph needs nothing.
pub(crate) fn in_circle<'n>(graph: &BTreeMap<&'n str, Vec<&'n str>>) -> Option<&'n str> {
    let mut needed: BTreeMap<&str, usize> = graph.keys().map(|name| (*name, 0)).collect();
    for need in graph.values().flatten() {
        if let Some(count) = needed.get_mut(need) {
            *count += 1;
        }
    }
    let mut free: Vec<&str> = needed.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    while let Some(name) = free.pop() {
        needed.remove(name);
        for need in graph.get(name).into_iter().flatten() {
            if let Some(count) = needed.get_mut(need) {
                *count -= 1;
                if *count == 0 {
                    free.push(need);
                }
            }
        }
    }
    needed.keys().next().and_then(|name| graph.get_key_value(name)).map(|(name, _)| *name)
}
