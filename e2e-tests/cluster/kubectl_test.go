package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cluster-tests/harness"
)

// The real controllers make ReplicaSets and Pods of a Deployment. The Deployment keeps its tag, its Pods have the digest.
func TestDeploymentToPods(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image := scanned(t, "deployment/web", clean)
	succeeds(t, apply(deployment("web", 2, image.Name), space))
	runs(t, space, image.Pinned(), image.Pinned())
	for _, kind := range []string{"deployment", "replicaset"} {
		answer := succeeds(t, cluster.Kubectl("get", kind, "--namespace", space, "--output", "jsonpath={.items[*].spec.template.spec.containers[*].image}"))
		if answer.Out != image.Name {
			t.Errorf("the %s has %s, and should keep %s", kind, answer.Out, image.Name)
		}
	}
	// A second rollout to an image that is rejected stops at the user.
	bad := scanned(t, "deployment/bad", broken)
	rejected(t, cluster.Kubectl("set", "image", "deployment/web", "c1="+bad.Name, "--namespace", space), "CVE-2026-1000")
	// Scaling is nobody's question: the Pods that it makes are judged.
	succeeds(t, cluster.Kubectl("scale", "deployment/web", "--replicas", "3", "--namespace", space))
	runs(t, space, image.Pinned(), image.Pinned(), image.Pinned())
}

// A Deployment whose image has no report yet is admitted, and its Pods wait for the report.
func TestDeploymentWaitsForItsReport(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image := pushed(t, "waiting/web")
	answer := succeeds(t, apply(deployment("web", 1, image.Name), space))
	contains(t, answer.Err, "Warning:", "has no scan report yet: Pods of this Deployment wait for it")
	eventually(t, 20*time.Second, func() error {
		events := cluster.Kubectl("get", "events", "--namespace", space, "--field-selector", "reason=FailedCreate")
		if !strings.Contains(events.Out, "scan report is pending") {
			return fmt.Errorf("no event says why no Pod is made: %s", events.Text())
		}
		return nil
	})
	if found := imagesOf(t, space); len(found) != 0 {
		t.Fatalf("a Pod was made without a report: %v", found)
	}
	must(t, cluster.Report(image, amd64, clean))
	started := time.Now()
	eventually(t, 60*time.Second, func() error {
		if found := imagesOf(t, space); len(found) != 1 || found[0] != image.Pinned() {
			return fmt.Errorf("the Pods have %v", found)
		}
		return nil
	})
	t.Logf("the Pod was there %v after the report", time.Since(started).Round(100*time.Millisecond))
}

// `kubectl debug` adds a container to a Pod that runs.
func TestEphemeralContainers(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image, tool, bad := scanned(t, "debug/app", clean), scanned(t, "debug/tool", clean), scanned(t, "debug/bad", broken)
	succeeds(t, apply(pod("app", image.Name), space))
	debug := func(image harness.Image) harness.Answer {
		return cluster.Kubectl("debug", "app", "--namespace", space, "--image", image.Name, "--attach=false", "--quiet")
	}
	rejected(t, debug(bad), "CVE-2026-1000")
	rejected(t, debug(pushed(t, "debug/unscanned")), "scan report is pending")
	succeeds(t, debug(tool))
	answer := succeeds(t, cluster.Kubectl("get", "pod", "app", "--namespace", space, "--output", "jsonpath={.spec.ephemeralContainers[*].image}"))
	if answer.Out != tool.Pinned() {
		t.Errorf("the container that was added has %s, not %s", answer.Out, tool.Pinned())
	}
	// A second one brings only itself.
	succeeds(t, debug(tool))
}

// Two managers apply the same Deployment, and neither notices the policy.
func TestServerSideApplyByTwoManagers(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image := scanned(t, "managers/app", clean)
	manifest := deployment("app", 1, image.Name)
	succeeds(t, apply(manifest, space, "--server-side", "--field-manager", "first"))
	succeeds(t, apply(manifest, space, "--server-side", "--field-manager", "second"))
	succeeds(t, apply(manifest, space, "--server-side", "--field-manager", "first"))
	// A Pod that was pinned is applied again, as it is written: the tag is no change.
	bare := pod("bare", image.Name)
	for range 2 {
		succeeds(t, apply(bare, space, "--server-side", "--field-manager", "first"))
	}
	// A second manager sees a digest where it wants a tag, and the first one's: it has to say that it means it.
	answer := apply(bare, space, "--server-side", "--field-manager", "second")
	if answer.Code == 0 {
		t.Error("a second manager of a pinned Pod meets no conflict, which docs/gitops.md says it does")
	}
	contains(t, answer.Err, `conflict with "first": .spec.containers[name="c1"].image`)
	succeeds(t, apply(bare, space, "--server-side", "--field-manager", "second", "--force-conflicts"))
	answer = succeeds(t, cluster.Kubectl("get", "pod", "bare", "--namespace", space, "--output", "jsonpath={.spec.containers[*].image}"))
	if answer.Out != image.Pinned() {
		t.Errorf("the Pod has %s, not %s", answer.Out, image.Pinned())
	}
}

// A Pod is applied, replaced and patched again as it is written, after its tag has moved on in the registry.
func TestATagMovesUnderAPod(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image := scanned(t, "moving/app", clean)
	succeeds(t, apply(pod("app", image.Name), space))
	moved, err := cluster.Registry.Push("moving/app", "1.0", "another build", amd64)
	must(t, err)
	if moved.Digest == image.Digest {
		t.Fatal("both builds have one digest")
	}
	// A report told the digest, so the host first asks for the tag's digest now: it is that of an image that nobody scanned.
	rejected(t, apply(pod("app", image.Name), space), "no scan report yet")
	runs(t, space, image.Pinned())
}

// What is only tried is judged, and leaves nothing.
func TestDryRun(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	good, bad := scanned(t, "dry/good", clean), scanned(t, "dry/bad", broken)
	rejected(t, apply(pod("bad", bad.Name), space, "--dry-run=server"), "CVE-2026-1000")
	answer := succeeds(t, apply(pod("good", good.Name), space, "--dry-run=server", "--output", "jsonpath={.spec.containers[*].image}"))
	contains(t, answer.Out, good.Pinned())
	if found := imagesOf(t, space); len(found) != 0 {
		t.Errorf("a dry run left %v", found)
	}
	diff := cluster.KubectlWith(pod("good", good.Name), "diff", "--namespace", space, "--filename", "-")
	if diff.Code != 1 {
		t.Errorf("kubectl diff of a Pod that isn't there: %s", diff.Text())
	}
	succeeds(t, apply(pod("good", good.Name), space))
	if diff = cluster.KubectlWith(pod("good", good.Name), "diff", "--namespace", space, "--filename", "-"); diff.Code != 0 {
		t.Errorf("kubectl diff sees a difference in a Pod that was applied as it is written: %s", diff.Text())
	}
}

// Resources of a Pod are resized without anybody being asked, and replacing a Pod is judged.
func TestResizeAndReplace(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image, other := scanned(t, "resize/app", clean), scanned(t, "resize/other", clean)
	succeeds(t, apply(pod("app", image.Name), space))
	resized := cluster.Kubectl("patch", "pod", "app", "--namespace", space, "--subresource", "resize", "--patch", `{"spec": {"containers": [{"name": "c1", "resources": {"requests": {"cpu": "100m"}}}]}}`)
	if resized.Code != 0 && !strings.Contains(resized.Text(), "the server could not find the requested resource") && !strings.Contains(resized.Text(), "invalid subresource") {
		// The Pod's class would change, which Kubernetes forbids. What matters is who says no.
		if strings.Contains(resized.Text(), "admission webhook") {
			t.Errorf("the policy refused a resize: %s", resized.Text())
		}
	}
	runs(t, space, image.Pinned())
	stored := func() string {
		return succeeds(t, cluster.Kubectl("get", "pod", "app", "--namespace", space, "--output", "json")).Out
	}
	replace := func(image, by string) harness.Answer {
		return cluster.KubectlWith(strings.ReplaceAll(stored(), image, by), "replace", "--namespace", space, "--filename", "-")
	}
	succeeds(t, replace(image.Pinned(), image.Pinned()))
	succeeds(t, replace(image.Pinned(), other.Name))
	runs(t, space, other.Pinned())
	bad := scanned(t, "resize/bad", broken)
	rejected(t, replace(other.Pinned(), bad.Name), "CVE-2026-1000")
	rejected(t, cluster.KubectlWith(pod("app", bad.Name), "replace", "--force", "--namespace", space, "--filename", "-"), "CVE-2026-1000")
}

// A Job that is made of a CronJob, and its Pod.
func TestCronJob(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image, bad := scanned(t, "cron/app", clean), scanned(t, "cron/bad", broken)
	cron := func(image harness.Image) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec:\n  schedule: \"0 3 * * *\"\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n" + containers("          ", []string{image.Name})
	}
	rejected(t, apply(cron(bad), space), "CVE-2026-1000")
	succeeds(t, apply(cron(image), space))
	succeeds(t, cluster.Kubectl("create", "job", "now", "--from", "cronjob/nightly", "--namespace", space))
	runs(t, space, image.Pinned())
}

// A template with fifty images is judged within the time that deploy/ gives.
func TestFiftyImages(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	var names, pins []string
	for number := range 50 {
		image := scanned(t, fmt.Sprintf("fifty/app-%d", number), clean)
		names, pins = append(names, image.Name), append(pins, image.Pinned())
	}
	started := time.Now()
	succeeds(t, apply(pod("fifty", names...), space))
	t.Logf("50 images that the policy server hasn't seen: %v with kubectl", time.Since(started).Round(10*time.Millisecond))
	runs(t, space, pins...)
	started = time.Now()
	succeeds(t, apply(deployment("fifty", 1, names...), space))
	t.Logf("the same 50 in a Deployment: %v", time.Since(started).Round(10*time.Millisecond))
	runs(t, space, append(append([]string{}, pins...), pins...)...)
	bad := scanned(t, "fifty/bad", broken)
	rejected(t, apply(pod("last-is-bad", append(append([]string{}, names[:49]...), bad.Name)...), space), "fifty/bad:1.0")
	// More than `maxImages` are too many.
	rejected(t, apply(pod("too-many", append(append([]string{}, names...), bad.Name)...), space), "different images")
}

// An object that is nearly as large as etcd takes: it is created; an update, which sends it twice, is larger than what the
// policy server reads.
func TestLargeObject(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image := scanned(t, "large/app", clean)
	large := func(megabytes float64) string {
		manifest := deployment("large", 1, image.Name)
		value := strings.Repeat("x", int(megabytes*1e6))
		return strings.Replace(manifest, "- {name: c1,", fmt.Sprintf("- {env: [{name: LARGE, value: %q}], name: c1,", value), 1)
	}
	file := filepath.Join(t.TempDir(), "large.yaml")
	create := func(megabytes float64) harness.Answer {
		must(t, os.WriteFile(file, []byte(large(megabytes)), 0o644))
		return cluster.Kubectl("create", "--namespace", space, "--filename", file)
	}
	succeeds(t, create(1.4))
	answer := cluster.Kubectl("label", "deployment", "large", "team=shop", "--namespace", space)
	if answer.Code == 0 {
		t.Errorf("an update of 2.8 MB got through, which the documentation says it doesn't")
	} else {
		contains(t, answer.Text(), "failed calling webhook")
		t.Logf("an update of a Deployment of 1.4 MB: %s", answer.Text())
	}
	succeeds(t, cluster.Kubectl("delete", "deployment", "large", "--namespace", space))
	succeeds(t, create(0.9))
	succeeds(t, cluster.Kubectl("label", "deployment", "large", "team=shop", "--namespace", space))
}

// What the policy decided is in the API server's audit log, and warnings are what kubectl prints.
func TestAuditLogAndWarnings(t *testing.T) {
	deploy(t, harness.Deployment{Settings: map[string]any{"scanPolicies": map[string]any{"customPolicies": []any{map[string]any{"prefix": cluster.Registry.Host + "/audit/tolerated", "action": "accept"}}}}})
	space := namespace(t)
	good, bad, tolerated := scanned(t, "audit/good", clean), scanned(t, "audit/bad", broken), scanned(t, "audit/tolerated", broken)
	succeeds(t, apply(pod("good", good.Name), space))
	rejected(t, apply(pod("bad", bad.Name), space))
	answer := succeeds(t, apply(pod("tolerated", tolerated.Name), space))
	contains(t, answer.Err, "Warning: image", "is admitted by policy, its scan status is")

	found := map[string]map[string]string{}
	eventually(t, 10*time.Second, func() error {
		raw, err := os.ReadFile(filepath.Join(cluster.Folder, "kube-apiserver-audit.log"))
		if err != nil {
			return err
		}
		for _, line := range strings.Split(string(raw), "\n") {
			var event struct {
				Verb        string
				Annotations map[string]string
				ObjectRef   struct{ Namespace, Name, Resource string }
			}
			if json.Unmarshal([]byte(line), &event) == nil && event.ObjectRef.Namespace == space && event.ObjectRef.Resource == "pods" && event.Verb == "create" {
				found[event.ObjectRef.Name] = event.Annotations
			}
		}
		if len(found) < 3 {
			return fmt.Errorf("the audit log has %d of 3 requests", len(found))
		}
		return nil
	})
	key := func(name string) string { return cluster.Identity("image-admission") + ".kubewarden.admission/" + name }
	for name, wanted := range map[string]map[string]string{
		"good":      {"verdict": "allowed", "container-1.digest": good.Digest, "container-1.image": good.Name},
		"bad":       {"verdict": "rejected", "container-1.image": bad.Name},
		"tolerated": {"verdict": "allowed"},
	} {
		for annotation, value := range wanted {
			if got := found[name][key(annotation)]; got != value {
				t.Errorf("the audit log says %s: %q of %s, not %q: %v", annotation, got, name, value, found[name])
			}
		}
	}
	contains(t, found["bad"][key("reason")], "scan result is 'reject'")
}

// Kubewarden's audit scanner reports what runs already, and would be rejected now.
func TestAuditScanner(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image, other := scanned(t, "scanned/app", clean), scanned(t, "scanned/other", clean)
	succeeds(t, apply(pod("app", image.Name), space))
	succeeds(t, apply(pod("other", other.Name), space))
	// A finding is published after the Pod was admitted.
	must(t, cluster.Report(other, amd64, broken))
	time.Sleep(6 * time.Second)
	succeeds(t, cluster.Kubectl("create", "job", "audit", "--from", "cronjob/audit-scanner", "--namespace", harness.Namespace))
	t.Cleanup(func() { cluster.Kubectl("delete", "job", "audit", "--namespace", harness.Namespace) })
	eventually(t, 60*time.Second, func() error {
		reports := cluster.Kubectl("get", "reports.openreports.io", "--namespace", space, "--output", `jsonpath={range .items[*]}{.scope.name}{" "}{.summary.pass}{" "}{.summary.fail}{" "}{.results[*].message}{"\n"}{end}`)
		if !strings.Contains(reports.Out, "app 1 0") || !strings.Contains(reports.Out, "other 0 1") {
			return fmt.Errorf("the reports are: %s", reports.Text())
		}
		contains(t, reports.Out, "CVE-2026-1000")
		return nil
	})
}

// The same with trivy-operator's reports, whose kind has the operator's own schema.
func TestTrivyOperator(t *testing.T) {
	deploy(t, harness.Deployment{Source: "trivy-operator"})
	space := namespace(t)
	image, bad := pushed(t, "trivy/app"), pushed(t, "trivy/bad")
	rejected(t, apply(pod("app", image.Name), space), "scan report is pending")
	must(t, cluster.TrivyReport(image, clean, time.Now()))
	must(t, cluster.TrivyReport(bad, broken, time.Now()))
	eventually(t, 20*time.Second, func() error {
		if answer := apply(pod("app", image.Name), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	runs(t, space, image.Pinned())
	rejected(t, apply(pod("bad", bad.Name), space), "CVE-2026-1000")
}
