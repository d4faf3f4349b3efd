package harness

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ScansNamespace is where deploy/ has trivy-operator scan images.
const ScansNamespace = "image-scans"

var (
	// TrivyReports are those of trivy-operator.
	TrivyReports = schema.GroupVersionResource{Group: "aquasecurity.github.io", Version: "v1alpha1", Resource: "vulnerabilityreports"}
	cronJobs     = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}
)

// A TrivyOperator plays trivy-operator for the CronJobs of [ScansNamespace]: each is scanned as soon as it is there, suspended or not,
// and owns its report.
type TrivyOperator struct{ *playedScanner }

// PlayTrivyOperator begins to scan, what was there before too.
func (c *Cluster) PlayTrivyOperator(scanning Scanning) (*TrivyOperator, error) {
	played, err := c.playScanner(scanning)
	if err != nil {
		return nil, err
	}
	operator := &TrivyOperator{played}
	return operator, played.watch(cronJobs, ScansNamespace, operator.scanCronJob)
}

func (o *TrivyOperator) scanCronJob(cronJob *unstructured.Unstructured) error {
	reports := o.client.Resource(TrivyReports).Namespace(cronJob.GetNamespace())
	containers, _, err := unstructured.NestedSlice(cronJob.Object, "spec", "jobTemplate", "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		return fmt.Errorf("it has %d containers, and one is played: %w", len(containers), err)
	}
	container := containers[0].(map[string]any)
	image := fmt.Sprint(container["image"])
	named := fmt.Sprintf("trivy-operator.resource.kind=CronJob,trivy-operator.resource.name=%s", cronJob.GetName())
	known, err := reports.List(o.ctx, metav1.ListOptions{LabelSelector: named})
	if err != nil || len(known.Items) > 0 {
		return err
	}
	o.asked(cronJob, image)
	return o.scan(cronJob.GetUID(), func(scanning Scanning) error {
		current, err := o.client.Resource(cronJobs).Namespace(cronJob.GetNamespace()).Get(o.ctx, cronJob.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && (current.GetUID() != cronJob.GetUID() || scanning.Fails) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = reports.Create(o.ctx, TrivyReportOf(cronJob, fmt.Sprint(container["name"]), image, scanning.Findings), metav1.CreateOptions{})
		return err
	})
}

// TrivyReportOf is the report of a CronJob's container, as trivy-operator makes it.
func TrivyReportOf(cronJob metav1.Object, container, image string, findings Findings) *unstructured.Unstructured {
	host, rest, _ := strings.Cut(image, "/")
	repository, digest, _ := strings.Cut(rest, "@")
	repository, tag, _ := strings.Cut(repository, ":")
	report := &unstructured.Unstructured{Object: trivyReport(host, repository, tag, digest, findings, time.Now())}
	report.SetName(fmt.Sprintf("cronjob-%s-%s", cronJob.GetName(), container))
	report.SetLabels(map[string]string{
		"trivy-operator.resource.kind": "CronJob", "trivy-operator.resource.name": cronJob.GetName(), "trivy-operator.resource.namespace": cronJob.GetNamespace(),
		"trivy-operator.container.name": container,
	})
	report.SetAnnotations(map[string]string{"trivy-operator.aquasecurity.github.io/report-ttl": "24h0m0s"})
	yes, no := true, false
	report.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: cronJob.GetName(), UID: cronJob.GetUID(), Controller: &yes, BlockOwnerDeletion: &no}})
	return report
}

// trivyReport is a report without its name.
func trivyReport(host, repository, tag, digest string, findings Findings, updated time.Time) map[string]any {
	vulnerabilities := []any{}
	for number := range findings.Critical {
		vulnerabilities = append(vulnerabilities, map[string]any{
			"vulnerabilityID": fmt.Sprintf("CVE-2026-1%03d", number), "severity": "CRITICAL", "resource": "zlib", "packagePURL": "pkg:apk/alpine/zlib@1.0.0",
			"installedVersion": "1.0.0", "fixedVersion": "1.3", "title": "", "publishedDate": "", "lastModifiedDate": "",
		})
	}
	return map[string]any{
		"apiVersion": TrivyReports.GroupVersion().String(), "kind": "VulnerabilityReport",
		"report": map[string]any{
			"updateTimestamp": updated.UTC().Format(time.RFC3339), "os": map[string]any{"family": "alpine", "name": "3.22"},
			"scanner":         map[string]any{"name": "Trivy", "vendor": "Aqua Security", "version": "0.60.0"},
			"registry":        map[string]any{"server": host},
			"artifact":        map[string]any{"repository": repository, "tag": tag, "digest": digest},
			"summary":         map[string]any{"criticalCount": int64(findings.Critical), "highCount": int64(0), "mediumCount": int64(0), "lowCount": int64(0), "unknownCount": int64(0), "noneCount": int64(0)},
			"vulnerabilities": vulnerabilities,
		},
	}
}

// TrivyReport makes trivy-operator's report of an image, in the namespace where deploy/ has images scanned, as of a time.
func (c *Cluster) TrivyReport(image Image, findings Findings, updated time.Time) error {
	report := trivyReport(c.Registry.Host, image.Repository, image.Tag, image.Platforms["linux/amd64"], findings, updated)
	report["metadata"] = map[string]any{"name": "cronjob-" + strings.ReplaceAll(image.Repository, "/", "-") + "-scan", "namespace": ScansNamespace, "labels": map[string]string{"trivy-operator.container.name": "scan"}}
	return c.apply(text(report))
}

// ScanCronJob is what has trivy-operator scan an image: a CronJob that never runs.
func ScanCronJob(name, image string) *batchv1.CronJob {
	suspended := true
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 0 1 1 *", Suspend: &suspended,
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "image", Image: image}},
			}}}},
		},
	}
}
