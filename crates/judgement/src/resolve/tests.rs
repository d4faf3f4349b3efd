//! Which entries of an index are judged, compared with the runtimes' own code: `tests/real-host/runtimes/platforms` wrote the
//! table.

use super::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Table {
    /// `arm64/9.0 arm64/v9 arm64/9.0`: as written, as the newest containerd reads it, and as the oldest in use does.
    names: Vec<String>,
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    /// Platforms; null for an entry that has none.
    entries: Vec<Value>,
    platforms: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    asked: String,
    /// A hexadecimal digit for each index of up to four entries: its lowest bit is the first entry's.
    taken: String,
}

fn table() -> Table {
    serde_json::from_str(include_str!("../../tests/platforms/taken.json")).unwrap()
}

/// All indexes of so many of these entries, in their order.
fn indexes(entries: usize, length: usize) -> Vec<Vec<usize>> {
    if length == 0 {
        return vec![Vec::new()];
    }
    let longer = |index: Vec<usize>| {
        let first = index.last().map_or(0, |last| last + 1);
        (first..entries).map(move |entry| [index.clone(), vec![entry]].concat())
    };
    indexes(entries, length - 1).into_iter().flat_map(longer).collect()
}

/// The judged entries of an index, as bits: the lowest is the first entry's. None if the image is rejected as it is.
fn judged(index: &[&Value], asked: &str) -> Option<u32> {
    let digest = |place: usize| format!("sha256:{place:064}");
    let entry = |(place, platform): (usize, &&Value)| json!({"digest": digest(place), "platform": platform});
    let document = json!({"manifests": index.iter().enumerate().map(entry).collect::<Vec<_>>()}).to_string();
    let manifest = Manifest::read(document.as_bytes()).unwrap();
    let listed = Platforms::Listed(vec![Platform::parse(asked).unwrap()]);
    let (judged, _) = asked_for(manifest.entries(), &listed).ok()?;
    let bit = |place: usize| u32::from(judged.iter().any(|manifest| manifest.digest == digest(place))) << place;
    Some((0..index.len()).map(bit).sum())
}

/// Every entry that a node takes is judged. The others that are judged are counted too, so that judging everything doesn't pass.
#[test]
fn what_nodes_take_is_judged() {
    let (mut taken_entries, mut judged_entries, mut compared) = (0, 0, 0);
    for Group { entries, platforms } in table().groups {
        let indexes: Vec<Vec<usize>> = (1..=4).flat_map(|length| indexes(entries.len(), length)).collect();
        for Asked { asked, taken } in platforms {
            assert_eq!(taken.len(), indexes.len(), "{asked}");
            for (index, taken) in indexes.iter().zip(taken.chars()) {
                let index: Vec<&Value> = index.iter().map(|&entry| &entries[entry]).collect();
                let taken = taken.to_digit(16).unwrap();
                // An image that is rejected runs nowhere.
                let Some(judged) = judged(&index, &asked) else { continue };
                assert_eq!(taken & !judged, 0, "{asked} takes {taken:04b} of {index:?}, and {judged:04b} are judged");
                taken_entries += taken.count_ones();
                judged_entries += judged.count_ones();
                compared += 1;
            }
        }
    }
    assert_eq!((compared, taken_entries, judged_entries), (20_630, 34_843, 53_963));
}

/// Names and variants that containerd takes for the same are the same here, and no others are. If its versions differ, the name
/// isn't one that every runtime reads in the same way.
#[test]
fn platforms_are_read_as_by_containerd() {
    let names = table().names;
    let read: Vec<(Platform, &str)> = names
        .iter()
        .map(|row| {
            let mut words = row.split(' ');
            let (written, newest, oldest) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            let (architecture, variant) = written.split_once('/').unwrap();
            let variant = Some(variant).filter(|variant| !variant.is_empty());
            let platform = Platform::of("linux", architecture, variant).unwrap();
            let is_plain = platform.is_plainly("linux", architecture, variant);
            assert!(!is_plain || newest == oldest, "{row}");
            (platform, newest)
        })
        .collect();
    for (platform, newest) in &read {
        for (other, other_newest) in &read {
            assert_eq!(platform.is_same(other), newest == other_newest, "{platform} {other}");
        }
    }
}
