//! What is added to an object admits nothing.

use crate::world::{Container, Form, IMAGES, LISTS, World};
use crate::{Broken, admits_no_more, law};
use serde_json::json;

/// What is changed in a world, and its name.
type Change<'a> = (&'a str, Box<dyn Fn(&mut World) + 'a>);

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

/// No rule of these settings reads them. The key of the settings asks for breaking the glass, and is another law.
#[test]
fn what_no_rule_reads_admits_nothing() {
    law("annotations, labels, owners", |world, asked| {
        let before = asked.decide(world);
        let owner = |kind: &str, name: &str, is_controller: bool| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": is_controller}]);
        let image = world.workload.containers[0].image;
        let scanned = IMAGES[image].name().replace(['/', ':', '.'], "-");
        let changes: [Change<'_>; 6] = [
            (
                "an annotation",
                Box::new(|w: &mut World| drop(w.workload.annotations.insert("team".into(), json!("blue")))),
            ),
            (
                "a mirror Pod's annotation",
                Box::new(|w: &mut World| {
                    drop(w.workload.annotations.insert("kubernetes.io/config.mirror".into(), json!("0")))
                }),
            ),
            (
                "the policy's own annotation",
                Box::new(|w: &mut World| {
                    drop(
                        w.workload
                            .annotations
                            .insert("admission.sysdig.com/container-1-original-image".into(), json!("x")),
                    )
                }),
            ),
            (
                "a label",
                Box::new(|w: &mut World| {
                    drop(w.workload.labels.insert("app.kubernetes.io/managed-by".into(), json!("trivy-operator")))
                }),
            ),
            (
                "an owner",
                Box::new(move |w: &mut World| {
                    w.workload.owners = owner("ReplicaSet", &scanned, true).as_array().unwrap().clone()
                }),
            ),
            (
                "an owner that controls nothing",
                Box::new(move |w: &mut World| {
                    w.workload.owners = owner("Node", "n", false).as_array().unwrap().clone()
                }),
            ),
        ];
        for (what, change) in &changes {
            admits_no_more(&before, || world.with(change), what, asked)?;
        }
        Ok(())
    });
}

/// Who asks makes no difference, unless it is who may break the glass, and asks for that.
#[test]
fn another_user_is_the_same() {
    law("another user", |world, asked| {
        let answers =
            ["alice", "bob", "system:admin"].map(|user| asked.decide(&world.with(|other| other.workload.user = user)));
        let may_break = world.may_break
            && world.has("breakGlass")
            && world.workload.annotations.contains_key("example.com/break-glass");
        let [alice, bob, admin] = answers;
        if may_break {
            let is_right = alice.response["audit_annotations"]["break-glass.user"] == "alice" && alice.is_admitted();
            return if is_right { Ok(()) } else { Err(Broken::here("alice may break the glass")) };
        }
        let others = [&alice, &bob, &admin]
            .map(|answer| answer.bytes.replace("alice", "NAME").replace("bob", "NAME").replace("system:admin", "NAME"));
        if others[0] == others[1] && others[1] == others[2] {
            Ok(())
        } else {
            Err(Broken::here(format!("{others:#?}")))
        }
    });
}
