package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"cluster-tests/harness"
)

const asCompanion = "--as=system:serviceaccount:kubewarden:image-admission-companion"

// What the companion's account may do, tried by hand with the API server's own rights and policies: each case changes one thing of
// what the companion does.
func TestTheCompanionIsHeldToWhatItNeeds(t *testing.T) {
	must(t, cluster.Undeploy())
	deployed = nil
	must(t, cluster.ApplyScanTemplate())
	for _, source := range []string{"trivy-operator", "sbomscanner", "attestation"} {
		must(t, cluster.Apply(harness.Deployment{Source: source, Companion: &harness.Companion{}}))
	}
	must(t, cluster.RemoveCompanion())
	t.Cleanup(func() { must(t, cluster.Undeploy()) })
	space := namespace(t)
	succeeds(t, apply(deployment("web", 1, "app"), space))
	succeeds(t, apply(fmt.Sprintf(waiting["job"].manifest, "job", waiting["job"].template("job", "app")), space))
	succeeds(t, cluster.KubectlWith(cronJob, "create", "--namespace", harness.ScansNamespace, "--filename", "-"))
	succeeds(t, cluster.KubectlWith(strings.NewReplacer("image-admission-companion", "somebody", "-1", "-9").Replace(cronJob), "create", "--namespace", harness.ScansNamespace, "--filename", "-"))
	var set string
	eventually(t, 20*time.Second, func() error {
		set = strings.TrimPrefix(cluster.Kubectl("get", "replicasets", "--namespace", space, "--output", "name").Out, "replicaset.apps/")
		if set = strings.TrimSpace(set); set == "" {
			return fmt.Errorf("the Deployment has no ReplicaSet")
		}
		return nil
	})
	succeeds(t, cluster.KubectlWith(imageJob(t), "create", "--namespace", harness.ScanJobsNamespace, "--filename", "-"))
	succeeds(t, cluster.KubectlWith(strings.NewReplacer("image-admission-companion", "somebody", "-1\"", "-9\"").Replace(imageJob(t)), "create", "--namespace", harness.ScanJobsNamespace, "--filename", "-"))
	// A policy that was written just now isn't asked yet, nor is its template known.
	eventually(t, 30*time.Second, func() error {
		another := strings.Replace(imageJob(t), "-1\"", "-2\"", 1)
		if answer := create(another, harness.ScanJobsNamespace); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return wanted(create(strings.Replace(another, "registry.example/trivy:1", "registry.example/other:1", 1), harness.ScanJobsNamespace).Text(), "is the template's")
	})
	eventually(t, 30*time.Second, func() error {
		return wanted(create(strings.Replace(cronJob, "suspend: true", "suspend: false", 1), harness.ScansNamespace).Text(), "is suspended")
	})

	const byRights, byBounds = "is forbidden: User", "ValidatingAdmissionPolicy"
	replaced := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q isn't in %s", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	type attempt struct {
		name   string
		answer func() harness.Answer
		// words of the refusal: none where it is allowed.
		words string
	}
	creates := func(name, manifest, space, words string) attempt {
		return attempt{name, func() harness.Answer { return create(manifest, space) }, words}
	}
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = "system:serviceaccount:kubewarden:image-admission-companion"
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	// kubectl would read the object first, which the companion may not.
	patches := func(name, kind, object string, way types.PatchType, patch, words string) attempt {
		return attempt{name, func() harness.Answer {
			_, err := client.Resource(waiting[kind].resource).Namespace(space).Patch(t.Context(), object, way, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
			if err != nil {
				return harness.Answer{Err: err.Error(), Code: 1}
			}
			return harness.Answer{}
		}, words}
	}
	does := func(name, words string, arguments ...string) attempt {
		return attempt{name, func() harness.Answer { return cluster.Kubectl(append(arguments, asCompanion)...) }, words}
	}
	scans, scanner := harness.ScansNamespace, harness.ScannerNamespace
	another, anotherJob, scanJobs := strings.Replace(cronJob, "-1", "-2", 1), strings.Replace(imageJob(t), "-1\"", "-2\"", 1), harness.ScanJobsNamespace
	woken := `{"status": {"conditions": [{"type": "ImagesScanned", "status": "True", "reason": "ImagesScanned", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`
	for _, try := range []attempt{
		creates("a CronJob", another, scans, ""),
		creates("a CronJob that runs", replaced(another, "suspend: true", "suspend: false"), scans, byBounds),
		creates("a CronJob without the label", replaced(another, "labels: {app.kubernetes.io/managed-by: image-admission-companion}, ", ""), scans, byBounds),
		creates("a CronJob of another name", replaced(another, "name: scan-", "name: other-"), scans, byBounds),
		creates("a CronJob with a command", replaced(another, "name: image,", "name: image, command: [sh],"), scans, byBounds),
		creates("a CronJob with an environment", replaced(another, "name: image,", "name: image, env: [{name: A, value: b}],"), scans, byBounds),
		creates("a CronJob with a second container", replaced(another, "containers: [", "containers: [{name: second, image: app},"), scans, byBounds),
		creates("a CronJob with an init container", replaced(another, "containers: [", "initContainers: [{name: first, image: app}], containers: ["), scans, byBounds),
		creates("a CronJob of a tag", replaced(another, "@sha256:"+strings.Repeat("0", 64), ":1.0"), scans, byBounds),
		creates("a CronJob with a token", replaced(another, "automountServiceAccountToken: false", "automountServiceAccountToken: true"), scans, byBounds),
		creates("a CronJob with an account", replaced(another, "restartPolicy: Never,", "restartPolicy: Never, serviceAccountName: other,"), scans, byBounds),
		creates("a CronJob in the node's network", replaced(another, "restartPolicy: Never,", "restartPolicy: Never, hostNetwork: true,"), scans, byBounds),
		creates("a CronJob with a volume", replaced(another, "restartPolicy: Never,", "restartPolicy: Never, volumes: [{name: v, emptyDir: {}}],"), scans, byBounds),
		creates("a CronJob elsewhere", another, space, byRights),
		creates("a Pod", pod("app", "app"), scans, byRights),
		does("its own CronJob is deleted", "", "delete", "cronjob", "scan-"+strings.Repeat("0", 32)+"-1", "--namespace", scans, "--dry-run=server"),
		does("another's CronJob is deleted", byBounds, "delete", "cronjob", "scan-"+strings.Repeat("0", 32)+"-9", "--namespace", scans, "--dry-run=server"),
		does("a report is deleted", byRights, "delete", "vulnerabilityreports.aquasecurity.github.io", "some", "--namespace", scans, "--dry-run=server"),
		does("Secrets are read", byRights, "get", "secrets", "--namespace", harness.Namespace),
		does("the policy is read", "", "get", "clusteradmissionpolicy", "image-admission", "--output", "name"),
		does("all policies are read", byRights, "get", "clusteradmissionpolicies"),
		does("the policy is changed", byRights, "patch", "clusteradmissionpolicy", "image-admission", "--type=merge", "--patch", `{"spec": {"mode": "monitor"}}`, "--dry-run=server"),

		creates("a Job", anotherJob, scanJobs, ""),
		creates("a Job without the label", replaced(anotherJob, `"app.kubernetes.io/managed-by":"image-admission-companion"`, `"a":"b"`), scanJobs, byBounds),
		creates("a Job of another name", replaced(anotherJob, `"name":"scan-`, `"name":"other-`), scanJobs, byBounds),
		creates("a Job with another scanner", replaced(anotherJob, "registry.example/trivy:1", "registry.example/other:1"), scanJobs, byBounds),
		creates("a Job with other arguments", replaced(anotherJob, `"attest","--key"`, `"sign","--key"`), scanJobs, byBounds),
		creates("a Job with an account", replaced(anotherJob, `"restartPolicy":"Never"`, `"restartPolicy":"Never","serviceAccountName":"other"`), scanJobs, byBounds),
		creates("a Job with a container more", replaced(anotherJob, `"containers":[`, `"containers":[{"name":"more","image":"registry.example/other:1"},`), scanJobs, byBounds),
		creates("a Job with another Secret", replaced(anotherJob, `"secretName":"scan-key"`, `"secretName":"other"`), scanJobs, byBounds),
		creates("a Job with an annotation more", replaced(anotherJob, `"example.com/owner":"security"`, `"example.com/owner":"security","a":"b"`), scanJobs, byBounds),
		creates("a Job with another label", replaced(anotherJob, `"labels":{"team":"security"}`, `"labels":{"team":"security","azure.workload.identity/use":"true"}`), scanJobs, byBounds),
		creates("a Job of a tag", replaced(anotherJob, "team/app@sha256:"+strings.Repeat("0", 64), "team/app:1.0"), scanJobs, byBounds),
		creates("a Job that never ends", replaced(anotherJob, `"activeDeadlineSeconds":1200`, `"activeDeadlineSeconds":999999`), scanJobs, byBounds),
		creates("a Job that is many", replaced(anotherJob, `"backoffLimit":0`, `"backoffLimit":0,"parallelism":9`), scanJobs, byBounds),
		creates("a Job with an owner", replaced(anotherJob, `"labels":{"app`, `"finalizers":["a/b"],"labels":{"app`), scanJobs, byBounds),
		creates("a Job elsewhere", anotherJob, space, byRights),
		creates("a Pod beside the key", pod("app", "app"), scanJobs, byRights),
		does("its own Job is deleted", "", "delete", "job", "scan-"+strings.Repeat("0", 32)+"-1", "--namespace", scanJobs, "--dry-run=server"),
		does("another's Job is deleted", byBounds, "delete", "job", "scan-"+strings.Repeat("0", 32)+"-9", "--namespace", scanJobs, "--dry-run=server"),
		does("the template is read", "", "get", "cronjob", "scan", "--namespace", scanJobs, "--output", "name"),
		does("the template is changed", byRights, "patch", "cronjob", "scan", "--namespace", scanJobs, "--type=merge", "--patch", `{"spec": {"suspend": false}}`, "--dry-run=server"),
		does("the key is read", byRights, "get", "secret", "scan-key", "--namespace", scanJobs),
		does("evidence is read", "", "get", "imageevidences", "--ignore-not-found", "sha256-"+strings.Repeat("0", 64)),

		creates("a Registry", scannedRegistry, scanner, ""),
		creates("a Registry without TLS", replaced(scannedRegistry, "catalogType", "insecure: true\n  catalogType"), scanner, byBounds),
		creates("a Registry with another authority", replaced(scannedRegistry, "catalogType", "caBundle: abc\n  catalogType"), scanner, byBounds),
		creates("a Registry that is scanned by itself", replaced(scannedRegistry, "catalogType", "scanInterval: 1m\n  catalogType"), scanner, byBounds),
		creates("a Registry with its catalogue", replaced(scannedRegistry, "NoCatalog", "OCIDistribution"), scanner, byBounds),
		creates("a Registry of all tags", replaced(scannedRegistry, `tag == "1.0"`, "true"), scanner, byBounds),
		creates("a Registry of two repositories", replaced(scannedRegistry, "repositories: [", "repositories: [{name: other, matchConditions: [{name: tag, expression: 'tag == \"1.0\"'}]},"), scanner, byBounds),
		creates("a Registry of the scanner's", replaced(scannedRegistry, "managed-by: image-admission-companion", "managed-by: sbomscanner"), scanner, byBounds),
		creates("a Registry elsewhere", scannedRegistry, space, byRights),
		creates("a ScanJob", companionScanJob, scanner, ""),
		creates("a ScanJob of another Registry", replaced(companionScanJob, "registry: image-admission-", "registry: other-"), scanner, byBounds),

		patches("a ReplicaSet is woken", "replicaset", set, types.StrategicMergePatchType, woken, ""),
		patches("a Job is woken", "job", "job", types.StrategicMergePatchType, woken, ""),
		patches("a ReplicaSet gets another condition", "replicaset", set, types.StrategicMergePatchType, strings.Replace(woken, `"ImagesScanned", "status"`, `"Other", "status"`, 1), byBounds),
		patches("a Job is said to be done", "job", "job", types.StrategicMergePatchType, strings.Replace(woken, `"ImagesScanned", "status"`, `"Complete", "status"`, 1), "job"),
		patches("a ReplicaSet is said to have Pods", "replicaset", set, types.StrategicMergePatchType, `{"status": {"replicas": 3}}`, byBounds),
		patches("a ReplicaSet gets a label", "replicaset", set, types.StrategicMergePatchType, `{"metadata": {"labels": {"a": "b"}}}`, byBounds),
		patches("a ReplicaSet loses its owner", "replicaset", set, types.MergePatchType, `{"metadata": {"ownerReferences": null}}`, byBounds),
		does("a Deployment is scaled", byRights, "patch", "deployment", "web", "--namespace", space, "--type=merge", "--patch", `{"spec": {"replicas": 9}}`),

		creates("an Event", event, space, ""),
		creates("an Event of another's", replaced(event, "reportingController: image-admission-companion", "reportingController: kubelet"), space, byBounds),
		creates("an Event about something else", replaced(event, "reason: ScanRequested", "reason: Killing"), space, byBounds),
		creates("its Lease", lease, harness.Namespace, ""),
		creates("another's Lease", replaced(lease, "name: image-admission-companion", "name: other"), harness.Namespace, byBounds),
		creates("its Lease elsewhere", lease, space, byRights),
	} {
		answer := try.answer()
		switch {
		case try.words == "" && answer.Code != 0:
			t.Errorf("%s, which the companion needs: %s", try.name, answer.Text())
		case try.words != "" && (answer.Code == 0 || !strings.Contains(answer.Text(), try.words)):
			t.Errorf("%s, and the answer hasn't %q: %s", try.name, try.words, answer.Text())
		}
	}
}

// create says what would come of an object that the companion's account creates.
func create(manifest, space string) harness.Answer {
	return cluster.KubectlWith(strings.ReplaceAll(manifest, "NAMESPACE", space), "create", "--namespace", space, "--filename", "-", "--dry-run=server", "--validate=ignore", asCompanion)
}

// imageJob is what the companion makes of the template.
func imageJob(t *testing.T) string {
	t.Helper()
	template, err := cluster.Client.BatchV1().CronJobs(harness.ScanJobsNamespace).Get(t.Context(), "scan", metav1.GetOptions{})
	must(t, err)
	labels := map[string]string{"app.kubernetes.io/managed-by": "image-admission-companion"}
	job := batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, Spec: template.Spec.JobTemplate.Spec}
	job.ObjectMeta = metav1.ObjectMeta{Name: "scan-" + strings.Repeat("0", 32) + "-1", Labels: labels}
	job.Spec.Template.Annotations["image-admission.kubewarden.io/image"] = "registry.example/team/app@sha256:" + strings.Repeat("0", 64)
	written, err := json.Marshal(job)
	must(t, err)
	return string(written)
}

// What the companion writes.
var (
	cronJob = `apiVersion: batch/v1
kind: CronJob
metadata: {name: scan-` + strings.Repeat("0", 32) + `-1, labels: {app.kubernetes.io/managed-by: image-admission-companion}, annotations: {image-admission.kubewarden.io/image: app}}
spec:
  suspend: true
  schedule: 0 0 1 1 *
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, automountServiceAccountToken: false, containers: [{name: image, image: "registry.example/team/app@sha256:` + strings.Repeat("0", 64) + `"}]}}}}
`
	scannedRegistry = `apiVersion: sbomscanner.kubewarden.io/v1alpha1
kind: Registry
metadata: {name: image-admission-` + strings.Repeat("0", 32) + `, labels: {app.kubernetes.io/managed-by: image-admission-companion}}
spec:
  uri: registry.example
  catalogType: NoCatalog
  platforms: [{os: linux, arch: amd64}]
  repositories: [{name: team/app, matchConditions: [{name: tag, expression: 'tag == "1.0"'}]}]
`
	companionScanJob = `apiVersion: sbomscanner.kubewarden.io/v1alpha1
kind: ScanJob
metadata: {name: image-admission-` + strings.Repeat("0", 32) + `-1, labels: {app.kubernetes.io/managed-by: image-admission-companion}}
spec: {registry: image-admission-` + strings.Repeat("0", 32) + `}
`
	event = `apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: web.0}
eventTime: "2026-01-01T00:00:00.000000Z"
type: Normal
reason: ScanRequested
action: Scan
note: a scan was asked for
reportingController: image-admission-companion
reportingInstance: one
regarding: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: NAMESPACE}
`
	lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: image-admission-companion}\nspec: {holderIdentity: one, leaseDurationSeconds: 30}\n"
)
