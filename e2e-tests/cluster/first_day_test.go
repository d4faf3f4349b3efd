package cluster_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cluster-tests/harness"
)

// initialise has `image-admission init` write a folder, and applies it unchanged.
func initialise(t *testing.T, options ...string) string {
	t.Helper()
	must(t, cluster.Undeploy())
	deployed = nil
	t.Cleanup(func() { must(t, cluster.Undeploy()) })
	module, err := cluster.PushModule()
	must(t, err)
	folder := filepath.Join(t.TempDir(), "admission")
	command := exec.Command(cluster.Tools.CommandLine, append([]string{"init", "--registries", cluster.Registry.Host,
		"--module", module, "--policy-server-image", "ghcr.io/kubewarden/adm-controller/policy-server:v1.36.0-beta.1", folder}, options...)...)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	succeeds(t, cluster.Kubectl("apply", "-k", folder))
	// The authority of this test's registry is not a public one, which a user would say in policy-server.yaml.
	must(t, cluster.TrustRegistry())
	must(t, cluster.WaitDeployed(2*time.Minute))
	return folder
}

// The charts that the guides install, and Kubescape's.
var charts = []harness.Chart{
	{Name: "cert-manager", Namespace: "cert-manager", Values: []string{"crds.enabled=true"}},
	{Name: "cloudnative-pg", Namespace: "cnpg-system"},
	{Name: "sbomscanner", Namespace: "sbomscanner"},
	{Name: "trivy-operator", Namespace: "trivy-system", Values: []string{"trivy.additionalVulnerabilityReportFields=CVSS"}},
	{Name: "kubescape-operator", Namespace: "kubescape", Values: []string{"clusterName=loopback"}},
}

// beside has what the charts install, and a Deployment that plays the cluster's DNS. Their Pods are ready as soon as they are there.
func beside(t *testing.T) []harness.Installed {
	t.Helper()
	namespaces := []string{"kube-system"}
	var all []harness.Installed
	t.Cleanup(func() {
		for _, installed := range all {
			if err := cluster.Remove(installed); err != nil {
				t.Error(err)
			}
		}
		cluster.Kubectl("delete", "deployment", "dns", "--namespace", "kube-system")
	})
	for _, chart := range charts {
		installed, err := cluster.Install(chart)
		must(t, err)
		all, namespaces = append(all, installed), append(namespaces, chart.Namespace)
	}
	succeeds(t, apply(deployment("dns", 2, "registry.k8s.io/coredns/coredns:v1.13.1"), "kube-system"))
	end, err := cluster.SayReady(namespaces...)
	must(t, err)
	t.Cleanup(end)
	return all
}

// What `init` writes for each scanner applies unchanged. Then everything is lost at once: what judging needs comes up, and nothing else
// that nobody has scanned.
func TestEverythingComesUp(t *testing.T) {
	installed := beside(t)
	key := publicKey(t)
	var all []string
	for _, one := range installed {
		all = append(all, one.Namespace)
	}
	ofSbomscanner := []string{"cert-manager", "cnpg-system", "sbomscanner"}
	for _, first := range []struct {
		name, options string
		// up are the namespaces that come up beside kube-system and Kubewarden's, held those that don't.
		up, held []string
		// why something is held: its report is pending, where this is empty.
		why string
		// lenient policies admit what nobody has scanned, as long as it is of the registry.
		lenient bool
	}{
		{name: "sbomscanner", options: "--scanner sbomscanner --mode enforce", up: ofSbomscanner},
		{name: "every option", options: "--scanner sbomscanner --mode enforce --validating --with break-glass,exemptions,monitoring --report-namespaces sbomscanner,default " +
			"--signed-by " + cluster.Registry.Host + "/team/=" + key, up: ofSbomscanner},
		{name: "trivy-operator", options: "--scanner trivy-operator --mode enforce", up: []string{"trivy-system"}},
		// Its reports are in an API server of its own, which doesn't run.
		{name: "kubescape", options: "--scanner kubescape --mode enforce", up: []string{"kubescape"}, why: "the look-up of the scan report failed"},
		// Nothing in the cluster scans: CI says what may start.
		{name: "registry", options: "--scanner registry --signer " + key + " --mode enforce"},
		{name: "none", options: "--scanner none --mode enforce", up: all, lenient: true},
		{name: "monitor", options: "--scanner sbomscanner --leave-out -", up: all, lenient: true},
		// What the guide warns of: the scanner waits for itself.
		{name: "nothing left out", options: "--scanner sbomscanner --mode enforce --leave-out -", held: ofSbomscanner},
	} {
		t.Run(first.name, func(t *testing.T) {
			space := namespace(t)
			unscanned := pushed(t, space+"/unscanned")
			succeeds(t, apply(deployment("unscanned", 1, unscanned.Name), space))
			runs(t, space, unscanned.Name)
			initialise(t, strings.Fields(first.options)...)

			up := append([]string{"kube-system", harness.Namespace}, first.up...)
			begun := time.Now()
			lose(t, installed, append(append([]string{space}, up...), first.held...))
			for _, name := range up {
				comesUp(t, name)
			}
			must(t, cluster.WaitDeployed(time.Minute))
			t.Logf("up after %v", time.Since(begun).Round(time.Second))
			why := cmp.Or(first.why, "scan report is pending")
			for _, name := range first.held {
				isHeld(t, name, why)
			}
			if first.lenient {
				runs(t, space, unscanned.Name)
				return
			}
			isHeld(t, space, why)
			// Nothing waited for the policy server: these Pods aren't judged.
			for _, name := range up {
				if failed := failures(t, name); failed != "" {
					t.Errorf("Pods of %s were not created at first:\n%s", name, failed)
				}
			}
			// CloudNativePG makes Pods itself, with its own image and the database's.
			if slices.Contains(first.up, "sbomscanner") {
				succeeds(t, apply(database(t), "sbomscanner"))
			} else if slices.Contains(first.held, "sbomscanner") {
				rejected(t, apply(database(t), "sbomscanner"), why)
			}
		})
	}
}

// lose upgrades what was installed in these namespaces, has each workload rolled out anew, and deletes all Pods while that begins,
// those of the policy server among them.
func lose(t *testing.T, installed []harness.Installed, namespaces []string) {
	t.Helper()
	for _, one := range installed {
		if slices.Contains(namespaces, one.Namespace) {
			must(t, cluster.InstallAgain(one))
		}
	}
	for _, name := range namespaces {
		succeeds(t, cluster.Kubectl("delete", "events", "--all", "--namespace", name))
		for _, workload := range workloads(t, name) {
			// Kubewarden's controller takes back a restart of its policy servers, and nothing of the user's is touched but its Pods.
			if workload != "deployment.apps/policy-server-image-admission" && !strings.HasSuffix(workload, "/unscanned") {
				succeeds(t, cluster.Kubectl("rollout", "restart", workload, "--namespace", name))
			}
		}
	}
	for _, name := range namespaces {
		succeeds(t, cluster.Kubectl("delete", "pods", "--all", "--wait=false", "--namespace", name))
	}
}

// workloads are what is rolled out in a namespace, by kind and name.
func workloads(t *testing.T, namespace string) []string {
	t.Helper()
	return strings.Fields(succeeds(t, cluster.Kubectl("get", "deployments,statefulsets,daemonsets", "--namespace", namespace, "--output", "name")).Out)
}

// comesUp waits until each workload of a namespace has its new Pods, and each Job its own.
func comesUp(t *testing.T, namespace string) {
	t.Helper()
	found := workloads(t, namespace)
	if len(found) == 0 {
		t.Fatalf("%s has no workload", namespace)
	}
	for _, workload := range found {
		answer := cluster.Kubectl("rollout", "status", workload, "--namespace", namespace, "--timeout=90s")
		if answer.Code != 0 {
			t.Errorf("%s in %s doesn't come up: %s\n%s", workload, namespace, answer.Text(), failures(t, namespace))
		}
	}
	eventually(t, 60*second, func() error {
		jobs := succeeds(t, cluster.Kubectl("get", "jobs", "--namespace", namespace, "--output", `jsonpath={range .items[*]}{.metadata.name} {.status.active}{"\n"}{end}`)).Out
		for _, job := range strings.Split(strings.TrimSpace(jobs), "\n") {
			if fields := strings.Fields(job); len(fields) == 1 {
				return fmt.Errorf("the Job %s in %s has no Pod", job, namespace)
			}
		}
		return nil
	})
}

// isHeld waits until the policy has said why it rejects a namespace's Pods, and fails if there is one.
func isHeld(t *testing.T, namespace, why string) {
	t.Helper()
	eventually(t, 90*second, func() error {
		return errors.Join(wanted(failures(t, namespace), "denied the request"), wanted(failures(t, namespace), why))
	})
	if found := imagesOf(t, namespace); len(found) > 0 {
		t.Errorf("%s has Pods of %v", namespace, found)
	}
}

// failures are why controllers could not create Pods in a namespace.
func failures(t *testing.T, namespace string) string {
	t.Helper()
	return succeeds(t, cluster.Kubectl("get", "events", "--namespace", namespace, "--field-selector", "reason=FailedCreate", "--output", `jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}`)).Out
}

// database is a Pod as CloudNativePG makes one for SBOMscanner.
func database(t *testing.T) string {
	t.Helper()
	operator, err := cluster.Mirror("ghcr.io/cloudnative-pg/cloudnative-pg:1.30.0")
	must(t, err)
	server, err := cluster.Mirror("ghcr.io/cloudnative-pg/postgresql:18.1")
	must(t, err)
	name := "database-" + strings.ToLower(rand.Text()[:8])
	t.Cleanup(func() { cluster.Kubectl("delete", "pod", name, "--namespace", "sbomscanner", "--ignore-not-found") })
	return pod(name, server.Name) + fmt.Sprintf("  initContainers: [{name: bootstrap-controller, image: %q}]\n", operator.Name)
}

// publicKey is a file with one that nobody has the key to.
func publicKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(t, err)
	path := filepath.Join(t.TempDir(), "ci.pub")
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644))
	return path
}
