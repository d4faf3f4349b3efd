package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
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
	key *ecdsa.PrivateKey
}

// reportKey signs the reports of Jobs that are played: the same in every deployment of this cluster.
func (c *Cluster) reportKey() (key *ecdsa.PrivateKey, err error) {
	if c.scanKey == nil {
		c.scanKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return c.scanKey, err
}

// attestedReports are the settings `reports` of a policy that reads what these Jobs attest.
func (c *Cluster) attestedReports() (map[string]any, error) {
	key, err := c.reportKey()
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	written := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	attestor := map[string]any{"name": "scans", "cosign": map[string]any{"key": map[string]any{"data": written}}}
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
	key, err := c.reportKey()
	if err != nil {
		return nil, err
	}
	played, err := c.playScanner(scanning)
	if err != nil {
		return nil, err
	}
	player := &ScanJobsPlayed{played, key}
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
		} else if err := p.attest(image, scanning.Findings); err != nil {
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

// attest puts a signed report beside an image, `host/repository@digest`, as `cosign attest --type vuln` does with a key and no log.
func (p *ScanJobsPlayed) attest(image string, findings Findings) error {
	repository, digest, _ := strings.Cut(strings.TrimPrefix(image, p.cluster.Registry.Host+"/"), "@")
	const payloadType = "application/vnd.in-toto+json"
	payload := text(map[string]any{
		"_type": "https://in-toto.io/Statement/v0.1", "predicateType": vulnerabilities,
		"subject":   []any{map[string]any{"name": repository, "digest": map[string]any{"sha256": strings.TrimPrefix(digest, "sha256:")}}},
		"predicate": predicate(image, findings, time.Now()),
	})
	hash := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
	signature, err := ecdsa.SignASN1(rand.Reader, p.key, hash[:])
	if err != nil {
		return err
	}
	envelope := text(map[string]any{
		"payloadType": payloadType, "payload": base64.StdEncoding.EncodeToString([]byte(payload)),
		"signatures": []any{map[string]any{"keyid": "", "sig": base64.StdEncoding.EncodeToString(signature)}},
	})
	reference, err := name.ParseReference(p.cluster.Registry.Modules + "/" + repository + ":" + strings.Replace(digest, ":", "-", 1) + ".att")
	if err != nil {
		return err
	}
	layer := static.NewLayer([]byte(envelope), "application/vnd.dsse.envelope.v1+json")
	artifact, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return err
	}
	return remote.Write(reference, artifact)
}

// predicate is what `trivy image --format cosign-vuln` writes of an image.
func predicate(image string, findings Findings, at time.Time) map[string]any {
	found := []any{}
	for number := range findings.Critical {
		found = append(found, map[string]any{
			"VulnerabilityID": fmt.Sprintf("CVE-2026-1%03d", number), "Severity": "CRITICAL", "PkgName": "zlib", "InstalledVersion": "1.0.0", "FixedVersion": "1.3",
		})
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
