//! `deploy/monitoring`: the dashboard and the alerts ask for what the policy server has, about the policies of `deploy/`, and
//! docs/monitoring.md explains them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{promql, root};

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
fn the_dashboard_asks_for_what_there_is() {
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
            promql::check(query).unwrap_or_else(|problem| panic!("{title}: {problem} in\n{query}"));
            assert!(query.contains("policy_name=~\"$policy\""), "{title}: it asks about other policies too:\n{query}");
        }
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let known: BTreeSet<&str> = variables.iter().map(|variable| names(&variable["name"])).collect();
    assert_eq!(known, BTreeSet::from(["datasource", "policy"]));
}

#[test]
fn alerts_ask_for_what_there_is_and_are_explained() {
    let page = text("docs/monitoring.md");
    let alerts = alerts();
    assert!(alerts.len() > 2, "where are the alerts?");
    for alert in &alerts {
        let name = names(&alert["alert"]);
        let query = names(&alert["expr"]);
        promql::check(query).unwrap_or_else(|problem| panic!("{name}: {problem} in\n{query}"));
        assert!(["warning", "critical"].contains(&names(&alert["labels"]["severity"])), "{name}");
        for annotation in ["summary", "description"] {
            assert!(!names(&alert["annotations"][annotation]).is_empty(), "{name} has no {annotation}");
        }
        assert!(page.contains(&format!("| `{name}` |")), "docs/monitoring.md doesn't explain {name}");
    }
    let policy = yaml("deploy/cluster-admission-policy.yaml");
    let asked = format!("clusterwide-{}", names(&policy["metadata"]["name"]));
    assert!(alerts.iter().all(|alert| names(&alert["expr"]).contains(&asked)), "{asked}");
}

#[test]
fn the_service_monitor_finds_the_policy_server() {
    let (monitor, server) = (yaml("deploy/monitoring/service-monitor.yaml"), yaml("deploy/policy-server.yaml"));
    let instance = format!("policy-server-{}", names(&server["metadata"]["name"]));
    assert_eq!(monitor["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"], instance);
    assert_eq!(monitor["spec"]["endpoints"][0]["port"], "metrics");
}

/// Prometheus' own tool, where it is installed, reads the alerts and the dashboard's queries.
#[test]
fn prometheus_understands_every_query() {
    let mut rules = alerts();
    for panel in dashboard()["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let query = names(&target["expr"]).replace("$__rate_interval", "5m").replace("$__range", "1d");
            rules.push(serde_json::json!({"record": format!("panel:{}:{}", panel["id"], names(&target["refId"])), "expr": query}));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yaml");
    fs::write(&file, serde_json::json!({"groups": [{"name": "all", "rules": rules}]}).to_string()).unwrap();
    match Command::new("promtool").args(["check", "rules"]).arg(&file).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => eprintln!("promtool is not on PATH: Prometheus was not asked"),
    }
}

#[test]
fn what_the_policy_server_does_not_have_is_an_error() {
    for (query, problem) in [
        ("sum(kubewarden_policy_evaluations_total)", ""),
        ("sum by (reason) (kubewarden_policy_evaluations_total)", "the policy server has no label `reason`"),
        ("kubewarden_policy_total", "the policy server has no metric `kubewarden_policy_total`"),
        ("kubewarden_policy_evaluations_total{result=\"no\"}", "the policy server has no label `result`"),
        ("kubewarden_policy_evaluations_total{accepted=\"no\"}", "the label `accepted` is never `no`"),
        ("kubewarden_policy_evaluations_total{accepted}", "`accepted` matches no label"),
        ("sum(kubewarden_policy_evaluations_total", "`()` don't match"),
        ("vector(0)", "it asks for no metric"),
    ] {
        assert_eq!(promql::check(query).err().unwrap_or_default(), problem, "{query}");
    }
}
