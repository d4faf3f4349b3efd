//! Label and field selectors, as the API server reads them.

use std::collections::BTreeMap;

use image_admission_module_host::answers::selector::Selector;
use serde_json::json;

#[test]
fn label_selectors_choose() {
    let labels =
        BTreeMap::from([("app", "web"), ("example.org/tier", "front")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    for (selector, chosen) in [
        ("", true),
        ("app", true),
        ("!app", false),
        ("app=web", true),
        ("app==web", true),
        ("app = web", true),
        ("app=db", false),
        ("app!=db", true),
        ("app!=web", false),
        ("other!=db", true),
        ("other", false),
        ("!other", true),
        ("app in (db, web)", true),
        ("app in (db)", false),
        ("app notin (db, cache)", true),
        ("app notin (web)", false),
        ("other notin (web)", true),
        ("app=web,example.org/tier=front", true),
        ("app in (web,db), example.org/tier", true),
        ("app=web,example.org/tier=back", false),
    ] {
        assert_eq!(Selector::labels(selector).unwrap().matches_labels(&labels), chosen, "{selector}");
    }
}

#[test]
fn field_selectors_choose() {
    let object =
        json!({"metadata": {"name": "a"}, "image": {"digest": "sha256:0", "size": 7, "signed": true}, "empty": null});
    for (selector, chosen) in [
        ("", true),
        ("metadata.name=a", true),
        ("metadata.name==a", true),
        ("metadata.name=b", false),
        ("metadata.name!=b", true),
        ("image.digest=sha256:0", true),
        ("image.size=7,image.signed=true", true),
        ("image.size=7,image.signed=false", false),
        ("image.absent=", true),
        ("empty=", true),
        ("image.absent!=x", true),
    ] {
        assert_eq!(Selector::fields(selector).unwrap().matches_fields(&object), chosen, "{selector}");
    }
}

#[test]
fn what_is_no_selector_is_an_error() {
    let help = "is not a label selector; write `key=value`, `key in (a, b)`, `key` or `!key`";
    for text in ["app web", "=web", "app in web", "app near (web)", "a(b)"] {
        assert_eq!(Selector::labels(text), Err(format!("`{text}` {help}")));
    }
    assert_eq!(
        Selector::fields("metadata.name"),
        Err("`metadata.name` is not a field selector; write `path=value` or `path!=value`".to_owned())
    );
}
