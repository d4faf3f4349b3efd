//! Documents beside the image that found nothing because nobody looked.

use super::world::World;
use super::{IMAGE, beside, trap};
use image_admission_untrusted::remedy::Remedy;
use serde_json::json;

#[test]
fn a_document_for_which_nobody_looked_is_not_clean() {
    let bom = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "vulnerabilities": [],
        "metadata": {"component": {"type": "container", "name": "app"},
                     "tools": {"components": [{"type": "application", "name": "trivy"}]}},
        "components": [{"bom-ref": "r", "name": "p", "purl": "pkg:apk/p@1"}]});
    let log =
        json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "CodeQL", "rules": []}}, "results": []}]});
    let settings = json!({"reports": {"sources": [{"registry": {"allowUnsigned": true}}]}});
    for document in [bom, log] {
        let world = World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), document);
        trap(Remedy::EmptyIsNoScan, &world, IMAGE, &settings, "denied failed", "allowed fresh");
    }
}
