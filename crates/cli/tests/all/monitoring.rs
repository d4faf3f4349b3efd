//! `deploy/monitoring`: the dashboard's panels, and the alerts that docs/monitoring.md explains. What their queries answer is asked in
//! `e2e-tests/monitoring`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::root;

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn yaml(file: &str) -> Value {
    yaml_serde::from_str(&text(file)).unwrap()
}

fn dashboard() -> Value {
    serde_json::from_str(&text("deploy/monitoring/grafana-dashboard.json")).unwrap()
}

fn alerts() -> Vec<Value> {
    let rule = yaml("deploy/monitoring/alerts.yaml");
    assert_eq!(rule["kind"], "PrometheusRule");
    let groups = rule["spec"]["groups"].as_array().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

fn names(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn each_panel_has_its_place_and_asks_about_the_policy() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 5, "where are the panels?");
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        let title = names(&panel["title"]);
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id is another one's");
        assert!(!names(&panel["description"]).is_empty(), "{title}");
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        let (columns, rows) = (place("x")..place("x") + place("w"), place("y")..place("y") + place("h"));
        assert!(columns.end <= 24, "{title}: it is wider than the page");
        for cell in columns.flat_map(|column| rows.clone().map(move |row| (column, row))) {
            assert!(cells.insert(cell), "{title} lies on another panel");
        }
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
            let query = names(&target["expr"]);
            assert!(query.contains("policy_name=~\"$policy\""), "{title}: it asks about other policies too:\n{query}");
        }
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let known: BTreeSet<&str> = variables.iter().map(|variable| names(&variable["name"])).collect();
    assert_eq!(known, BTreeSet::from(["datasource", "policy"]));
}

#[test]
fn every_alert_is_explained() {
    let page = text("docs/monitoring.md");
    let alerts = alerts();
    assert!(alerts.len() > 2, "where are the alerts?");
    for alert in &alerts {
        let name = names(&alert["alert"]);
        assert!(["warning", "critical"].contains(&names(&alert["labels"]["severity"])), "{name}");
        for annotation in ["summary", "description"] {
            assert!(!names(&alert["annotations"][annotation]).is_empty(), "{name} has no {annotation}");
        }
        assert!(page.contains(&format!("| `{name}` |")), "docs/monitoring.md doesn't explain {name}");
    }
}

#[test]
fn the_service_monitor_finds_the_policy_server() {
    let (monitor, server) = (yaml("deploy/monitoring/service-monitor.yaml"), yaml("deploy/policy-server.yaml"));
    let instance = format!("policy-server-{}", names(&server["metadata"]["name"]));
    assert_eq!(monitor["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"], instance);
    assert_eq!(monitor["spec"]["endpoints"][0]["port"], "metrics");
}
