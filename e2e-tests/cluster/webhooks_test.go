package cluster_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cluster-tests/harness"
)

// webhooks are the names of all webhook configurations, with their kind before them.
func webhooks(t *testing.T) []string {
	t.Helper()
	return strings.Fields(succeeds(t, cluster.Kubectl("get", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "--output", "name")).Out)
}

// typed are the commands of a page's fence that has this text.
func typed(t *testing.T, page, text string) string {
	t.Helper()
	raw, err := os.ReadFile(page)
	must(t, err)
	for _, part := range strings.Split(string(raw), "```console\n")[1:] {
		fence, _, _ := strings.Cut(part, "```")
		if !strings.Contains(fence, text) {
			continue
		}
		var commands []string
		for _, line := range strings.Split(fence, "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands = append(commands, command)
			} else if strings.HasPrefix(line, " ") {
				commands = append(commands, line)
			}
		}
		return strings.Join(commands, "\n")
	}
	t.Fatalf("%s has no fence with %q", page, text)
	return ""
}

// The last of docs/break-glass.md's emergencies, as it is written there: our two webhooks are gone, and nothing else is.
func TestTheWebhooksAreRemoved(t *testing.T) {
	deploy(t, harness.Deployment{Components: []string{"validating"}})
	space := namespace(t)
	bad := scanned(t, space+"/bad", broken)
	rejected(t, apply(pod("before", bad.Name), space), "CVE-2026-1000")
	others := othersWebhooks(t, space)
	before := webhooks(t)
	own := []string{
		"mutatingwebhookconfiguration.admissionregistration.k8s.io/" + cluster.Identity("image-admission"),
		"validatingwebhookconfiguration.admissionregistration.k8s.io/" + cluster.Identity("image-admission-validating"),
	}
	for _, name := range append(own, others...) {
		if !slices.Contains(before, name) {
			t.Fatalf("%s is not among the webhooks: %v", name, before)
		}
	}

	// Kubewarden's controller is down too, or it would make them again.
	succeeds(t, cluster.Kubectl("scale", "deployment/kubewarden-controller", "--replicas", "0", "--namespace", harness.Namespace))
	t.Cleanup(func() {
		succeeds(t, cluster.Kubectl("scale", "deployment/kubewarden-controller", "--replicas", "1", "--namespace", harness.Namespace))
		eventually(t, 90*second, func() error {
			if found := webhooks(t); !slices.Contains(found, own[0]) || !slices.Contains(found, own[1]) {
				return fmt.Errorf("the controller is back, and the webhooks are %v", found)
			}
			return nil
		})
	})
	eventually(t, 60*second, func() error {
		answer := cluster.Kubectl("get", "pods", "--namespace", harness.Namespace, "--output", "name")
		if strings.Contains(answer.Out, "kubewarden-controller") {
			return fmt.Errorf("the controller is there: %s", answer.Out)
		}
		return nil
	})

	removed := succeeds(t, cluster.Typed(typed(t, "../../docs/break-glass.md", "xargs kubectl delete")))
	contains(t, removed.Out, cluster.Identity("image-admission")+`" deleted`, cluster.Identity("image-admission-validating")+`" deleted`)
	left := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(own, name) })
	if found := webhooks(t); !reflect.DeepEqual(found, left) {
		t.Errorf("the webhooks are %v, and should be %v", found, left)
	}
	eventually(t, 20*second, func() error {
		if answer := apply(pod("after", bad.Name), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
}

// othersWebhooks are of a policy with a similar name, of a group and of a team's policy with the same name, and of another project.
func othersWebhooks(t *testing.T, space string) []string {
	t.Helper()
	module, err := cluster.PushModule()
	must(t, err)
	policy := func(kind, metadata string) string {
		return fmt.Sprintf("apiVersion: policies.kubewarden.io/v1\nkind: %s\nmetadata: %s\nspec:\n  policyServer: image-admission\n  module: %s\n  mutating: false\n  settings: {pin: {enabled: false}, registries: [example.com]}\n"+
			"  rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}]\n", kind, metadata, module)
	}
	group := fmt.Sprintf("apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicyGroup\nmetadata: {name: image-admission}\nspec:\n  policyServer: image-admission\n  expression: one()\n  message: refused\n"+
		"  rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}]\n  policies: {one: {module: %q, settings: {pin: {enabled: false}, registries: [example.com]}}}\n---\n", module)
	manifest := group + policy("ClusterAdmissionPolicy", "{name: image-admission-next}") + "---\n" + policy("AdmissionPolicy", "{name: image-admission, namespace: "+space+"}") +
		"---\n" + webhook("image-admission", space, "https://127.0.0.1:1", nil)
	deployed = nil
	succeeds(t, cluster.KubectlWith(manifest, "apply", "--filename", "-"))
	t.Cleanup(func() { succeeds(t, cluster.KubectlWith(manifest, "delete", "--filename", "-")) })
	must(t, cluster.WaitDeployed(120*second))
	var found []string
	eventually(t, 120*second, func() error {
		found = slices.DeleteFunc(webhooks(t), func(name string) bool {
			return !strings.HasSuffix(name, "image-admission-next") && !strings.HasSuffix(name, space+"-image-admission") &&
				!strings.HasSuffix(name, space+".image-admission") && !strings.HasSuffix(name, "/image-admission") &&
				!strings.HasSuffix(name, "group-image-admission") && !strings.HasSuffix(name, "capg.image-admission")
		})
		if len(found) != 4 {
			return fmt.Errorf("these are not the four others: %v", found)
		}
		return nil
	})
	return found
}

// webhook is a mutating one of another project, for Pods of one namespace, that nothing depends on.
func webhook(name, namespace, url string, authority []byte) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": name},
		"webhooks": []any{map[string]any{
			"name": "other.example.com", "admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "failurePolicy": "Ignore",
			"clientConfig":      map[string]any{"url": url, "caBundle": authority},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": namespace}},
			"rules":             []any{map[string]any{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"pods"}, "operations": []string{"CREATE"}}},
		}},
	})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// injects is a webhook that adds a container of an image to each Pod.
func injects(t *testing.T, name, namespace, image string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		var review struct{ Request struct{ UID string } }
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		patch, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/spec/containers/-", "value": map[string]any{"name": strings.SplitN(name, "-", 2)[0], "image": image}}})
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		response.Header().Set("Content-Type", "application/json")
		json.NewEncoder(response).Encode(map[string]any{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": map[string]any{"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": patch},
		})
	}))
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	manifest := webhook(name, namespace, server.URL, authority)
	succeeds(t, cluster.KubectlWith(manifest, "apply", "--filename", "-"))
	t.Cleanup(func() {
		succeeds(t, cluster.KubectlWith(manifest, "delete", "--filename", "-"))
		server.Close()
	})
}

// The API server asks mutating webhooks by the names of their configurations, each once: the policy judges and pins what those before it
// inject. What those after it inject is judged by the twin, and nobody pins it. Since Kubewarden 1.37.2 Istio's comes before it.
func TestOtherWebhooksInject(t *testing.T) {
	own := cluster.Identity("image-admission")
	good, bad := scanned(t, "injected/good", clean), scanned(t, "injected/bad", broken)
	for _, name := range []string{"azure-wi-webhook-mutating-webhook-configuration", "istio-sidecar-injector", "linkerd-proxy-injector-webhook-config"} {
		t.Run(name, func(t *testing.T) {
			deploy(t, harness.Deployment{})
			space, other := namespace(t), namespace(t)
			app := scanned(t, space+"/app", clean)
			injects(t, name, space, good.Name)
			injects(t, name+"-bad", other, bad.Name)
			succeeds(t, apply(pod("app", app.Name), space))
			bare := apply(pod("app", app.Name), other)
			if name < own {
				runs(t, space, app.Pinned(), good.Pinned())
				rejected(t, bare, "CVE-2026-1000")
				deploy(t, harness.Deployment{Settings: map[string]any{"pin": map[string]any{"exclude": []string{cluster.Registry.Host + "/injected/*"}}}})
				succeeds(t, apply(pod("left", app.Name), space))
				if found := imagesOf(t, space, "--field-selector", "metadata.name=left"); !reflect.DeepEqual(found, []string{app.Pinned(), good.Name}) {
					t.Errorf("the Pod runs %v, and the sidecar isn't left as it is", found)
				}
				rejected(t, apply(pod("app", app.Name), other), "CVE-2026-1000")
				return
			}
			runs(t, space, app.Pinned(), good.Name)
			succeeds(t, bare)
			deploy(t, harness.Deployment{Components: []string{"validating"}})
			rejected(t, apply(pod("twin", app.Name), other), "CVE-2026-1000")
		})
	}
}
