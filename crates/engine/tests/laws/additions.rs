//! What is added to an object admits nothing.

use crate::world::{Container, Form, IMAGES, LISTS, World};
use crate::{Broken, admits_no_more, law};
use serde_json::json;

/// A container of that image in that list.
fn container(list: &'static str, image: usize) -> Container {
    Container { list, image, name: 0, form: Form::Tag, is_old: false, text: None }
}

#[test]
fn another_image_admits_nothing() {
    law("another image", |world, asked| {
        let before = asked.decide(world);
        // One more of each list, and of each image.
        for (position, list) in LISTS.into_iter().enumerate() {
            let added = container(list, (position + world.workload.containers.len()) % IMAGES.len());
            for place in [0, world.workload.containers.len()].into_iter().skip(position % 2) {
                let other = || world.with(|other| other.workload.containers.insert(place, added.clone()));
                admits_no_more(&before, other, &format!("another image in {list}"), asked)?;
            }
        }
        Ok(())
    });
}

/// No rule of these settings reads them. The annotation that asks to break the glass is another law's.
#[test]
fn what_no_rule_reads_admits_nothing() {
    law("annotations, labels, owners", |world, asked| {
        // trivy-operator's report is found under an owner's name with fewer calls to the host.
        let world = &world.with(|world| world.switch_off("maxHostCalls"));
        let before = asked.decide(world);
        // A name that scanners may store a report of the first image under.
        let scanned = IMAGES[world.workload.containers[0].image].name().replace(['/', ':', '.'], "-");
        let owner = |kind: &str, name: &str, is_controller: bool| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": is_controller}]);
        for (part, added) in [
            ("annotations", json!({"team": "blue"})),
            ("annotations", json!({"kubernetes.io/config.mirror": "0"})),
            ("annotations", json!({"admission.sysdig.com/container-1-original-image": "x"})),
            ("labels", json!({"app.kubernetes.io/managed-by": "trivy-operator"})),
            ("owners", owner("ReplicaSet", &scanned, true)),
            ("owners", owner("Node", "n", false)),
        ] {
            let add = |other: &mut World| match part {
                "annotations" => other.workload.annotations.append(&mut added.as_object().unwrap().clone()),
                "labels" => other.workload.labels.append(&mut added.as_object().unwrap().clone()),
                _ => other.workload.owners = added.as_array().unwrap().clone(),
            };
            admits_no_more(&before, || world.with(add), &added.to_string(), asked)?;
        }
        Ok(())
    });
}

/// Who asks makes no difference, but for who may break the glass, where the object asks for that.
#[test]
fn another_user_admits_nothing() {
    law("another user", |world, asked| {
        // Whether a user may is one more call to the host.
        let whole = world.with(|other| ["breakGlass", "maxHostCalls"].iter().for_each(|path| other.switch_off(path)));
        let before = asked.decide(&whole);
        let resource = json!({"group": "policies.kubewarden.io", "resource": "clusteradmissionpolicies"});
        for user in ["alice", "bob", "system:admin"] {
            admits_no_more(&before, || whole.with(|other| other.workload.user = user), user, asked)?;
            let asks = whole.with(|other| {
                other.workload.user = user;
                other.switch("breakGlass", json!({"annotation": "example.com/break-glass", "resource": resource}));
                other.workload.annotations.insert("example.com/break-glass".into(), json!("production is down"));
            });
            let (answer, may) = (asked.decide(&asks), user == "alice" && world.may_break);
            if answer.is_admitted() != (may || before.is_admitted()) {
                return Err(Broken { why: format!("{user} breaks the glass: {may}"), by: Some(Box::new(asks)) });
            }
        }
        Ok(())
    });
}
