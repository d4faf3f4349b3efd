package cluster_test

import (
	"strings"
	"testing"

	"cluster-tests/harness"
)

// Who may `use` the policy lets a Pod through, and nobody else: neither by the annotation, nor by rights in one namespace, nor by
// what a controller makes of a template. It works on the day when the registry stays silent.
func TestBreakGlass(t *testing.T) {
	deploy(t, harness.Deployment{Components: []string{"break-glass"}, Replicas: 1, Workers: 4})
	space := namespace(t)
	bad := scanned(t, space+"/bad", broken)
	const reason = "TICKET-7: production is down"
	annotated := func(name, reason string) string {
		return strings.Replace(pod(name, bad.Name), "metadata: {name: "+name+"}", "metadata: {name: "+name+", annotations: {image-admission/break-glass: \""+reason+"\"}}", 1)
	}
	for _, user := range []string{"alice", "bob", "tenant"} {
		succeeds(t, cluster.Kubectl("create", "rolebinding", user, "--clusterrole", "edit", "--user", user, "--namespace", space))
	}
	succeeds(t, cluster.Kubectl("create", "clusterrolebinding", "alice-breaks-glass", "--clusterrole", "image-admission-break-glass", "--user", "alice"))
	t.Cleanup(func() { cluster.Kubectl("delete", "clusterrolebinding", "alice-breaks-glass") })
	succeeds(t, cluster.Kubectl("create", "role", "everything", "--verb", "*", "--resource", "*.*", "--namespace", space))
	succeeds(t, cluster.Kubectl("create", "rolebinding", "everything", "--role", "everything", "--user", "tenant", "--namespace", space))

	answer := succeeds(t, apply(annotated("by-right", reason), space, "--as", "alice"))
	contains(t, answer.Err, "Warning: break glass: admitted unjudged for `alice`: "+reason)
	runs(t, space, bad.Name)
	for _, user := range []string{"bob", "tenant"} {
		rejected(t, apply(annotated("by-annotation", reason), space, "--as", user), "break glass was asked for, and refused: `"+user+"` may not `use`", "CVE-2026-1000")
	}
	rejected(t, apply(annotated("without-reason", ""), space, "--as", "alice"), "the annotation must say why")
	rejected(t, apply(pod("without-annotation", bad.Name), space, "--as", "alice"), "CVE-2026-1000")

	// A Deployment is let through, and what controllers make of it is not.
	template := strings.Replace(deployment("web", 1, bad.Name), "metadata: {name: web}", "metadata: {name: web, annotations: {image-admission/break-glass: \""+reason+"\"}}", 1)
	template = strings.Replace(template, "metadata: {labels: {app: web}}", "metadata: {labels: {app: web}, annotations: {image-admission/break-glass: \""+reason+"\"}}", 1)
	succeeds(t, apply(template, space, "--as", "alice"))
	eventually(t, 20*second, func() error {
		return wanted(cluster.Kubectl("get", "events", "--namespace", space).Text(), "Failed to create new replica set")
	})
	runs(t, space, bad.Name)

	// A right that is taken away counts at once.
	succeeds(t, cluster.Kubectl("delete", "clusterrolebinding", "alice-breaks-glass"))
	eventually(t, 5*second, func() error {
		return wanted(apply(annotated("too-late", reason), space, "--as", "alice", "--dry-run=server").Text(), "`alice` may not `use`")
	})
	succeeds(t, cluster.Kubectl("create", "clusterrolebinding", "alice-breaks-glass", "--clusterrole", "image-admission-break-glass", "--user", "alice"))

	// The registry stays silent, and holds a worker.
	silent := pushed(t, space+"/silent")
	cluster.Registry.Fail(harness.Silent)
	t.Cleanup(func() {
		cluster.Registry.Fail(nil)
		must(t, cluster.RestartPolicyServers())
	})
	if answer := apply(pod("held", silent.Name), space); answer.Code == 0 {
		t.Error("a Pod was admitted whose image nobody could look up")
	}
	succeeds(t, apply(annotated("in-silence", reason), space, "--as", "alice"))
}
