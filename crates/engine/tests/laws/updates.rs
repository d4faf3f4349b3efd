//! What runs already isn't held back, and what was admitted is admitted again as it is.

use crate::world::{Form, Role, World};
use crate::{Asked, Broken, law};
use serde_json::{Value, json};

/// A request of a world with other fields.
fn asked_for(world: &World, fields: Value) -> String {
    let mut request = world.workload.request(world);
    request.as_object_mut().unwrap().append(&mut fields.as_object().unwrap().clone());
    json!({"request": request, "settings": world.settings()}).to_string()
}

/// Whether a request is admitted, and nothing is written.
fn is_left_alone(world: &World, what: &str, payload: &str) -> Result<(), Broken> {
    let answer = world.decide_with(payload, &world.host());
    if answer.is_admitted() && answer.response["mutated_object"].is_null() {
        return Ok(());
    }
    Err(Broken::here(format!("{what} is not left alone:\n{payload}\n{:#}", answer.response)))
}

/// Policies in Rego judge every update.
#[test]
fn what_changes_no_image_is_admitted() {
    law("nothing new", |world, asked| {
        let world = world.with(|world| world.switch_off("regoPolicies"));
        asked.decide(&world);
        let object = world.workload.request(&world)["object"].clone();
        let mut relabelled = object.clone();
        relabelled["metadata"]["labels"] = json!({"more": "yes"});
        is_left_alone(
            &world,
            "an update",
            &asked_for(&world, json!({"operation": "UPDATE", "object": relabelled, "oldObject": object})),
        )?;
        is_left_alone(
            &world,
            "a deletion",
            &asked_for(&world, json!({"operation": "DELETE", "object": null, "oldObject": object})),
        )
    });
}

/// What was written in the object's place, or the object.
fn admitted(world: &World, asked: &Asked) -> Option<(Value, Value)> {
    let answer = asked.decide(world);
    let object = world.workload.request(world)["object"].clone();
    let written = answer.response["mutated_object"].clone();
    answer.is_admitted().then(|| (object.clone(), if written.is_null() { object } else { written }))
}

/// By the same policy, when the API server calls it again, and by a second one behind it. Rules about tags are about other images then.
/// So is a digest of an index alone, of which one platform is pinned: trivy-operator names the index, which only a tag leads to.
#[test]
fn what_was_admitted_is_admitted_again() {
    law("once more", |world, asked| {
        let world = world.with(|world| {
            for path in
                ["imageMatching", "maxHostCalls", "preScanPolicies.customPolicies", "scanPolicies.customPolicies"]
            {
                world.switch_off(path);
            }
            if world.sources().contains(&"trivyOperator".to_owned()) {
                for container in world.workload.containers.iter_mut().filter(|own| own.form == Form::Digest) {
                    container.form = Form::Both;
                }
            }
        });
        let Some((_, written)) = admitted(&world, asked) else { return Ok(()) };
        is_left_alone(&world, "what was admitted", &asked_for(&world, json!({"object": written})))
    });
}

/// `kubectl apply` of the same file: its tags stand for the digests that were written. Nothing is asked that could reject them now.
#[test]
fn what_is_applied_again_keeps_its_digests() {
    law("applied again", |world, asked| {
        let world = world.with(|world| world.switch_off("regoPolicies"));
        let Some((object, written)) = admitted(&world, asked) else { return Ok(()) };
        let payload = asked_for(&world, json!({"operation": "UPDATE", "object": object, "oldObject": written}));
        let without = world.things().into_iter().filter(|thing| ![Role::Image, Role::Other].contains(&thing.role));
        let answer = world.decide_with(&payload, &world.with(|later| later.without = without.collect()).host());
        let now =
            if answer.response["mutated_object"].is_null() { &object } else { &answer.response["mutated_object"] };
        if answer.is_admitted() && *now == written {
            Ok(())
        } else {
            Err(Broken::here(format!("{written:#}\n{payload}\n{:#}", answer.response)))
        }
    });
}
