//! Whether each policy's server is there, new enough, ready, and still there while a node is drained.

use image_admission_image::ImageReference;
use serde_json::Value;

use super::cluster::{list, text};
use super::finding::{About, Check, Finding, Status};
use super::world::{DEPLOYMENT, World};

/// The oldest Kubewarden that the policy works with, and the oldest whose policy servers free memory: docs/versions.md.
const WORKS: (u64, u64) = (1, 33);
const RECOMMENDED: (u64, u64) = (1, 38);

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    world.server_names().into_iter().flat_map(|name| of_server(world, name)).collect()
}

fn of_server(world: &World<'_>, name: &str) -> Vec<Finding> {
    let subject = format!("PolicyServer {name}");
    let mut about = About::new(Check::Server, &subject);
    let server = match world.server(name) {
        Ok(Some(server)) => server,
        Ok(None) => return about.only(Status::Fail, "it isn't there, so that nobody asks the policies that name it"),
        Err(why) => return about.only(Status::Unknown, why),
    };
    let server = &server;
    let image = text(server, "/spec/image");
    match version(image) {
        None => about.add(Status::Unknown, format!("the tag of its image `{image}` is no version")),
        Some(own) if own < WORKS => {
            about.add(
                Status::Fail,
                format!("its image is `{image}`, and the policy needs Kubewarden {}.{}", WORKS.0, WORKS.1),
            );
        }
        Some(own) if own < RECOMMENDED => {
            let (major, minor) = RECOMMENDED;
            about.add(
                Status::Warn,
                format!("its image is `{image}`: before Kubewarden {major}.{minor} it never frees memory"),
            );
        }
        Some(_) => {}
    }
    let wanted = number(server, "/spec/replicas").unwrap_or(1);
    if wanted < 2 {
        let message =
            format!("`replicas` is {wanted}: while its node is drained, every new Pod is rejected; write 2 or more");
        about.add(Status::Warn, message);
    }
    let place = format!("policy-server-{name}");
    let deployments = world.list(DEPLOYMENT, Some(&world.kubewarden), &[]);
    let deployment =
        deployments.as_ref().as_ref().map(|all| all.iter().find(|own| text(own, "/metadata/name") == place));
    match deployment {
        Err(why) => about.add(Status::Unknown, format!("whether its Pods are ready isn't known: {why}")),
        Ok(None) => about.add(Status::Fail, format!("there is no Deployment `{}/{place}`", world.kubewarden)),
        Ok(Some(deployment)) => {
            let ready = number(deployment, "/status/readyReplicas").unwrap_or(0);
            let status = if ready == 0 { Status::Fail } else { Status::Warn };
            if ready < wanted.max(1) {
                about.add(status, format!("{ready} of its {wanted} Pods are ready"));
            }
            let container =
                list(deployment, "/spec/template/spec/containers").iter().find(|own| !text(own, "/image").is_empty());
            let runs = container.map_or("", |container| text(container, "/image"));
            if ![image, ""].contains(&runs) {
                about.add(Status::Warn, format!("its Pods run `{runs}`, and not its image `{image}`"));
            }
        }
    }
    about.or_ok(format!("`{image}`, {wanted} Pods are ready"))
}

fn number(object: &Value, pointer: &str) -> Option<u64> {
    object.pointer(pointer).and_then(Value::as_u64)
}

/// The first two numbers of a tag like `v1.38.2`.
fn version(image: &str) -> Option<(u64, u64)> {
    let image = ImageReference::parse(image).ok()?;
    let mut numbers = image.tag()?.strip_prefix('v')?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_are_those_of_the_page() {
        let page = include_str!("../../../../../docs/versions.md");
        let row = format!(
            "| {}.{} and newer | policy servers before {}.{} [never",
            WORKS.0, WORKS.1, RECOMMENDED.0, RECOMMENDED.1
        );
        assert!(page.contains(&row), "{row}");
    }

    #[test]
    fn versions_are_read_from_tags() {
        for (image, expected) in [
            ("ghcr.io/kubewarden/adm-controller/policy-server:v1.38.2", Some((1, 38))),
            ("ghcr.io/kubewarden/policy-server:v1.36.0-beta.1", Some((1, 36))),
            ("localhost:5000/policy-server:v1.33.0", Some((1, 33))),
            ("ghcr.io/kubewarden/policy-server:latest", None),
            ("ghcr.io/kubewarden/policy-server", None),
            ("", None),
        ] {
            assert_eq!(version(image), expected, "{image}");
        }
    }
}
