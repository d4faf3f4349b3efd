package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// A Deployment is how a user deploys the policy: the base of deploy/, its components, and what is theirs in an overlay.
type Deployment struct {
	// Components beside the source of reports, like `monitor`.
	Components []string
	// Source is the component of the scanner: `sbomscanner` where it is empty. `attestation` is what Jobs attest, and `evidence` none at all.
	Source string
	// Replicas of the policy server: one where it is zero.
	Replicas int
	// Workers of each replica: one where it is zero.
	Workers int
	// Settings take the place of those of deploy/, each under its name.
	Settings map[string]any
	// Images take the place of those of deploy/, by their names.
	Images map[string]string
	// Companion is there if this isn't nil, with the component of its source.
	Companion *Companion
}

// Becomes is whether applying another deployment over this one leaves nothing of this one: Kubewarden refuses to turn an enforced
// policy back to monitor, and a twin that isn't applied any more stays.
func (d Deployment) Becomes(other Deployment) bool {
	has := func(deployment Deployment, component string) bool {
		return slices.Contains(deployment.Components, component)
	}
	return (has(d, "monitor") || !has(other, "monitor")) && (!has(d, "validating") || has(other, "validating"))
}

const moduleRepository = "image-admission"

// PushModule puts the policy into the registry, as `make push` does, unless it is there.
func (c *Cluster) PushModule() (string, error) {
	reference := c.Registry.Modules + "/" + moduleRepository + ":v1"
	if c.modulePushed {
		return "registry://" + reference, nil
	}
	sources := filepath.Join(c.Folder, "sources.yaml")
	if err := os.WriteFile(sources, []byte(fmt.Sprintf("insecure_sources: [%q]\n", c.Registry.Modules)), 0o644); err != nil {
		return "", err
	}
	_, err := c.must("", c.Tools.Kwctl, "push", "--sources-path", sources, c.Tools.Module, "registry://"+reference)
	c.modulePushed = err == nil
	return "registry://" + reference, err
}

// Render is what `kubectl kustomize` makes of deploy/ with the user's overlay.
func (c *Cluster) Render(deployment Deployment) (string, error) {
	module, err := c.PushModule()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(c.Folder, "overlay")
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	if err := os.CopyFS(filepath.Join(folder, "deploy"), os.DirFS(c.Tools.Deploy)); err != nil {
		return "", err
	}
	policy := []map[string]any{
		{"op": "replace", "path": "/spec/module", "value": module},
		{"op": "add", "path": "/spec/settings/registries", "value": []string{c.Registry.Host}},
	}
	for _, key := range slices.Sorted(maps.Keys(deployment.Settings)) {
		policy = append(policy, map[string]any{"op": "add", "path": "/spec/settings/" + key, "value": deployment.Settings[key]})
	}
	authority, err := c.authority.pem()
	if err != nil {
		return "", err
	}
	replicas := max(1, deployment.Replicas)
	server := []map[string]any{
		{"op": "replace", "path": "/spec/replicas", "value": replicas},
		{"op": "add", "path": "/spec/insecureSources", "value": []string{c.Registry.Modules}},
		{"op": "add", "path": "/spec/sourceAuthorities", "value": map[string][]string{c.Registry.Host: {authority}}},
		{"op": "add", "path": "/spec/env/-", "value": map[string]string{"name": "KUBEWARDEN_WORKERS", "value": fmt.Sprint(max(1, deployment.Workers))}},
	}
	if replicas == 1 {
		server = append(server, map[string]any{"op": "remove", "path": "/spec/minAvailable"})
	}
	source := deployment.Source
	if source == "" {
		source = "sbomscanner"
	}
	component, companions := "sources/"+source, []string{"companion-" + source}
	// What Jobs attest is a source without a component, whose objects are those of `evidence`.
	switch source {
	case "evidence":
		component, companions = "sources/none", nil
		deployment.Components = append([]string{"evidence"}, deployment.Components...)
	case "attestation":
		component, companions = "evidence", []string{"companion-evidence", "companion-scan-job"}
		reports, err := c.attestedReports()
		if err != nil {
			return "", err
		}
		policy = append(policy, map[string]any{"op": "add", "path": "/spec/settings/reports", "value": reports})
	}
	if slices.Contains(deployment.Components, "evidence") {
		companions = append(companions, "companion-evidence")
	}
	components := []string{"deploy/" + component}
	for _, name := range deployment.Components {
		components = append(components, "deploy/"+name)
	}
	patches := []map[string]any{
		{"target": map[string]string{"kind": "ClusterAdmissionPolicy", "name": "image-admission.*"}, "patch": text(policy)},
		{"target": map[string]string{"kind": "PolicyServer"}, "patch": text(server)},
	}
	if deployment.Companion != nil {
		components = append(components, "deploy/companion")
		for _, name := range companions {
			components = append(components, "deploy/"+name)
		}
		patches = append(patches, deployment.Companion.patches()...)
	}
	images := []map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(deployment.Images)) {
		colon := strings.LastIndex(deployment.Images[name], ":")
		images = append(images, map[string]string{"name": name, "newName": deployment.Images[name][:colon], "newTag": deployment.Images[name][colon+1:]})
	}
	overlay := map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{"deploy"}, "components": components, "images": images, "patches": patches,
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text(overlay)), 0o644); err != nil {
		return "", err
	}
	return c.must("", c.Tools.Kubectl, "kustomize", folder)
}

func (c *Cluster) rights(source string) string {
	return filepath.Join(c.Tools.Deploy, "sources", source, "rights.yaml")
}

// TakeRights takes away what the policy server may read of a source, and GiveRights gives it back.
func (c *Cluster) TakeRights(source string) error {
	_, err := c.must("", c.Tools.Kubectl, "delete", "-f", c.rights(source))
	return err
}

// GiveRights is as the component does it.
func (c *Cluster) GiveRights(source string) error {
	_, err := c.must("", c.Tools.Kubectl, "apply", "-f", c.rights(source))
	return err
}

func text(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Deploy applies deploy/ with the overlay, and waits until the policy server that has these settings alone is asked.
func (c *Cluster) Deploy(deployment Deployment) error {
	if err := c.Apply(deployment); err != nil {
		return err
	}
	if err := c.WaitDeployed(120 * time.Second); err != nil || deployment.Companion == nil {
		return err
	}
	return c.waitCompanion(60 * time.Second)
}

// Apply applies deploy/ with the overlay, and waits for nothing.
func (c *Cluster) Apply(deployment Deployment) error {
	rendered, err := c.Render(deployment)
	if err != nil {
		return err
	}
	return c.apply(rendered)
}

// Grace is how long processes of Pods get to end: 2 s, so that tests go on, or the 30 s that Kubernetes gives.
func (c *Cluster) Grace(grace time.Duration) { c.node.setGrace(grace) }

var policyServers = schema.GroupVersionResource{Group: "policies.kubewarden.io", Version: "v1", Resource: "policyservers"}

var policies = schema.GroupVersionResource{Group: "policies.kubewarden.io", Version: "v1", Resource: "clusteradmissionpolicies"}

// WaitDeployed waits as deploy/README.md says it: for the rollout, and until no older replica is asked.
func (c *Cluster) WaitDeployed(within time.Duration) error {
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	return c.Eventually(within, func() error {
		listed, err := client.Resource(policies).List(c.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		config, err := c.Client.CoreV1().ConfigMaps(Namespace).Get(c.ctx, "policy-server-image-admission", metav1.GetOptions{})
		if err != nil {
			return err
		}
		var configured map[string]struct {
			Module, PolicyMode string
			AllowedToMutate    bool
			Settings           map[string]any
		}
		if err := json.Unmarshal([]byte(config.Data["policies.yml"]), &configured); err != nil {
			return err
		}
		for _, policy := range listed.Items {
			if status, reason := condition(policy.Object, "PolicyUniquelyReachable"); status != "True" {
				return fmt.Errorf("the policy %s is not reachable alone (%s); the policy servers say:\n%s", policy.GetName(), reason, c.policyServerLogs(4))
			}
			// The condition may be that of what was there before.
			name := c.Identity(policy.GetName())
			settings, _, _ := unstructured.NestedMap(policy.Object, "spec", "settings")
			module, _, _ := unstructured.NestedString(policy.Object, "spec", "module")
			mode, _, _ := unstructured.NestedString(policy.Object, "spec", "mode")
			mutates, _, _ := unstructured.NestedBool(policy.Object, "spec", "mutating")
			if entry := configured[name]; entry.Module != module || entry.PolicyMode != mode || entry.AllowedToMutate != mutates || !reflect.DeepEqual(normal(entry.Settings), normal(settings)) {
				return fmt.Errorf("the policy server's configuration doesn't have %s as it is yet", name)
			}
		}
		deployment, err := c.Client.AppsV1().Deployments(Namespace).Get(c.ctx, "policy-server-image-admission", metav1.GetOptions{})
		if err != nil {
			return err
		}
		server, err := client.Resource(policyServers).Get(c.ctx, "image-admission", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status := deployment.Status
		wanted := *deployment.Spec.Replicas
		replicas, _, _ := unstructured.NestedInt64(server.Object, "spec", "replicas")
		env, _, _ := unstructured.NestedSlice(server.Object, "spec", "env")
		if int64(wanted) != replicas || !hasAll(deployment.Spec.Template.Spec.Containers[0].Env, env) {
			return fmt.Errorf("the Deployment isn't what the policy server asks for yet: %d replicas, not %d", wanted, replicas)
		}
		if deployment.Spec.Template.Labels["kubewarden/config-version"] != config.ResourceVersion || status.ObservedGeneration < deployment.Generation ||
			status.UpdatedReplicas != wanted || status.AvailableReplicas != wanted || status.Replicas != wanted {
			return fmt.Errorf("the policy server isn't rolled out: %+v; it says:\n%s", status, c.policyServerLogs(4))
		}
		return nil
	})
}

// normal is a value as JSON has it, whoever made it.
func normal(value map[string]any) any {
	var read any
	if err := json.Unmarshal([]byte(text(value)), &read); err != nil {
		panic(err)
	}
	return read
}

// hasAll is whether a container has the variables that a policy server asks for.
func hasAll(has []corev1.EnvVar, wanted []any) bool {
	for _, entry := range wanted {
		variable, _ := entry.(map[string]any)
		if !slices.ContainsFunc(has, func(own corev1.EnvVar) bool {
			return own.Name == variable["name"] && (own.ValueFrom != nil || own.Value == variable["value"])
		}) {
			return false
		}
	}
	return true
}

func condition(object map[string]any, kind string) (status, reason string) {
	state, _ := object["status"].(map[string]any)
	conditions, _ := state["conditions"].([]any)
	for _, entry := range conditions {
		if found, ok := entry.(map[string]any); ok && found["type"] == kind {
			return fmt.Sprint(found["status"]), fmt.Sprint(found["reason"])
		}
	}
	return "", "no such condition"
}

var policyServerSelector = labels.SelectorFromSet(labels.Set{"kubewarden/policy-server": "image-admission"})

// PolicyServers are the processes of the policy server, by the names of their Pods.
func (c *Cluster) PolicyServers() map[string]*Process { return c.node.processes(policyServerSelector) }

// PolicyServerLink is the way from the API server to the policy servers.
func (c *Cluster) PolicyServerLink() *Link {
	return c.network.link(Namespace, "policy-server-image-admission")
}

// PolicyServerLog is what all policy servers that run now have written.
func (c *Cluster) PolicyServerLog() string { return c.policyServerLogs(1 << 30) }

func (c *Cluster) policyServerLogs(lines int) string {
	var all []string
	for name, process := range c.PolicyServers() {
		all = append(all, name+": "+lastLines(process.Log(), lines))
	}
	return strings.Join(all, "\n")
}

// Undeploy deletes the policies, and waits until nobody is asked any more.
func (c *Cluster) Undeploy() error {
	if _, err := c.must("", c.Tools.Kubectl, "--kubeconfig", c.kubeconfig("admin"), "delete", "clusteradmissionpolicies", "--all"); err != nil {
		return err
	}
	return c.Eventually(60*time.Second, func() error {
		webhooks, err := c.must("", c.Tools.Kubectl, "--kubeconfig", c.kubeconfig("admin"), "get", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "--output", "name")
		if err == nil && strings.Contains(webhooks, c.Identity("image-admission")) {
			return fmt.Errorf("webhooks are left: %s", webhooks)
		}
		return err
	})
}

// RestartPolicyServers deletes their Pods, and waits for new ones. `kubectl rollout restart` doesn't: Kubewarden's controller takes
// its annotation away again.
func (c *Cluster) RestartPolicyServers() error {
	before := c.PolicyServers()
	if _, err := c.must("", c.Tools.Kubectl, "--kubeconfig", c.kubeconfig("admin"), "delete", "pods", "--namespace", Namespace, "--selector", policyServerSelector.String()); err != nil {
		return err
	}
	if err := c.Eventually(60*time.Second, func() error {
		for name := range c.PolicyServers() {
			if before[name] != nil {
				return fmt.Errorf("%s is still there", name)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return c.WaitDeployed(120 * time.Second)
}

// TrustRegistry lets the policy server pull its module without TLS, and trust this cluster's authority.
func (c *Cluster) TrustRegistry() error {
	authority, err := c.authority.pem()
	if err != nil {
		return err
	}
	patch := text(map[string]any{"spec": map[string]any{"insecureSources": []string{c.Registry.Modules}, "sourceAuthorities": map[string][]string{c.Registry.Host: {authority}}}})
	_, err = c.must("", c.Tools.Kubectl, "patch", "policyserver", "image-admission", "--type", "merge", "--patch", patch)
	return err
}
