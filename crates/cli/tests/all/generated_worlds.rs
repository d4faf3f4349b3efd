//! The worlds of the engine's laws (`crates/engine/tests/laws`), decided by the engine and by the policy's module in the native host: the
//! same bytes, by the same calls.

#[path = "../../../engine/tests/laws/world/mod.rs"]
#[expect(dead_code, unused_imports, reason = "laws change and look at more of a world")]
mod world;

use crate::support::clock::use_read_clock;
use crate::support::module_path;
use image_admission_host::WireHost;
use image_admission_module_host::answers::{HostAnswers, HostCall, engine_calls};
use image_admission_module_host::runtime::PolicyModule;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use world::{World, worlds};

/// How many worlds the module decides.
const WORLDS: usize = 300;

/// The host of a world.
struct Host(StubHost);

impl HostAnswers for Host {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        self.0.call(&call.namespace, &call.operation, &call.payload)
    }

    fn may_block(&self) -> bool {
        false
    }
}

/// The same worlds every time, but for their present: the module reads a clock.
pub(crate) fn generated(count: usize) -> (Vec<World>, Timestamp) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let now = Timestamp(now.try_into().unwrap());
    let (mut runner, worlds) = (TestRunner::deterministic(), worlds(now));
    let worlds = (0..count).map(|_| worlds.new_tree(&mut runner).unwrap().current());
    (worlds.collect(), now)
}

pub(crate) fn host_of(world: &World) -> Arc<dyn HostAnswers> {
    Arc::new(Host(world.host()))
}

#[test]
fn the_module_gives_the_same_bytes_in_every_world() {
    use_read_clock();
    let module = PolicyModule::from_file(&module_path()).unwrap();
    let (worlds, now) = generated(WORLDS);
    let mut admitted = 0;
    for world in worlds {
        let (payload, host) = (world.payload(), host_of(&world));
        let answers = engine_calls(host.as_ref());
        let engine = image_admission_engine::validate(payload.as_bytes(), &WireHost(answers), now).response;
        let reply = module.call("validate", payload.as_bytes(), Arc::clone(&host));
        let response = reply.response.unwrap_or_else(|error| panic!("{payload}: {error}"));
        assert_eq!(String::from_utf8_lossy(&response), String::from_utf8_lossy(&engine), "{payload}");
        admitted += usize::from(String::from_utf8_lossy(&response).contains("\"accepted\":true"));
    }
    assert!((WORLDS / 5..WORLDS * 4 / 5).contains(&admitted), "{admitted} of {WORLDS} are admitted");
}
