//! Who belongs to whom: the Pods and ReplicaSets of a Deployment are shown under it.

use super::collection::Collection;
use super::object::Object;

/// The longest way from a Pod to whoever has it made in the end. The longest of Kubernetes' own has two steps.
const MAX_STEPS: usize = 8;

/// For each object of a collection, the position of the one that it is shown under: its controller's controller, as far as
/// they are in the collection, or itself.
///
/// Whoever writes a manifest can name any owner, so that nothing is left out because of it: an object that is shown under
/// another is decided like any other.
pub(super) fn owners(collection: &Collection) -> Vec<usize> {
    let objects = &collection.objects;
    let top = |index: usize| {
        let mut top = index;
        for _ in 0..MAX_STEPS {
            match objects.get(top).and_then(|object| controller(collection, object)) {
                Some(controller) => top = controller,
                None => return top,
            }
        }
        // They own each other.
        index
    };
    (0..objects.len()).map(top).collect()
}

/// The position of an object's controller. One of the same name with another uid is a later one.
fn controller(collection: &Collection, object: &Object) -> Option<usize> {
    let wanted = object.controller.as_ref()?;
    let is_it = |index: &&usize| {
        let owner = collection.objects.get(**index);
        owner.is_some_and(|owner| owner.uid.is_none() || wanted.uid.is_none() || owner.uid == wanted.uid)
    };
    collection.named(&wanted.name).iter().find(is_it).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_manifests::document::{Document, Place};
    use serde_json::{Value, json};

    /// The objects' names, each with the name that it is shown under.
    fn shown(objects: &[Value]) -> Vec<(String, String)> {
        let mut collection = Collection::default();
        for object in objects {
            let json = serde_json::value::to_raw_value(object).unwrap();
            collection.add(Document { place: Place::within("here"), json }, None);
        }
        let name = |index: usize| collection.objects[index].name.name.clone();
        owners(&collection).into_iter().enumerate().map(|(index, owner)| (name(index), name(owner))).collect()
    }

    fn object(kind: &str, name: &str, uid: &str, owner: Value) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "uid": uid, "ownerReferences": [owner]}})
    }

    fn owner(kind: &str, name: &str, uid: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": true})
    }

    #[track_caller]
    fn check(objects: &[Value], expected: &[(&str, &str)]) {
        let shown = shown(objects);
        let shown: Vec<(&str, &str)> = shown.iter().map(|(name, owner)| (name.as_str(), owner.as_str())).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn objects_are_shown_under_whoever_has_them_made_in_the_end() {
        let (web, old, pod) = (
            object("Deployment", "web", "1", Value::Null),
            object("ReplicaSet", "web-1", "2", owner("Deployment", "web", "1")),
            object("Pod", "web-1-a", "3", owner("ReplicaSet", "web-1", "2")),
        );
        check(&[pod.clone(), old.clone(), web.clone()], &[("web-1-a", "web"), ("web-1", "web"), ("web", "web")]);
        // As far as they are known.
        check(&[pod.clone(), old], &[("web-1-a", "web-1"), ("web-1", "web-1")]);
        check(&[pod, web], &[("web-1-a", "web-1-a"), ("web", "web")]);
    }

    #[test]
    fn an_owner_is_of_the_same_namespace_and_the_same_object() {
        let mut elsewhere = object("ReplicaSet", "web-1", "2", Value::Null);
        elsewhere["metadata"]["namespace"] = json!("shop");
        let pod = object("Pod", "a", "3", owner("ReplicaSet", "web-1", "2"));
        check(&[pod.clone(), elsewhere], &[("a", "a"), ("web-1", "web-1")]);
        check(&[pod.clone(), object("ReplicaSet", "web-1", "9", Value::Null)], &[("a", "a"), ("web-1", "web-1")]);
        // Manifests have no uid.
        check(&[pod, object("ReplicaSet", "web-1", "", Value::Null)], &[("a", "web-1"), ("web-1", "web-1")]);
    }

    #[test]
    fn objects_that_own_each_other_are_shown_by_themselves() {
        let (a, b) = (object("Pod", "a", "1", owner("Pod", "b", "2")), object("Pod", "b", "2", owner("Pod", "a", "1")));
        check(&[a, b], &[("a", "a"), ("b", "b")]);
        check(&[object("Pod", "a", "1", owner("Pod", "a", "1"))], &[("a", "a")]);
    }
}
