package harness

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var (
	//go:embed manifests/sbomscanner.yaml
	sbomscannerManifests string
	//go:embed manifests/sbomscanner-storage.yaml
	sbomscannerStorage string
	//go:embed manifests/trivy-operator.yaml
	trivyOperatorManifests string
	//go:embed manifests/prometheus-operator.yaml
	prometheusOperatorManifests string
)

// ScannerNamespace is where sbomscanner's reports are.
const ScannerNamespace = "sbomscanner"

// InstallScanners makes the kinds of sbomscanner and trivy-operator, and those of the Prometheus Operator.
//
// What sbomscanner stores in its own API server is served by a second API server, which the first one passes requests on
// to: reports are read as in a cluster, and can be away while everything else is there.
func (c *Cluster) InstallScanners() (err error) {
	if err := c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + ScannerNamespace + "}}"); err != nil {
		return err
	}
	for _, manifests := range []string{trivyOperatorManifests, prometheusOperatorManifests, sbomscannerManifests} {
		if err := c.apply(manifests); err != nil {
			return err
		}
	}
	if c.scanner, err = startAPIServer(c.Folder, "scanner-api", c.Tools, c.authority, "http://"+c.EtcdLink.Address(), "/scanner", "--authorization-mode=AlwaysAllow", "--enable-admission-plugins=", "--disable-admission-plugins=ServiceAccount,NamespaceLifecycle"); err != nil {
		return err
	}
	if err := c.scanner.waitReady(c.ctx); err != nil {
		return err
	}
	if err := c.authority.kubeconfig(c.kubeconfig("scanner"), fmt.Sprintf("https://127.0.0.1:%d", c.scanner.Port), c.authority.certificateUser("admin")); err != nil {
		return err
	}
	if _, err := c.must(sbomscannerStorage, c.Tools.Kubectl, "--kubeconfig", c.kubeconfig("scanner"), "apply", "-f", "-"); err != nil {
		return err
	}
	c.network.route(ScannerNamespace, "storage", fmt.Sprintf("127.0.0.1:%d", c.scanner.Port))
	bundle, err := c.authority.pem()
	if err != nil {
		return err
	}
	err = c.apply(fmt.Sprintf(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1alpha1.storage.sbomscanner.kubewarden.io},
  spec: {group: storage.sbomscanner.kubewarden.io, version: v1alpha1, groupPriorityMinimum: 1000, versionPriority: 15, caBundle: %s, service: {name: storage, namespace: %s}}}`,
		base64.StdEncoding.EncodeToString([]byte(bundle)), ScannerNamespace))
	if err != nil {
		return err
	}
	// As workload scanning makes it for each registry of a workload.
	registry := fmt.Sprintf("{apiVersion: sbomscanner.kubewarden.io/v1alpha1, kind: Registry, metadata: {name: %s, namespace: %s}, spec: {uri: %q, catalogType: NoCatalog}}",
		c.workloadScan(), ScannerNamespace, c.Registry.Host)
	if err := c.apply(registry); err != nil {
		return err
	}
	return c.Eventually(60*time.Second, func() error {
		answer := c.Kubectl("get", "vulnerabilityreports.storage.sbomscanner.kubewarden.io", "-n", ScannerNamespace)
		if answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
}

// ScannerAPI is the scanner's own API server. ScannerLink is the way to it.
func (c *Cluster) ScannerAPI() *APIServer { return c.scanner }

// ScannerLink is the way from the API server to the scanner's.
func (c *Cluster) ScannerLink() *Link { return c.network.link(ScannerNamespace, "storage") }

// Findings of a report, by severity.
type Findings struct{ Critical, High, Medium, Low int }

// severity is how many findings of one there are. Its number is in their names.
type severity struct {
	name          string
	number, count int
}

func (f Findings) bySeverity() []severity {
	return []severity{{"CRITICAL", 1, f.Critical}, {"HIGH", 2, f.High}, {"MEDIUM", 3, f.Medium}, {"LOW", 4, f.Low}}
}

var (
	sbomscannerReports = schema.GroupVersionResource{Group: "storage.sbomscanner.kubewarden.io", Version: "v1alpha1", Resource: "vulnerabilityreports"}
	sbomscannerSBOMs   = schema.GroupVersionResource{Group: "storage.sbomscanner.kubewarden.io", Version: "v1alpha1", Resource: "sboms"}
)

// Report makes sbomscanner's report of a platform of an image, as workload scanning does.
func (c *Cluster) Report(image Image, platform string, findings Findings) error {
	report, err := c.report(c.workloadScan(), image, platform, findings)
	if err != nil {
		return err
	}
	return c.write(sbomscannerReports, report)
}

// SBOM makes sbomscanner's list of what a platform of an image is made of, from which it makes the report.
func (c *Cluster) SBOM(image Image, platform string) error {
	report, err := c.report(c.workloadScan(), image, platform, Findings{})
	if err != nil {
		return err
	}
	return c.write(sbomscannerSBOMs, sbom(report))
}

// sbom is what a report was made from.
func sbom(report *unstructured.Unstructured) *unstructured.Unstructured {
	of := map[string]any{
		"SPDXID": "SPDXRef-package0", "name": "package0", "versionInfo": "1", "licenseDeclared": "MIT", "licenseConcluded": "NOASSERTION",
		"externalRefs": []any{map[string]any{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:apk/alpine/package0@1"}},
	}
	document := map[string]any{"spdxVersion": "SPDX-2.3", "creationInfo": map[string]any{"created": time.Now().UTC().Format(time.RFC3339)}, "packages": []any{of}}
	made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": report.GetAPIVersion(), "kind": "SBOM", "imageMetadata": report.Object["imageMetadata"], "spdx": document}}
	made.SetName(report.GetName())
	made.SetNamespace(report.GetNamespace())
	made.SetLabels(report.GetLabels())
	made.SetOwnerReferences(report.GetOwnerReferences())
	return made
}

// workloadScan is the name of the Registry that workload scanning makes for the images of the registry.
func (c *Cluster) workloadScan() string {
	sum := sha256.Sum256([]byte(c.Registry.Host))
	return "workloadscan-" + hex.EncodeToString(sum[:])
}

// write creates an object of the scanner's, or replaces the one that is there.
func (c *Cluster) write(kind schema.GroupVersionResource, object *unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	resource := client.Resource(kind).Namespace(ScannerNamespace)
	if _, err = resource.Create(c.ctx, object, metav1.CreateOptions{}); err == nil {
		return nil
	}
	current, getErr := resource.Get(c.ctx, object.GetName(), metav1.GetOptions{})
	if getErr != nil {
		return err
	}
	object.SetResourceVersion(current.GetResourceVersion())
	_, err = resource.Update(c.ctx, object, metav1.UpdateOptions{})
	return err
}

// DeleteReports takes away all reports of sbomscanner.
func (c *Cluster) DeleteReports() error {
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	return client.Resource(sbomscannerReports).Namespace(ScannerNamespace).DeleteCollection(c.ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// report is sbomscanner's, under the name of the Registry that it was made for.
func (c *Cluster) report(registry string, image Image, platform string, findings Findings) (*unstructured.Unstructured, error) {
	host := c.Registry.Host
	digest := image.Platforms[platform]
	metadata := map[string]any{"registry": registry, "registryURI": host, "repository": image.Repository, "tag": image.Tag, "platform": platform, "digest": digest}
	if digest != image.Digest {
		metadata["indexDigest"] = image.Digest
	}
	vulnerabilities := []any{}
	for _, severity := range findings.bySeverity() {
		for number := range severity.count {
			vulnerabilities = append(vulnerabilities, map[string]any{
				"cve":      fmt.Sprintf("CVE-2026-%d%03d", severity.number, number),
				"severity": severity.name, "packageName": fmt.Sprintf("package%d", number), "purl": fmt.Sprintf("pkg:apk/alpine/package%d@1", number),
				"installedVersion": "1", "fixedVersions": []any{"2"}, "diffID": "", "suppressed": false,
			})
		}
	}
	name := sha256.Sum256([]byte(fmt.Sprintf("%s/%s/%s:%s@%s", registry, host, image.Repository, image.Tag, digest)))
	object := map[string]any{
		"apiVersion": sbomscannerReports.GroupVersion().String(), "kind": "VulnerabilityReport",
		"metadata": map[string]any{
			"name": hex.EncodeToString(name[:]), "namespace": ScannerNamespace,
			"labels": map[string]any{"app.kubernetes.io/managed-by": "sbomscanner", "app.kubernetes.io/part-of": "sbomscanner"},
		},
		"imageMetadata": metadata,
		"report": map[string]any{
			"summary": map[string]any{"critical": findings.Critical, "high": findings.High, "medium": findings.Medium, "low": findings.Low, "unknown": 0, "suppressed": 0},
			"results": []any{map[string]any{"target": "alpine", "class": "os-pkgs", "type": "alpine", "vulnerabilities": vulnerabilities}},
		},
	}
	// Through JSON, so that numbers are what the client expects.
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{}
	return made, made.UnmarshalJSON(raw)
}
