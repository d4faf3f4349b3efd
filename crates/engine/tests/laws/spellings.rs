//! Every spelling of an image has one verdict, by the same reports, exemptions and signatures.

use crate::world::{Answer, Form, IMAGES, World};
use crate::{Asked, Broken, law};

/// What is said of an image that doesn't repeat its spelling.
const SAID: [&str; 9] =
    [".digest", ".status", ".state", ".source", ".pre-scan", ".scan", ".reports", ".exemptions", ".verified-by"];

/// A world where every container of an image spells it so.
fn spelled(world: &World, image: usize, name: usize, form: Form) -> World {
    world.with(|other| {
        for container in other.workload.containers.iter_mut().filter(|container| container.image == image) {
            (container.name, container.form, container.text) = (name, form, None);
        }
    })
}

fn is_same(before: &Answer, other: World, asked: &Asked, said: &[&str]) -> Result<(), Broken> {
    let after = asked.decide(&other);
    if before.is_admitted() == after.is_admitted() && before.audit(said) == after.audit(said) {
        return Ok(());
    }
    Err(Broken {
        why: format!("another spelling has another verdict, before:\n{:#}", before.response),
        by: Some(Box::new(other)),
    })
}

/// `nginx`, `docker.io/library/nginx`, `index.docker.io/nginx`; hosts in capitals, and with the default port. With `imageMatching: raw`
/// prefixes are compared with what is written.
#[test]
fn a_repository_has_one_name() {
    law("names of a repository", |world, asked| {
        let world = world.with(|world| world.switch_off("imageMatching"));
        let image = world.workload.containers[0].image;
        let form = world.workload.containers[0].form;
        let before = asked.decide(&spelled(&world, image, 0, form));
        for name in 1..IMAGES[image].names.len() {
            is_same(&before, spelled(&world, image, name, form), asked, &SAID)?;
        }
        Ok(())
    });
}

/// With a tag, with a digest, with both. What is documented to be another: rules about tags, Kubescape's reports, which have the name
/// in the Pod, registries that can't be asked for the tag, and what asking for the tag costs.
#[test]
fn an_image_has_one_verdict_by_tag_and_by_digest() {
    law("tags and digests", |world, asked| {
        let image = world.workload.containers[0].image;
        let world = world.with(|world| {
            for path in [
                "imageMatching",
                "preCustomRules",
                "maxHostCalls",
                "preScanPolicies.customPolicies",
                "scanPolicies.customPolicies",
            ] {
                world.switch_off(path);
            }
            (world.contents[image].is_there, world.contents[image].is_down) = (true, false);
        });
        if world.sources().contains(&"kubescape".to_owned()) {
            return Ok(());
        }
        let before = asked.decide(&spelled(&world, image, 1, Form::Tag));
        for form in [Form::Digest, Form::Both] {
            is_same(&before, spelled(&world, image, 1, form), asked, &SAID)?;
        }
        Ok(())
    });
}
