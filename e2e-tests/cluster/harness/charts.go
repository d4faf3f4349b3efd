package harness

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// A Chart is what a guide has people install beside the policy: a chart, and the namespace that it goes into.
type Chart struct {
	Name, Namespace string
	Values          []string
}

// Installed is a chart whose objects are in the cluster, as they were applied: those that say their namespace, and those that leave it
// to Helm.
type Installed struct {
	Chart
	placed, unplaced string
}

// Install applies a chart as Helm would, but for what needs its programs to run. Its images are those of this cluster's registry, as a
// mirror has them, and nobody has scanned them.
func (c *Cluster) Install(chart Chart) (Installed, error) {
	installed := Installed{Chart: chart}
	arguments := []string{"template", chart.Name, filepath.Join(c.Tools.ScannerCharts, chart.Name), "--namespace", chart.Namespace, "--include-crds", "--skip-tests"}
	for _, value := range chart.Values {
		arguments = append(arguments, "--set", value)
	}
	rendered, err := c.must("", c.Tools.Helm, arguments...)
	if err != nil {
		return installed, err
	}
	kinds, err := c.must("", c.Tools.Kubectl, "--kubeconfig", c.kubeconfig("admin"), "get", "customresourcedefinitions", "--output", "name")
	if err != nil {
		return installed, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(rendered), 4096)
	for {
		var object unstructured.Unstructured
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return installed, fmt.Errorf("the chart %s: %w", chart.Name, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		switch object.GetKind() {
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService":
			// Nobody would answer: what they are asked about could not be written, and no namespace could be deleted.
			continue
		case "CustomResourceDefinition":
			// The reports of all tests are of these kinds.
			if slices.Contains(strings.Fields(kinds), "customresourcedefinition.apiextensions.k8s.io/"+object.GetName()) {
				continue
			}
		}
		if err := c.mirrored(object.Object); err != nil {
			return installed, err
		}
		into := &installed.unplaced
		if object.GetNamespace() != "" {
			into = &installed.placed
		}
		*into += "---\n" + text(object.Object) + "\n"
	}
	return installed, c.InstallAgain(installed)
}

// InstallAgain applies what was installed once more, as an upgrade does: Jobs run anew.
func (c *Cluster) InstallAgain(installed Installed) error {
	if err := c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + installed.Namespace + "}}"); err != nil {
		return err
	}
	if answer := c.Kubectl("delete", "jobs", "--all", "--namespace", installed.Namespace); answer.Code != 0 {
		return fmt.Errorf("the Jobs of %s: %s", installed.Namespace, answer.Text())
	}
	// What a chart defines may be needed by the next line of the same chart.
	err := c.Eventually(60*time.Second, func() error {
		return errors.Join(c.apply(installed.unplaced, "--namespace", installed.Namespace), c.apply(installed.placed))
	})
	if err != nil {
		return fmt.Errorf("the chart %s: %w", installed.Name, err)
	}
	return nil
}

// Remove takes away what was installed, and its namespace unless reports are in it.
func (c *Cluster) Remove(installed Installed) error {
	inNamespace := []string{"--namespace", installed.Namespace, "--ignore-not-found", "--wait=false"}
	answers := []Answer{
		c.KubectlWith(installed.placed, "delete", "--filename", "-", "--ignore-not-found", "--wait=false"),
		c.KubectlWith(installed.unplaced, append([]string{"delete", "--filename", "-"}, inNamespace...)...),
		c.Kubectl(append([]string{"delete", "persistentvolumeclaims", "--all"}, inNamespace...)...),
	}
	if installed.Namespace != ScannerNamespace {
		answers = append(answers, c.Kubectl("delete", "namespace", installed.Namespace, "--timeout=60s"))
	}
	for _, answer := range answers {
		if answer.Code != 0 {
			return fmt.Errorf("%s stays: %s", installed.Name, answer.Err)
		}
	}
	return nil
}

// mirrored lets each container's image come from this cluster's registry, and puts it there.
func (c *Cluster) mirrored(value any) error {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			if key != "containers" && key != "initContainers" {
				if err := c.mirrored(below); err != nil {
					return err
				}
				continue
			}
			containers, _ := below.([]any)
			for _, entry := range containers {
				container, _ := entry.(map[string]any)
				name, ok := container["image"].(string)
				if !ok {
					continue
				}
				image, err := c.Mirror(name)
				if err != nil {
					return err
				}
				container["image"] = image.Name
			}
		}
	case []any:
		for _, below := range value {
			if err := c.mirrored(below); err != nil {
				return err
			}
		}
	}
	return nil
}

// Mirror puts an image under the name of another registry's into this cluster's: nobody has scanned it.
func (c *Cluster) Mirror(name string) (Image, error) {
	name, _, _ = strings.Cut(name, "@")
	rest := name
	if host, below, ok := strings.Cut(name, "/"); ok && strings.ContainsAny(host, ".:") {
		rest = below
	}
	repository, tag, tagged := strings.Cut(rest, ":")
	if !tagged {
		tag = "latest"
	}
	return c.Registry.Push(repository, tag, repository, "linux/amd64", "linux/arm64")
}

// SayReady plays the nodes of namespaces in which nothing runs: there is one, for DaemonSets, and each Pod is ready as soon as it is
// there, because a rollout waits for that. It ends with what it answers.
func (c *Cluster) SayReady(namespaces ...string) (end func(), err error) {
	const name = "plays-ready"
	node, err := c.Client.CoreV1().Nodes().Create(c.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	// A new node is said not to be ready, and nothing is put on it.
	node.Spec.Taints = nil
	if _, err := c.Client.CoreV1().Nodes().Update(c.ctx, node, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			for _, namespace := range namespaces {
				c.sayReady(namespace)
			}
			select {
			case <-ended:
				return
			case <-time.After(250 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(ended)
		<-gone
		_ = c.Client.CoreV1().Nodes().Delete(c.ctx, name, metav1.DeleteOptions{})
	}, nil
}

// sayReady is tried again by who calls it.
func (c *Cluster) sayReady(namespace string) {
	pods, err := c.Client.CoreV1().Pods(namespace).List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, pod := range pods.Items {
		if isReady(&pod) || pod.DeletionTimestamp != nil {
			continue
		}
		pod.Status.Phase = corev1.PodRunning
		for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		}
		_, _ = c.Client.CoreV1().Pods(namespace).UpdateStatus(c.ctx, &pod, metav1.UpdateOptions{})
	}
}
