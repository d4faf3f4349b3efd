package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"cluster-tests/harness"
)

// The scanners that the companion asks are played. Here somebody asks them by hand.

func TestTheTrivyOperatorThatIsPlayed(t *testing.T) {
	deploy(t, harness.Deployment{Source: "trivy-operator"})
	operator, err := cluster.PlayTrivyOperator(harness.Scanning{Takes: 2 * time.Second, AtOnce: 2})
	must(t, err)
	t.Cleanup(operator.Close)
	t.Cleanup(func() { must(t, cluster.RemoveCompanion()) })
	space := namespace(t)
	image := pushed(t, "played/trivy")
	digest := cluster.Registry.Host + "/" + image.Repository + "@" + image.Platforms[amd64]
	rejected(t, apply(pod("app", image.Name), space), "scan report is pending")
	client, err := dynamic.NewForConfig(cluster.Config)
	must(t, err)
	cronJobs := cluster.Client.BatchV1().CronJobs(harness.ScansNamespace)
	create := func(name string) *batchv1.CronJob {
		made, err := cronJobs.Create(t.Context(), harness.ScanCronJob(name, digest), metav1.CreateOptions{})
		must(t, err)
		return made
	}
	for number := range 3 {
		create(fmt.Sprintf("scan-%d", number))
	}
	withdrawn := create("scan-withdrawn")
	must(t, cronJobs.Delete(t.Context(), withdrawn.Name, metav1.DeleteOptions{}))
	eventually(t, 20*time.Second, func() error {
		if answer := apply(pod("app", image.Name), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	runs(t, space, image.Pinned())
	reports := client.Resource(harness.TrivyReports).Namespace(harness.ScansNamespace)
	eventually(t, 20*time.Second, func() error {
		listed, err := reports.List(t.Context(), metav1.ListOptions{LabelSelector: "trivy-operator.resource.kind=CronJob"})
		if err == nil && len(listed.Items) != 3 {
			err = fmt.Errorf("there are %d reports, not 3", len(listed.Items))
		}
		return err
	})
	if _, err := reports.Get(t.Context(), "cronjob-"+withdrawn.Name+"-image", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what was withdrawn has a report: %v", err)
	}
	scans := operator.Scans()
	if twice := scans.Twice(); len(twice) != 1 || twice[0] != digest {
		t.Errorf("%v were asked for twice, not %s", twice, digest)
	}
	if scans.AMinute() < 3 {
		t.Errorf("%d were asked for in a minute", scans.AMinute())
	}
}

func TestTheSBOMScannerThatIsPlayed(t *testing.T) {
	deploy(t, harness.Deployment{})
	scanner, err := cluster.PlaySBOMScanner(harness.Scanning{Takes: 2 * time.Second})
	must(t, err)
	t.Cleanup(scanner.Close)
	t.Cleanup(func() { must(t, cluster.RemoveCompanion()) })
	space := namespace(t)
	image := pushed(t, "played/sbomscanner")
	_, err = cluster.Registry.Push("played/sbomscanner", "2.0", "another", amd64)
	must(t, err)
	rejected(t, apply(pod("app", image.Name), space), "scan report is pending")
	registry := fmt.Sprintf(`apiVersion: sbomscanner.kubewarden.io/v1alpha1
kind: Registry
metadata: {name: by-hand, namespace: %s}
spec:
  uri: %s
  catalogType: NoCatalog
  platforms: [{os: linux, arch: amd64}]
  repositories: [{name: played/sbomscanner, matchConditions: [{name: tag, expression: 'tag == "1.0"'}]}]
`, harness.ScannerNamespace, cluster.Registry.Host)
	succeeds(t, apply(registry, harness.ScannerNamespace))
	scanJob := func(name, registry string) string {
		return fmt.Sprintf("apiVersion: sbomscanner.kubewarden.io/v1alpha1\nkind: ScanJob\nmetadata: {name: %s}\nspec: {registry: %s}\n", name, registry)
	}
	condition := func(name string) string {
		return cluster.Kubectl("get", "scanjob", name, "--namespace", harness.ScannerNamespace, "--output", `jsonpath={.status.conditions[?(@.status=="True")].type} {.status.conditions[?(@.status=="True")].reason}`).Out
	}
	ends := func(name, state string) {
		t.Helper()
		eventually(t, 20*time.Second, func() error { return wanted(condition(name), state) })
	}
	succeeds(t, apply(scanJob("by-hand-1", "by-hand"), harness.ScannerNamespace))
	ends("by-hand-1", "Complete AllImagesScanned")
	eventually(t, 20*time.Second, func() error {
		if answer := apply(pod("app", image.Name), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	runs(t, space, image.Pinned())
	scanner.Now(harness.Scanning{Fails: true})
	succeeds(t, apply(scanJob("by-hand-2", "by-hand"), harness.ScannerNamespace))
	ends("by-hand-2", "Failed InternalError")
	succeeds(t, apply(scanJob("of-none", "none"), harness.ScannerNamespace))
	ends("of-none", "Failed RegistryNotFound")
	scanner.Now(harness.Scanning{Silent: true})
	succeeds(t, apply(scanJob("by-hand-3", "by-hand"), harness.ScannerNamespace))
	time.Sleep(3 * time.Second)
	if told := strings.TrimSpace(condition("by-hand-3")); told != "" {
		t.Errorf("a scanner that is silent said %s", told)
	}
	// All hangs from the Registry, also what is behind the scanner's own API server.
	succeeds(t, cluster.Kubectl("delete", "registry.sbomscanner.kubewarden.io", "by-hand", "--namespace", harness.ScannerNamespace))
	eventually(t, 90*time.Second, func() error {
		left := cluster.Kubectl("get", "scanjobs.sbomscanner.kubewarden.io,images.storage.sbomscanner.kubewarden.io,vulnerabilityreports.storage.sbomscanner.kubewarden.io", "--namespace", harness.ScannerNamespace, "--output", "name")
		for _, name := range strings.Fields(left.Out) {
			if !strings.HasSuffix(name, "/of-none") && !strings.HasSuffix(name, "/by-hand-3") {
				return fmt.Errorf("%s is left", name)
			}
		}
		return nil
	})
}
