package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cluster-tests/harness"
)

// What a user does on the first day: nothing is stopped, and the log says what would have been.
func TestMonitorThenEnforce(t *testing.T) {
	deploy(t, harness.Deployment{Components: []string{"monitor"}})
	space := namespace(t)
	good, bad, unscanned := scanned(t, "rollout/good", clean), scanned(t, "rollout/bad", broken), pushed(t, "rollout/unscanned")
	for name, image := range map[string]harness.Image{"good": good, "bad": bad, "unscanned": unscanned} {
		answer := succeeds(t, apply(pod(name, image.Name), space))
		if strings.Contains(answer.Text(), "Warning") {
			t.Errorf("a policy that only watches warns the user: %s", answer.Text())
		}
	}
	for _, image := range imagesOf(t, space) {
		if strings.Contains(image, "@") {
			t.Errorf("a policy that only watches has pinned %s", image)
		}
	}
	// As deploy/README.md finds them.
	eventually(t, 10*time.Second, func() error {
		found := 0
		for _, line := range strings.Split(cluster.PolicyServerLog(), "\n") {
			if strings.Contains(line, "monitor mode") && strings.Contains(line, "allowed: false") && strings.Contains(line, "rollout/") {
				found++
			}
		}
		if found != 2 {
			return fmt.Errorf("the log names %d rejections that were not enforced, not 2", found)
		}
		return nil
	})
	before := imagesOf(t, space)

	deploy(t, harness.Deployment{})
	rejected(t, apply(pod("bad-2", bad.Name), space), "rollout/bad:1.0", "CVE-2026-1000")
	rejected(t, apply(pod("unscanned-2", unscanned.Name), space), "scan report is pending")
	succeeds(t, apply(pod("good-2", good.Name), space))
	if pinned := imagesOf(t, space, "--field-selector", "metadata.name=good-2"); len(pinned) != 1 || pinned[0] != good.Pinned() {
		t.Errorf("etcd has %v, not %s", pinned, good.Pinned())
	}
	if after := imagesOf(t, space); len(after) != len(before)+1 {
		t.Errorf("what ran before runs no more: %v", after)
	}
	// Kubewarden refuses the way back.
	answer := cluster.Kubectl("patch", "clusteradmissionpolicy", "image-admission", "--type", "merge", "--patch", `{"spec": {"mode": "monitor"}}`)
	if answer.Code == 0 {
		t.Error("Kubewarden turned an enforced policy back to monitor, which the documentation says it refuses")
	}
}

// A Pod is rejected, its report appears, and the same Pod is admitted.
func TestAReportAppears(t *testing.T) {
	deploy(t, harness.Deployment{})
	space := namespace(t)
	image := pushed(t, "pending/app")
	rejected(t, apply(pod("app", image.Name), space), "scan report is pending")
	must(t, cluster.Report(image, amd64, clean))
	started := time.Now()
	eventually(t, 20*time.Second, func() error {
		if answer := apply(pod("app", image.Name), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	t.Logf("the report counted after %v", time.Since(started).Round(100*time.Millisecond))
	runs(t, space, image.Pinned())
	stored, err := cluster.Stored("pods/" + space + "/app")
	must(t, err)
	contains(t, stored, image.Pinned())
}
