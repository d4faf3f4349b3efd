package cluster_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cluster-tests/harness"
)

// exemption is the object that `image-admission exempt` writes.
func exemption(t *testing.T, image harness.Image, namespace string, until time.Time, more ...string) string {
	t.Helper()
	arguments := []string{"exempt", "CVE-2026-1000", "--for", cluster.Registry.Host + "/" + image.Repository, "--until", until.UTC().Format(time.DateOnly), "--reason", "not reachable, TICKET-7", "--namespace", namespace}
	manifest, err := exec.Command(cluster.Tools.CommandLine, append(arguments, more...)...).Output()
	must(t, err)
	return string(manifest)
}

// A team that RBAC lets exempts a finding in its own namespace, within the bounds, and nowhere else.
func TestExemptionsAreObjects(t *testing.T) {
	deploy(t, harness.Deployment{Components: []string{"exemptions"}})
	space, other := namespace(t), namespace(t)
	bad := scanned(t, space+"/bad", broken)
	succeeds(t, cluster.Kubectl("create", "rolebinding", "leads", "--clusterrole", "image-admission-exempt", "--user", "alice", "--namespace", space))
	succeeds(t, cluster.Kubectl("create", "rolebinding", "developers", "--clusterrole", "admin", "--user", "bob", "--namespace", space))
	soon, late := time.Now().AddDate(0, 0, 10), time.Now().AddDate(0, 0, 60)
	unused := func(name string) harness.Answer { return apply(pod(name, bad.Name), space, "--dry-run=server") }

	rejected(t, unused("early"), "CVE-2026-1000")
	approved := exemption(t, bad, space, soon, "--approved-by", "alice")
	for user, place := range map[string]string{"bob": space, "alice": harness.Namespace} {
		manifest := exemption(t, bad, place, soon, "--approved-by", "alice")
		contains(t, cluster.KubectlWith(manifest, "apply", "--as", user, "--filename", "-").Text(), "forbidden")
	}

	// Out of the bounds the API server takes it, and the policy says why it holds for nothing.
	for why, manifest := range map[string]string{
		"doesn't say who approved it": exemption(t, bad, space, soon),
		"30d":                         exemption(t, bad, space, late, "--approved-by", "alice"),
	} {
		succeeds(t, cluster.KubectlWith(manifest, "apply", "--as", "alice", "--filename", "-"))
		eventually(t, 20*second, func() error { return wanted(unused("unbound").Text(), why) })
		rejected(t, unused("unbound"), "CVE-2026-1000", "doesn't hold")
		succeeds(t, cluster.KubectlWith(manifest, "delete", "--as", "alice", "--filename", "-"))
	}

	succeeds(t, cluster.KubectlWith(approved, "apply", "--as", "alice", "--filename", "-"))
	eventually(t, 20*second, func() error {
		if answer := unused("exempt"); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	succeeds(t, apply(pod("exempt", bad.Name), space))
	runs(t, space, bad.Pinned())
	rejected(t, apply(pod("elsewhere", bad.Name), other), "CVE-2026-1000")
	contains(t, cluster.Kubectl("get", "imgex", "--namespace", space).Out, "VULNERABILITY", "CVE-2026-1000", "alice", "not reachable, TICKET-7")

	succeeds(t, cluster.KubectlWith(approved, "delete", "--as", "alice", "--filename", "-"))
	eventually(t, 20*second, func() error { return wanted(unused("late").Text(), "CVE-2026-1000") })
}

// What couldn't be believed is refused where it is written, with the words of the kind's own rules.
func TestExemptionsThatNobodyCouldBelieveAreRefused(t *testing.T) {
	deploy(t, harness.Deployment{Components: []string{"exemptions"}})
	space := namespace(t)
	object := func(spec string) string {
		return "apiVersion: image-admission.kubewarden.io/v1alpha1\nkind: ImageExemption\nmetadata: {name: e}\nspec: {" + spec + "}\n"
	}
	const why, until = `reason: "not reachable"`, `expires: "2027-01-31"`
	for spec, words := range map[string]string{
		why + ", " + until:                                                     "set `vulnerability` or `vulnerabilities`",
		"vulnerabilities: [], " + why + ", " + until:                           "set `vulnerability` or `vulnerabilities`",
		`vulnerability: " CVE-1", ` + why + ", " + until:                       "an id with spaces around it names no vulnerability",
		`vulnerability: "", ` + why + ", " + until:                             "spec.vulnerability",
		"vulnerability: CVE-1, " + until:                                       "spec.reason: Required value",
		`vulnerability: CVE-1, reason: " ", ` + until:                          "say why the findings don't count",
		"vulnerability: CVE-1, " + why:                                         "spec.expires: Required value",
		"vulnerability: CVE-1, " + why + `, expires: soon`:                     "write a day like `2027-01-31`",
		"vulnerability: CVE-1, " + why + `, expires: "2027-02-31"`:             "spec.expires",
		"vulnerability: CVE-1, namespaces: [Shop], " + why + ", " + until:      "spec.namespaces[0]",
		"vulnerability: CVE-1, packages: [openssl], " + why + ", " + until:     "a package starts as a purl does",
		"vulnerability: CVE-1, image: ghcr.io/shop/web, " + why + ", " + until: `unknown field "spec.image"`,
		"vulnerability: CVE-1, images: [\"\"], " + why + ", " + until:          "spec.images[0]",
		"vulnerability: CVE-1, images: [], " + why + ", " + until:              "spec.images",
		"vulnerability: CVE-1, namespaces: [], " + why + ", " + until:          "spec.namespaces",
		"vulnerability: CVE-1, packages: [], " + why + ", " + until:            "spec.packages",
	} {
		answer := apply(object(spec), space)
		if answer.Code == 0 {
			t.Errorf("`%s` was taken", spec)
			continue
		}
		contains(t, answer.Text(), words)
	}
	succeeds(t, apply(object("vulnerability: CVE-1, "+why+", "+until), space))

	// What a template writes without values is kept, so that the policy sees that the list isn't left out. A `kubectl apply` on the client's
	// side leaves it out itself.
	for _, list := range []string{"images", "namespaces", "packages"} {
		for _, verb := range [][]string{{"create"}, {"apply", "--server-side"}} {
			succeeds(t, cluster.Kubectl("delete", "imgex", "e", "--namespace", space))
			manifest := object("vulnerability: CVE-1, " + list + ": null, " + why + ", " + until)
			succeeds(t, cluster.KubectlWith(manifest, append(verb, "--namespace", space, "--filename", "-")...))
			stored := succeeds(t, cluster.Kubectl("get", "imgex", "e", "--namespace", space, "--output", "jsonpath={.spec}")).Out
			contains(t, stored, `"`+list+`":null`)
		}
	}
}

// The job's own script writes the list with the job's own rights, and a catalogue that isn't whole changes nothing.
func TestWhatIsExploitedIsRefreshed(t *testing.T) {
	curl := scanned(t, "tools/curl", clean)
	deploy(t, harness.Deployment{Components: []string{"known-exploited"}, Images: map[string]string{"docker.io/curlimages/curl": cluster.Registry.Host + "/" + curl.Repository + ":" + curl.Tag}, Settings: map[string]any{"acceptance": map[string]any{
		"knownExploited": map[string]any{"action": "reject", "maxAge": "7d", "from": map[string]any{"configMap": map[string]any{"namespace": "known-exploited", "name": "known-exploited"}}},
	}}})
	space := namespace(t)
	low := scanned(t, space+"/low", clean)
	cluster.Kubectl("delete", "configmap", "known-exploited", "--namespace", "known-exploited")
	asked := func() harness.Answer { return apply(pod("low", low.Name), space, "--dry-run=server") }
	rejected(t, asked(), "the list of exploited vulnerabilities, ConfigMap known-exploited/known-exploited, can't be used: there is no such ConfigMap")

	catalogue := ""
	source := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) { fmt.Fprint(response, catalogue) }))
	defer source.Close()
	refresh := func() (string, error) {
		account := t.TempDir()
		must(t, os.WriteFile(filepath.Join(account, "ca.crt"), authorities(t), 0o600))
		token := succeeds(t, cluster.Kubectl("create", "token", "refresh", "--namespace", "known-exploited")).Out
		must(t, os.WriteFile(filepath.Join(account, "token"), []byte(strings.TrimSpace(token)), 0o600))
		script := succeeds(t, cluster.Kubectl("get", "configmap", "refresh", "--namespace", "known-exploited", "--output", `jsonpath={.data.refresh\.sh}`)).Out
		command := exec.Command("sh", "-c", strings.ReplaceAll(script, "/var/run/secrets/kubernetes.io/serviceaccount", account))
		command.Env = append(os.Environ(), "CATALOGUE="+source.URL, "API="+cluster.Config.Host)
		said, err := command.CombinedOutput()
		return string(said), err
	}
	list := func(count int, ids ...string) string {
		entries := make([]string, len(ids))
		for index, id := range ids {
			entries[index] = fmt.Sprintf(`{"cveID": %q, "vendorProject": "Acme", "dateAdded": "2026-11-01", "dueDate": "2026-12-01"}`, id)
		}
		return fmt.Sprintf(`{"title": "CISA Catalog", "catalogVersion": "2026.11.20", "count": %d, "vulnerabilities": [%s]}`, count, strings.Join(entries, ","))
	}

	catalogue = list(2, "CVE-2026-7000", "CVE-2026-7001")
	if said, err := refresh(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	eventually(t, 20*second, func() error {
		if answer := asked(); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	catalogue = list(2, "CVE-2026-7000", "CVE-2026-4000")
	if said, err := refresh(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	eventually(t, 20*second, func() error { return wanted(asked().Text(), "exploited in the wild (KEV, due 2026-12-01)") })
	rejected(t, asked(), "CVE-2026-4000")
	kept := succeeds(t, cluster.Kubectl("get", "configmap", "known-exploited", "--namespace", "known-exploited", "--output", `jsonpath={.data.known-exploited}`)).Out
	if want := "count: 2\nCVE-2026-4000 2026-12-01\nCVE-2026-7000 2026-12-01\n"; kept != want {
		t.Errorf("the list is %q, not %q", kept, want)
	}

	for _, broken := range []string{"", "<html>not found</html>", list(3, "CVE-2026-7000"), list(0)} {
		catalogue = broken
		if said, err := refresh(); err == nil {
			t.Errorf("a catalogue that isn't whole was written: %s", said)
		}
	}
	rejected(t, asked(), "CVE-2026-4000")
}

// authorities are those that vouch for the API server.
func authorities(t *testing.T) []byte {
	t.Helper()
	if cluster.Config.CAData != nil {
		return cluster.Config.CAData
	}
	text, err := os.ReadFile(cluster.Config.CAFile)
	must(t, err)
	return text
}
