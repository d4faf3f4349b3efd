package cluster_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cluster-tests/harness"
)

// What `image-admission init` writes applies unchanged, and enforces what was answered.
func TestInitAppliesUnchanged(t *testing.T) {
	folder := initialise(t, "--scanner", "sbomscanner", "--mode", "enforce", "--validating")
	space := namespace(t)
	good, bad := scanned(t, "init/good", clean), scanned(t, "init/bad", broken)
	succeeds(t, apply(pod("good", good.Name), space))
	runs(t, space, good.Pinned())
	rejected(t, apply(pod("bad", bad.Name), space), "CVE-2026-1000")
	rejected(t, apply(pod("elsewhere", "registry.invalid/app:1"), space), "registry.invalid")
	// Its first suite is green, and stays in step with what is deployed.
	suite := exec.Command(cluster.Tools.CommandLine, "test", "--module", cluster.Tools.Module, folder)
	if said, err := suite.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// Every component applies to the cluster, alone and with the others.
func TestEveryComponentApplies(t *testing.T) {
	sources, err := os.ReadDir(filepath.Join(cluster.Tools.Deploy, "sources"))
	must(t, err)
	for _, source := range sources {
		rendered, err := cluster.Render(harness.Deployment{Source: source.Name(), Components: []string{"validating", "monitor", "keys", "context", "exemptions", "known-exploited", "running"}})
		must(t, err)
		answer := cluster.KubectlWith(rendered, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename", "-")
		// A namespace that a dry run only says it would make isn't there for what is in it.
		if answer.Code != 0 && !strings.Contains(answer.Text(), `namespaces "`) {
			t.Errorf("%s: %s", source.Name(), answer.Text())
		}
	}
}

// The twin judges what another webhook has injected after the first policy.
func TestTheValidatingTwin(t *testing.T) {
	deploy(t, harness.Deployment{Components: []string{"validating"}})
	space := namespace(t)
	good, bad := scanned(t, "twin/good", clean), scanned(t, "twin/bad", broken)
	succeeds(t, apply(pod("good", good.Name), space))
	runs(t, space, good.Pinned())
	rejected(t, apply(pod("bad", bad.Name), space), "CVE-2026-1000")
	for _, kind := range []string{"mutatingwebhookconfiguration/" + cluster.Identity("image-admission"), "validatingwebhookconfiguration/" + cluster.Identity("image-admission-validating")} {
		answer := succeeds(t, cluster.Kubectl("get", kind, "--output", "jsonpath={.webhooks[0].clientConfig.service.name} {.webhooks[0].failurePolicy} {.webhooks[0].timeoutSeconds}"))
		if answer.Out != "policy-server-image-admission Fail 15" {
			t.Errorf("Kubewarden wrote %s: %s", kind, answer.Out)
		}
	}
}
