package cluster_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"cluster-tests/harness"
)

// What the companion rests on, shown with Kubernetes' own controllers and without the companion.

var trivyReports = schema.GroupVersionResource{Group: "aquasecurity.github.io", Version: "v1alpha1", Resource: "vulnerabilityreports"}

// A CronJob that had an image scanned is deleted, and the report that it owns stays, where it is deleted as an orphan.
func TestAReportOutlivesItsCronJob(t *testing.T) {
	space := namespace(t)
	client, err := dynamic.NewForConfig(cluster.Config)
	must(t, err)
	reports := client.Resource(trivyReports).Namespace(space)
	cases := []struct {
		name   string
		policy metav1.DeletionPropagation
		age    time.Duration
		stays  bool
		// restarted is whether the controllers, and so the garbage collector, begin anew before the deletion.
		restarted bool
	}{
		{"orphan-at-once", metav1.DeletePropagationOrphan, 0, true, false},
		{"orphan-after-30s", metav1.DeletePropagationOrphan, 30 * time.Second, true, false},
		{"background-after-30s", metav1.DeletePropagationBackground, 30 * time.Second, false, false},
		{"orphan-after-restart", metav1.DeletePropagationOrphan, 30 * time.Second, true, true},
	}
	const each = 20
	var waiting sync.WaitGroup
	for _, try := range cases {
		if try.restarted {
			waiting.Wait()
		}
		for number := range each {
			waiting.Add(1)
			go func() {
				defer waiting.Done()
				name := fmt.Sprintf("%s-%d", try.name, number)
				cronJob, err := cluster.Client.BatchV1().CronJobs(space).Create(t.Context(), harness.ScanCronJob(name, "registry.example/app:1.0"), metav1.CreateOptions{})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				if _, err := reports.Create(t.Context(), ownedReport(name, cronJob.UID), metav1.CreateOptions{}); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				time.Sleep(try.age)
				if try.restarted {
					return
				}
				if err := cluster.Client.BatchV1().CronJobs(space).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &try.policy, Preconditions: metav1.NewUIDPreconditions(string(cronJob.UID))}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}()
		}
		if !try.restarted {
			continue
		}
		waiting.Wait()
		must(t, cluster.RestartControllers())
		for number := range each {
			must(t, cluster.Client.BatchV1().CronJobs(space).Delete(t.Context(), fmt.Sprintf("%s-%d", try.name, number), metav1.DeleteOptions{PropagationPolicy: &try.policy}))
		}
	}
	waiting.Wait()
	deleted := time.Now()
	eventually(t, 2*time.Minute, func() error {
		left, err := cluster.Client.BatchV1().CronJobs(space).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d CronJobs are left, %s among them", len(left.Items), left.Items[0].Name)
		}
		return err
	})
	t.Logf("the CronJobs were gone after %v", time.Since(deleted).Round(100*time.Millisecond))
	// The collector looks again at what it wasn't sure about.
	time.Sleep(60 * time.Second)
	for _, try := range cases {
		there, owned := 0, 0
		for number := range each {
			report, err := reports.Get(t.Context(), fmt.Sprintf("%s-%d", try.name, number), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			must(t, err)
			there++
			owned += len(report.GetOwnerReferences())
		}
		t.Logf("%s: %d of %d reports are there, %d still name an owner", try.name, there, each, owned)
		if try.stays && there < each || !try.stays && there > 0 {
			t.Errorf("%s: %d of %d reports are there", try.name, there, each)
		}
	}
}

func ownedReport(name string, cronJob types.UID) *unstructured.Unstructured {
	report := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": trivyReports.GroupVersion().String(), "kind": "VulnerabilityReport",
		"report": map[string]any{
			"updateTimestamp": time.Now().UTC().Format(time.RFC3339), "os": map[string]any{}, "artifact": map[string]any{}, "vulnerabilities": []any{},
			"scanner": map[string]any{"name": "Trivy", "vendor": "Aqua Security", "version": "0.60.0"},
			"summary": map[string]any{"criticalCount": int64(0), "highCount": int64(0), "mediumCount": int64(0), "lowCount": int64(0), "unknownCount": int64(0)},
		},
	}}
	yes, no := true, false
	report.SetName(name)
	report.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: name, UID: cronJob, Controller: &yes, BlockOwnerDeletion: &no}})
	return report
}

// waiting are the kinds whose controllers make Pods, and wait longer after each that is rejected.
var waiting = map[string]struct {
	manifest string
	resource schema.GroupVersionResource
}{
	"replicaset":  {"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: %s}\nspec: {replicas: 1, selector: {matchLabels: {app: %[1]s}}, template: %[2]s}", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}},
	"statefulset": {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: %s}\nspec: {replicas: 1, serviceName: none, selector: {matchLabels: {app: %[1]s}}, template: %[2]s}", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}},
	"daemonset":   {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: %s}\nspec: {selector: {matchLabels: {app: %[1]s}}, template: %[2]s}", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}},
	"job":         {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec: {template: %[2]s}", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}},
}

// A gate rejects all Pods of namespaces that aren't open.
const gate = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: gate}
spec:
  matchConstraints:
    namespaceSelector: {matchExpressions: [{key: gate, operator: In, values: [closed]}]}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "false", message: the gate is closed}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: gate}
spec: {policyName: gate, validationActions: [Deny]}
`

// A controller whose Pods were rejected for a minute tries again at once when a condition of its object's status changes.
func TestAConditionWakesAController(t *testing.T) {
	must(t, cluster.Undeploy())
	deployed = nil
	space := namespace(t)
	end, err := cluster.SayReady(space)
	must(t, err)
	t.Cleanup(end)
	succeeds(t, cluster.KubectlWith(gate, "apply", "--filename", "-"))
	t.Cleanup(func() { cluster.KubectlWith(gate, "delete", "--filename", "-") })
	succeeds(t, cluster.Kubectl("label", "namespace", space, "gate=closed"))
	eventually(t, 20*time.Second, func() error {
		return wanted(apply(pod("app", "app"), space, "--dry-run=server").Text(), "the gate is closed")
	})
	client, err := dynamic.NewForConfig(cluster.Config)
	must(t, err)
	ways := map[string]types.PatchType{"left": "", "merge": types.MergePatchType, "strategic": types.StrategicMergePatchType}
	for kind, made := range waiting {
		for way := range ways {
			name := kind + "-" + way
			policy := "Always"
			if kind == "job" {
				policy = "Never"
			}
			template := fmt.Sprintf("{metadata: {labels: {app: %s}}, spec: {restartPolicy: %s, containers: [{name: c, image: app}]}}", name, policy)
			succeeds(t, apply(fmt.Sprintf(made.manifest, name, template), space))
		}
	}
	time.Sleep(60 * time.Second)
	succeeds(t, cluster.Kubectl("label", "namespace", space, "gate=open", "--overwrite"))
	eventually(t, 20*time.Second, func() error {
		if answer := apply(pod("app", "app"), space, "--dry-run=server"); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	var all sync.WaitGroup
	for kind, made := range waiting {
		for way, patch := range ways {
			all.Add(1)
			go func() {
				defer all.Done()
				name := kind + "-" + way
				objects := client.Resource(made.resource).Namespace(space)
				before, err := objects.Get(t.Context(), name, metav1.GetOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				opened := time.Now()
				if patch != "" {
					condition := fmt.Sprintf(`{"status": {"conditions": [{"type": "ImagesScanned", "status": "True", "reason": "Scanned", "message": "", "lastTransitionTime": %q}]}}`, opened.UTC().Format(time.RFC3339))
					if _, err := objects.Patch(t.Context(), name, patch, []byte(condition), metav1.PatchOptions{}, "status"); err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
				// Within a minute, whatever its controller does by itself.
				err = cluster.Eventually(90*time.Second, func() error {
					pods, err := cluster.Client.CoreV1().Pods(space).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
					if err == nil && len(pods.Items) == 0 {
						err = fmt.Errorf("%s has no Pod", name)
					}
					return err
				})
				took := time.Since(opened)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(15 * time.Second)
				after, err := objects.Get(t.Context(), name, metav1.GetOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				t.Logf("%s: a Pod after %v; conditions before [%s], after [%s]", name, took.Round(10*time.Millisecond), conditions(before), conditions(after))
				if patch != "" && took > 5*time.Second {
					t.Errorf("%s was not woken: its Pod came after %v", name, took)
				}
			}()
		}
	}
	all.Wait()
}

func conditions(object *unstructured.Unstructured) string {
	listed, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var all []string
	for _, entry := range listed {
		condition, _ := entry.(map[string]any)
		all = append(all, fmt.Sprintf("%v=%v", condition["type"], condition["status"]))
	}
	return strings.Join(all, " ")
}
