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

// A line is what `doctor` says of one thing.
type line struct{ Check, Status, Subject, Message string }

// diagnosed is what `doctor` says of the cluster, and the code that it ends with.
func diagnosed(t *testing.T, options string) ([]line, int) {
	t.Helper()
	answer := cluster.Typed("image-admission doctor --live -o json " + options)
	var lines []line
	if err := json.Unmarshal([]byte(answer.Out), &lines); err != nil {
		t.Fatalf("%v: %s", err, answer.Text())
	}
	return lines, answer.Code
}

// says fails the test unless each line of a check has this status, and there is one with these words.
func says(t *testing.T, lines []line, check, status, words string) {
	t.Helper()
	found := false
	for _, line := range lines {
		if line.Check != check {
			continue
		}
		found = found || strings.Contains(line.Message, words)
		if line.Status != status {
			t.Errorf("%s is %s, not %s: %s: %s", check, line.Status, status, line.Subject, line.Message)
		}
	}
	if !found {
		t.Errorf("%s doesn't say %q: %v", check, words, lines)
	}
}

// A sound cluster is found sound, what was broken is found, and an image that should be rejected and isn't.
func TestTheDoctor(t *testing.T) {
	deploy(t, harness.Deployment{Replicas: 2, Components: []string{"validating"}})
	space := namespace(t)
	good, bad := scanned(t, space+"/good", clean), scanned(t, space+"/bad", broken)
	// Controllers go on for a moment after a deployment is ready.
	var lines []line
	eventually(t, 60*time.Second, func() error {
		lines, _ = diagnosed(t, "--skip companion --namespace "+space+" --canary "+bad.Name)
		for _, line := range lines {
			if line.Check == "policy" && line.Status != "ok" {
				return fmt.Errorf("%s: %s", line.Subject, line.Message)
			}
		}
		return nil
	})
	for check, words := range map[string]string{
		"policy":       "active, in mode `protect`",
		"server":       "2 Pods are ready",
		"webhook":      "rejects what it gets no answer for",
		"certificates": "holds until",
		"namespaces":   "left out: `kube-system`, `kubewarden`",
		"rights":       "ServiceAccount `kubewarden/policy-server` has the",
		"reports":      "in namespace `sbomscanner`",
		"report-names": "have the names by which they are looked up",
		"clock":        "its clock is this machine's",
		"canary":       "it is rejected, as it should be",
	} {
		says(t, lines, check, "ok", words)
	}

	admitted, code := diagnosed(t, "--skip settings --skip companion --namespace "+space+" --canary "+good.Name)
	says(t, admitted, "canary", "fail", "it is admitted")
	if code != 2 {
		t.Errorf("it ended with %d", code)
	}

	must(t, cluster.TakeRights("sbomscanner"))
	t.Cleanup(func() { must(t, cluster.GiveRights("sbomscanner")) })
	lacking, code := diagnosed(t, "--skip settings")
	says(t, lacking, "rights", "fail", "may not `get`, `list`, `watch` vulnerabilityreports.storage.sbomscanner.kubewarden.io in namespace `sbomscanner`")
	if code != 2 {
		t.Errorf("it ended with %d", code)
	}

	// Whoever may read nothing is told so.
	succeeds(t, cluster.Kubectl("create", "serviceaccount", "nobody", "--namespace", space))
	token := strings.TrimSpace(succeeds(t, cluster.Kubectl("create", "token", "nobody", "--namespace", space)).Out)
	config := succeeds(t, cluster.Kubectl("config", "view", "--raw", "--minify", "--output", "json")).Out
	path := filepath.Join(t.TempDir(), "nobody.json")
	must(t, os.WriteFile(path, as(t, config, token), 0o600))
	answer := cluster.Typed("image-admission doctor --live --kubeconfig " + path)
	if answer.Code != 1 {
		t.Errorf("it ended with %d: %s", answer.Code, answer.Text())
	}
	contains(t, answer.Out, "unknown: policies: some may be missing here: ClusterAdmissionPolicy can't be listed: ", "is forbidden")
}

// as is a kubeconfig with another user's token.
func as(t *testing.T, config, token string) []byte {
	t.Helper()
	var read map[string]any
	must(t, json.Unmarshal([]byte(config), &read))
	for _, user := range read["users"].([]any) {
		user.(map[string]any)["user"] = map[string]string{"token": token}
	}
	raw, err := json.Marshal(read)
	must(t, err)
	return raw
}
