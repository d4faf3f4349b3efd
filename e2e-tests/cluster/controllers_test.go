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

// A CronJob that had an image scanned is deleted, and the report that it owns stays, where it is deleted as an orphan.
func TestAReportOutlivesItsCronJob(t *testing.T) {
	// A policy of another test would judge the CronJobs.
	must(t, cluster.Undeploy())
	deployed = nil
	space := namespace(t)
	client, err := dynamic.NewForConfig(cluster.Config)
	must(t, err)
	reports := client.Resource(harness.TrivyReports).Namespace(space)
	const each = 20
	names := func(name string) (all []string) {
		for number := range each {
			all = append(all, fmt.Sprintf("%s-%d", name, number))
		}
		return all
	}
	// The collector looks once in a while which kinds there are.
	time.Sleep(60 * time.Second)
	cases := []struct {
		name   string
		policy metav1.DeletionPropagation
		age    time.Duration
		// restarted is whether the collector begins anew before the deletion.
		restarted bool
		stay      int
	}{
		{"orphan-at-once", metav1.DeletePropagationOrphan, 0, false, -1},
		{"orphan-after-1s", metav1.DeletePropagationOrphan, time.Second, false, -1},
		{"orphan-after-30s", metav1.DeletePropagationOrphan, 30 * time.Second, false, each},
		{"orphan-after-restart", metav1.DeletePropagationOrphan, 30 * time.Second, true, each},
		{"background", metav1.DeletePropagationBackground, 30 * time.Second, false, 0},
	}
	for _, try := range cases {
		for _, name := range names(try.name) {
			cronJob, err := cluster.Client.BatchV1().CronJobs(space).Create(t.Context(), harness.ScanCronJob(name, "registry.example/app:1.0"), metav1.CreateOptions{})
			must(t, err)
			_, err = reports.Create(t.Context(), harness.TrivyReportOf(cronJob, "image", "registry.example/app:1.0", clean), metav1.CreateOptions{})
			must(t, err)
			if try.age < 30*time.Second {
				time.Sleep(try.age)
				must(t, cluster.Client.BatchV1().CronJobs(space).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &try.policy}))
			}
		}
	}
	time.Sleep(30 * time.Second)
	for _, try := range cases {
		if try.age < 30*time.Second {
			continue
		}
		if try.restarted {
			must(t, cluster.RestartControllers())
		}
		for _, name := range names(try.name) {
			must(t, cluster.Client.BatchV1().CronJobs(space).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &try.policy}))
		}
	}
	eventually(t, time.Minute, func() error {
		left, err := cluster.Client.BatchV1().CronJobs(space).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d CronJobs are left, %s among them", len(left.Items), left.Items[0].Name)
		}
		return err
	})
	// The collector looks again at what it wasn't sure about.
	time.Sleep(60 * time.Second)
	for _, try := range cases {
		there, owned := 0, 0
		for _, name := range names(try.name) {
			report, err := reports.Get(t.Context(), "cronjob-"+name+"-image", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			must(t, err)
			there++
			owned += len(report.GetOwnerReferences())
		}
		t.Logf("%s: %d of %d reports are there, %d name an owner", try.name, there, each, owned)
		if try.stay >= 0 && there != try.stay {
			t.Errorf("%s: %d of %d reports are there, not %d", try.name, there, each, try.stay)
		}
	}
}

// A kind whose controller makes Pods, and waits longer after each that is rejected.
type kind struct {
	// manifest takes the name and the Pod template.
	manifest string
	resource schema.GroupVersionResource
	restart  string
}

func (k kind) template(name, image string) string {
	return fmt.Sprintf("{metadata: {labels: {app: %s}}, spec: {restartPolicy: %s, containers: [{name: c1, image: %q}]}}", name, k.restart, image)
}

var waiting = map[string]kind{
	"replicaset":  {"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: %s}\nspec: {replicas: 1, selector: {matchLabels: {app: %[1]s}}, template: %[2]s}", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, "Always"},
	"statefulset": {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: %s}\nspec: {replicas: 1, serviceName: none, selector: {matchLabels: {app: %[1]s}}, template: %[2]s}", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, "Always"},
	"daemonset":   {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: %s}\nspec: {selector: {matchLabels: {app: %[1]s}}, template: %[2]s}", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, "Always"},
	"job":         {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec: {template: %[2]s}", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "Never"},
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

// A controller whose Pods were rejected for a while tries again at once when a condition of its object's status changes.
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
			succeeds(t, apply(fmt.Sprintf(made.manifest, name, made.template(name, "app")), space))
		}
	}
	// ReplicaSets were tried after 41 s and are next after 82 s, Jobs after 31 s and 63 s.
	time.Sleep(45 * time.Second)
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
