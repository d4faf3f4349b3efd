package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cluster-tests/harness"
)

// rejectsEverything are settings that let no image in: by its name, by an expression and by a rule.
func rejectsEverything() harness.Deployment {
	return harness.Deployment{Settings: map[string]any{
		"scanPolicies":   map[string]any{"defaultPolicy": "reject"},
		"preCustomRules": "deny_pod[\"no\"] { true }",
		"imageVerification": []map[string]any{{
			"name": "no", "verifyPreScanAccepted": true, "verifications": []map[string]any{{"expression": "false"}},
		}},
	}}
}

// What runs goes on being labelled, scaled, rolled back and deleted when the settings have become so strict that none of it could
// start. Kubernetes' own controllers do most of it.
func TestWhatRunsIsNotHeldBack(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image, other := scanned(t, "held/web", clean), scanned(t, "held/other", clean)
	succeeds(t, apply(deployment("web", 3, image.Name), space))
	succeeds(t, apply(pod("alone", image.Name), space))
	succeeds(t, cluster.Kubectl("patch", "pod", "alone", "--namespace", space, "--type", "merge", "--patch", `{"metadata": {"finalizers": ["example.com/cleanup"]}}`))
	runs(t, space, image.Pinned(), image.Pinned(), image.Pinned(), image.Pinned())
	deploy(t, rejectsEverything())
	rejected(t, apply(pod("new", other.Name), space), "Pre-scan rejected")

	for _, object := range []string{"deployment/web", "pod/alone"} {
		succeeds(t, cluster.Kubectl("label", object, "--namespace", space, "team=shop"))
		succeeds(t, cluster.Kubectl("annotate", object, "--namespace", space, "example.com/note=a"))
	}
	// The controller shrinks the ReplicaSet, and takes the Pods away.
	succeeds(t, cluster.Kubectl("scale", "deployment/web", "--replicas", "1", "--namespace", space))
	eventually(t, 30*time.Second, func() error {
		answer := cluster.Kubectl("get", "replicasets", "--namespace", space, "--output", "jsonpath={.items[*].spec.replicas}")
		if answer.Out != "1" {
			return fmt.Errorf("the ReplicaSet wants %q Pods", answer.Out)
		}
		return nil
	})
	// A finalizer holds the Pod until it goes.
	succeeds(t, cluster.Kubectl("delete", "pod", "alone", "--namespace", space, "--wait=false"))
	succeeds(t, cluster.Kubectl("patch", "pod", "alone", "--namespace", space, "--type", "json", "--patch", `[{"op": "remove", "path": "/metadata/finalizers"}]`))
	succeeds(t, cluster.Kubectl("delete", "deployment", "web", "--namespace", space, "--cascade=foreground", "--timeout=60s"))
	eventually(t, 30*time.Second, func() error {
		if found := imagesOf(t, space); len(found) != 0 {
			return fmt.Errorf("there are still Pods: %v", found)
		}
		return nil
	})
	// The API server lets nobody say that a new object is being deleted already.
	deleted := strings.Replace(pod("new", other.Name), "metadata: {", `metadata: {deletionTimestamp: "2026-11-01T00:00:00Z", `, 1)
	rejected(t, apply(deleted, space), "Pre-scan rejected")
}

// `helm upgrade` writes the tag that its chart has into a Deployment that is pinned, and scales it to zero.
func TestATagForThePinnedDigestIsNoNewImage(t *testing.T) {
	pinsDeployments := func(more map[string]any) harness.Deployment {
		settings := map[string]any{"pin": map[string]any{"kinds": []string{"Pod", "Deployment"}}}
		for key, value := range more {
			settings[key] = value
		}
		return harness.Deployment{Settings: settings}
	}
	deploy(t, pinsDeployments(nil))
	space := namespace(t)
	image := scanned(t, "tagged/web", clean)
	succeeds(t, apply(deployment("web", 1, image.Name), space))
	succeeds(t, apply(pod("alone", image.Name), space))
	runs(t, space, image.Pinned(), image.Pinned())
	before := succeeds(t, cluster.Kubectl("get", "replicasets", "--namespace", space, "--output", "name")).Out
	deploy(t, pinsDeployments(map[string]any{"scanPolicies": map[string]any{"defaultPolicy": "reject"}}))
	succeeds(t, cluster.KubectlWith(deployment("web", 0, image.Name), "replace", "--namespace", space, "--filename", "-"))
	eventually(t, 30*time.Second, func() error {
		if found := imagesOf(t, space); len(found) != 1 {
			return fmt.Errorf("the Deployment has Pods: %v", found)
		}
		return nil
	})
	answer := succeeds(t, cluster.Kubectl("get", "deployment", "web", "--namespace", space, "--output", "jsonpath={.spec.template.spec.containers[*].image}"))
	if answer.Out != image.Pinned() {
		t.Errorf("the Deployment has %s, and should keep %s", answer.Out, image.Pinned())
	}
	// The template is what it was: no second ReplicaSet.
	if after := succeeds(t, cluster.Kubectl("get", "replicasets", "--namespace", space, "--output", "name")).Out; after != before {
		t.Errorf("there are the ReplicaSets %q, and there were %q", after, before)
	}
	succeeds(t, apply(pod("alone", image.Name), space))
	runs(t, space, image.Pinned())
	// Another tag of the same repository is another image.
	other, err := cluster.Registry.Push("tagged/web", "2.0", "another build", amd64)
	must(t, err)
	rejected(t, cluster.Kubectl("set", "image", "deployment/web", "c1="+other.Name, "--namespace", space), "REJECTED")
}

// Each kind that may be pinned settles: its controller makes one generation of it and no more. ReplicaSets, which don't, are refused, and
// those of a Deployment are never written.
func TestPinnedKindsSettle(t *testing.T) {
	kinds := []string{"Pod", "ReplicationController", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"}
	deploy(t, harness.Deployment{Settings: map[string]any{"pin": map[string]any{"kinds": kinds}}})
	space := namespace(t)
	image := scanned(t, "settles/web", clean)
	template := fmt.Sprintf("{metadata: {labels: {app: web}}, spec: {restartPolicy: %%s, containers: [{name: c1, image: %q}]}}", image.Name)
	always, never := fmt.Sprintf(template, "Always"), fmt.Sprintf(template, "Never")
	selector := "selector: {matchLabels: {app: web}}"
	for _, object := range []string{
		deployment("web", 1, image.Name),
		"apiVersion: v1\nkind: ReplicationController\nmetadata: {name: web}\nspec: {replicas: 1, selector: {app: web}, template: " + always + "}",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec: {serviceName: web, replicas: 1, " + selector + ", template: " + always + "}",
		"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: web}\nspec: {" + selector + ", template: " + always + "}",
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec: {template: " + strings.Replace(never, "metadata: {labels: {app: web}}, ", "", 1) + "}",
		"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web}\nspec: {schedule: \"0 0 1 1 *\", jobTemplate: {spec: {template: " + strings.Replace(never, "metadata: {labels: {app: web}}, ", "", 1) + "}}}",
	} {
		succeeds(t, apply(object, space))
	}
	const all = "replicasets,replicationcontrollers,deployments,statefulsets,daemonsets,jobs,cronjobs"
	versions := func() string {
		return succeeds(t, cluster.Kubectl("get", all, "--namespace", space, "--output", `jsonpath={range .items[*]}{.kind}/{.metadata.name}:{.metadata.generation} {end}`)).Out
	}
	// A Deployment's controller would make some ReplicaSets a second.
	time.Sleep(5 * time.Second)
	settled := versions()
	time.Sleep(15 * time.Second)
	if later := versions(); later != settled {
		t.Errorf("the controllers go on writing:\n%s\n%s", settled, later)
	}
	if sets := strings.Count(settled, "ReplicaSet/"); sets != 1 {
		t.Errorf("%d ReplicaSets for one Deployment: %s", sets, settled)
	}
	// What has a controller as its owner is left as it is, whatever kind it is.
	owned := strings.Replace(deployment("owned", 0, image.Name), "metadata: {", "metadata: {ownerReferences: [{apiVersion: example.com/v1, kind: Shop, name: shop, uid: 5d2c, controller: true}], ", 1)
	answer := succeeds(t, apply(owned, space, "--dry-run=server", "--output", "jsonpath={.spec.template.spec.containers[*].image}"))
	if answer.Out != image.Name {
		t.Errorf("a Deployment of another controller was written: %s", answer.Out)
	}
}
