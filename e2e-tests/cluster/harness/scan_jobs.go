package harness

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// ScanJobsNamespace is where deploy/ has Jobs scan images.
	ScanJobsNamespace = "image-scan-jobs"
	// scannedImage is the annotation by which a Job's containers learn what they scan.
	scannedImage = "image-admission.kubewarden.io/image"
	// vulnerabilities is the type of cosign's attestations of scans.
	vulnerabilities = "https://cosign.sigstore.dev/attestation/vuln/v1"
)

var (
	jobs           = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	imageEvidences = schema.GroupVersionResource{Group: "image-admission.kubewarden.io", Version: "v1alpha1", Resource: "imageevidences"}
)

// scanTemplate is what a platform team deploys: nothing runs its containers here, and they are played.
const scanTemplate = `apiVersion: v1
kind: Namespace
metadata: {name: image-scan-jobs}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: scan, namespace: image-scan-jobs}
spec:
  suspend: true
  schedule: 0 0 1 1 *
  jobTemplate:
    metadata: {labels: {team: security}}
    spec:
      backoffLimit: 0
      activeDeadlineSeconds: 1200
      ttlSecondsAfterFinished: 3600
      template:
        metadata: {labels: {team: security}, annotations: {example.com/owner: security}}
        spec:
          automountServiceAccountToken: false
          restartPolicy: Never
          initContainers:
            - name: scan
              image: registry.example/trivy:1
              args: [image, --format, cosign-vuln, --output, /report/vuln.json, $(IMAGE)]
              env: [{name: IMAGE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['image-admission.kubewarden.io/image']"}}}]
              volumeMounts: [{name: report, mountPath: /report}]
          containers:
            - name: attest
              image: registry.example/cosign:1
              args: [attest, --key, /key/cosign.key, --type, vuln, --predicate, /report/vuln.json, $(IMAGE)]
              env: [{name: IMAGE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['image-admission.kubewarden.io/image']"}}}]
              volumeMounts: [{name: report, mountPath: /report}, {name: key, mountPath: /key}]
          volumes: [{name: report, emptyDir: {}}, {name: key, secret: {secretName: scan-key}}]
`

// ScanJobsPlayed plays the containers of Jobs, which scan an image and attest what they found. Their Pods then end, as a node says it.
type ScanJobsPlayed struct {
	*playedScanner
}

// attestedReports are the settings `reports` of a policy that reads what these Jobs attest.
func (c *Cluster) attestedReports() (map[string]any, error) {
	public, err := c.PublicKey()
	if err != nil {
		return nil, err
	}
	attestor := map[string]any{"name": "scans", "cosign": map[string]any{"key": map[string]any{"data": public}}}
	source := map[string]any{"attestation": map[string]any{"predicateType": vulnerabilities, "attestors": []any{attestor}}}
	return map[string]any{"sources": []any{source}, "platforms": []string{"linux/amd64"}, "scanOnDemand": true}, nil
}

// ApplyScanTemplate deploys the template of Jobs.
func (c *Cluster) ApplyScanTemplate() error { return c.apply(scanTemplate) }

// PlayScanJobs deploys the template, and begins to scan, what was there before too.
func (c *Cluster) PlayScanJobs(scanning Scanning) (*ScanJobsPlayed, error) {
	if err := c.ApplyScanTemplate(); err != nil {
		return nil, err
	}
	played, err := c.playScanner(scanning)
	if err != nil {
		return nil, err
	}
	player := &ScanJobsPlayed{played}
	return player, played.watch(jobs, ScanJobsNamespace, player.scanJob)
}

func (p *ScanJobsPlayed) scanJob(job *unstructured.Unstructured) error {
	image, _, err := unstructured.NestedString(job.Object, "spec", "template", "metadata", "annotations", scannedImage)
	if err != nil {
		return err
	}
	p.asked(job, image)
	return p.scan(job.GetUID(), func(scanning Scanning) error {
		phase := corev1.PodSucceeded
		if scanning.Fails {
			phase = corev1.PodFailed
		} else if err := p.cluster.AttestScan(image, scanning.Findings); err != nil {
			return err
		}
		return p.cluster.Eventually(20*time.Second, func() error { return p.end(job.GetName(), phase) })
	})
}

// end says of a Job's Pod how it ended.
func (p *ScanJobsPlayed) end(job string, phase corev1.PodPhase) error {
	pods := p.cluster.Client.CoreV1().Pods(ScanJobsNamespace)
	listed, err := pods.List(p.ctx, metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + job})
	if err != nil {
		return err
	}
	if len(listed.Items) == 0 {
		if _, err := p.client.Resource(jobs).Namespace(ScanJobsNamespace).Get(p.ctx, job, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the Job %s has no Pod", job)
	}
	pod := listed.Items[0]
	pod.Status.Phase = phase
	_, err = pods.UpdateStatus(p.ctx, &pod, metav1.UpdateOptions{})
	return err
}

// AttestScan puts what a scanner found beside an image, `host/repository@digest`, as `cosign attest --type vuln` does.
func (c *Cluster) AttestScan(image string, findings Findings) error {
	return c.Attest(image, vulnerabilities, predicate(image, findings, time.Now()))
}

// predicate is what `trivy image --format cosign-vuln` writes of an image.
func predicate(image string, findings Findings, at time.Time) map[string]any {
	found := []any{}
	for _, severity := range findings.bySeverity() {
		for number := range severity.count {
			found = append(found, map[string]any{
				"VulnerabilityID": fmt.Sprintf("CVE-2026-%d%03d", severity.number, number), "Severity": severity.name, "PkgName": "zlib", "InstalledVersion": "1.0.0", "FixedVersion": "1.3",
			})
		}
	}
	finished := at.UTC().Format(time.RFC3339)
	return map[string]any{
		"invocation": map[string]any{"parameters": nil, "uri": "", "event_id": "", "builder.id": ""},
		"metadata":   map[string]any{"scanStartedOn": finished, "scanFinishedOn": finished},
		"scanner": map[string]any{
			"uri": "pkg:github/aquasecurity/trivy@0.69.0", "version": "0.69.0", "db": map[string]any{"uri": "", "version": ""},
			"result": map[string]any{
				"SchemaVersion": 2, "CreatedAt": finished, "ArtifactName": image, "ArtifactType": "container_image",
				"Metadata": map[string]any{"RepoDigests": []string{image}, "ImageConfig": map[string]any{"architecture": "amd64", "os": "linux"}},
				"Results":  []any{map[string]any{"Target": image, "Class": "os-pkgs", "Type": "alpine", "Vulnerabilities": found}},
			},
		},
	}
}
