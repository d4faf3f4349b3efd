package cluster_test

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"cluster-tests/harness"
)

const amd64 = "linux/amd64"

// deployed is the deployment that the cluster has, so that tests with the same one share it.
var deployed *harness.Deployment

// unusable says that a test left policy servers that no other should have. Most deployments replace them anyway.
var unusable bool

// deploy makes the cluster's deployment what a test needs.
func deploy(t *testing.T, wanted harness.Deployment) {
	t.Helper()
	before := cluster.PolicyServers()
	defer func() {
		for name := range cluster.PolicyServers() {
			if unusable && before[name] != nil {
				must(t, cluster.RestartPolicyServers())
				break
			}
		}
		unusable = false
	}()
	if deployed != nil && reflect.DeepEqual(*deployed, wanted) {
		return
	}
	// Of a test that failed nobody knows what it left.
	if deployed == nil || !deployed.Becomes(wanted) {
		must(t, cluster.Undeploy())
	}
	deployed = nil
	must(t, cluster.Deploy(wanted))
	deployed = &wanted
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually fails the test with the last error.
func eventually(t *testing.T, within time.Duration, try func() error) {
	t.Helper()
	must(t, cluster.Eventually(within, try))
}

// namespaces is how many tests have asked for one.
var namespaces int

// namespace makes one for this test alone, and takes it away after it.
func namespace(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "#", "-", "'", "", ",", "", " ", "-").Replace(t.Name()))
	namespaces++
	name = fmt.Sprintf("%s-%d", strings.Trim(name[:min(len(name), 50)], "-"), namespaces)
	succeeds(t, cluster.Kubectl("create", "namespace", name))
	// Pods need their account, which a controller makes.
	eventually(t, 20*time.Second, func() error {
		if answer := cluster.Kubectl("get", "serviceaccount", "default", "--namespace", name); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	t.Cleanup(func() { cluster.Kubectl("delete", "namespace", name, "--wait=false") })
	return name
}

// An image that was scanned, as its findings say. Every test has repositories of its own.
func scanned(t *testing.T, repository string, findings harness.Findings) harness.Image {
	t.Helper()
	image := pushed(t, repository)
	must(t, cluster.Report(image, amd64, findings))
	return image
}

// pushed is an image of two platforms that nobody has scanned.
func pushed(t *testing.T, repository string) harness.Image {
	t.Helper()
	image, err := cluster.Registry.Push(repository, "1.0", repository, amd64, "linux/arm64")
	must(t, err)
	return image
}

var (
	clean  = harness.Findings{Low: 2}
	broken = harness.Findings{Critical: 1}
)

func succeeds(t *testing.T, answer harness.Answer) harness.Answer {
	t.Helper()
	if answer.Code != 0 {
		t.Fatalf("kubectl failed: %s", answer.Text())
	}
	return answer
}

// rejected is refused by the policy, with these words.
func rejected(t *testing.T, answer harness.Answer, words ...string) {
	t.Helper()
	if answer.Code == 0 {
		t.Fatalf("this was admitted: %s", answer.Text())
	}
	contains(t, answer.Text(), append([]string{"admission webhook", "denied the request"}, words...)...)
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Fatalf("%q isn't in:\n%s", word, text)
		}
	}
}

// apply is `kubectl apply -f -`.
func apply(manifest, namespace string, more ...string) harness.Answer {
	return cluster.KubectlWith(manifest, append([]string{"apply", "--namespace", namespace, "--filename", "-"}, more...)...)
}

func pod(name string, images ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n%s", name, containers("  ", images))
}

func containers(indent string, images []string) string {
	text := indent + "containers:\n"
	for index, image := range images {
		text += fmt.Sprintf("%s  - {name: c%d, image: %q}\n", indent, index+1, image)
	}
	return text
}

func deployment(name string, replicas int, images ...string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  replicas: %d\n  selector: {matchLabels: {app: %s}}\n  template:\n    metadata: {labels: {app: %s}}\n    spec:\n%s",
		name, replicas, name, name, containers("      ", images))
}

// imagesOf are the images of the containers of Pods, as etcd has them.
func imagesOf(t *testing.T, namespace string, selector ...string) []string {
	t.Helper()
	answer := succeeds(t, cluster.Kubectl(append([]string{"get", "pods", "--namespace", namespace, "--output", `jsonpath={range .items[*]}{range .spec.containers[*]}{.image}{"\n"}{end}{end}`}, selector...)...))
	return strings.Fields(answer.Out)
}

// runs waits until Pods run these images, and no others.
func runs(t *testing.T, namespace string, images ...string) {
	t.Helper()
	eventually(t, 30*time.Second, func() error {
		if found := imagesOf(t, namespace); !reflect.DeepEqual(found, images) {
			return fmt.Errorf("the Pods have %v, wanted %v", found, images)
		}
		return nil
	})
}

// body is what a response has.
func body(response *http.Response) string {
	text, err := io.ReadAll(response.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return string(text)
}

const second = time.Second

// wanted is an error when a text hasn't these words.
func wanted(text, words string) error {
	if !strings.Contains(text, words) {
		return fmt.Errorf("%q isn't in: %s", words, text)
	}
	return nil
}
