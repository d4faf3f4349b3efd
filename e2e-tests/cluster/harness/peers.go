package harness

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// A Peer is another program that judges Pods. It runs as one process, as an administrator, and its webhooks are there as long as it.
type Peer struct {
	// Version is that of its Go module.
	Version string
	// Process is the program.
	Process *Process

	cluster *Cluster
	// name is what it is called here and where it is built, namespace where its webhooks say that it is.
	name, namespace string
	// objects are what was applied for it, and definitions its kinds.
	objects, definitions string
}

const (
	kyverno          = "kyverno"
	policyController = "policy-controller"
)

// PeersBuilt says what is missing of the programs of peers, and how to get it.
func (c *Cluster) PeersBuilt() error {
	for _, name := range []string{kyverno, policyController} {
		if path := filepath.Join(c.Tools.Peers, name); !executable(path) {
			return fmt.Errorf("%s is not there: make cluster-peers", path)
		}
	}
	return nil
}

// StartKyverno runs Kyverno's admission controller with what its chart says, and what else is asked for. It makes no reports.
func (c *Cluster) StartKyverno(options ...string) (*Peer, error) {
	folder, peer, err := c.newPeer(kyverno, "github.com/kyverno/kyverno", "kyverno")
	if err != nil {
		return nil, err
	}
	if peer.definitions, err = manifestsIn(filepath.Join(folder, "config", "crds")); err != nil {
		return nil, err
	}
	chart, err := c.chartAlone(filepath.Join(folder, "charts", "kyverno"))
	if err != nil {
		return nil, err
	}
	arguments := []string{"template", kyverno, chart, "--namespace", peer.namespace, "--no-hooks", "--skip-tests"}
	for _, value := range []string{"backgroundController", "cleanupController", "reportsController", "features.admissionReports"} {
		arguments = append(arguments, "--set", value+".enabled=false")
	}
	if peer.objects, err = c.must("", c.Tools.Helm, arguments...); err != nil {
		return nil, err
	}
	port := freePort()
	options = append([]string{
		"--kubeconfig=" + c.kubeconfig("admin"), "--webhookServerHost=127.0.0.1", fmt.Sprintf("--webhookServerPort=%d", port),
		"--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", freePort()), "--controllerRuntimeMetricsAddress=0", "--enableReporting=",
	}, options...)
	if err := peer.start(peer.objects, "kyverno-svc", port, options, "TUF_ROOT="+c.Folder); err != nil {
		return nil, errors.Join(err, peer.Close())
	}
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return peer, peer.wait(func() error {
		response, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/health/readiness", port))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("Kyverno isn't ready: %s", response.Status)
		}
		return nil
	})
}

// StartPolicyController runs sigstore's policy-controller with what its own manifests say. An image that no policy is about is rejected, as
// is everything that isn't signed: TUF, by which it would ask for Sigstore's public keys, is off.
func (c *Cluster) StartPolicyController() (*Peer, error) {
	folder, peer, err := c.newPeer(policyController, "github.com/sigstore/policy-controller", "cosign-system")
	if err != nil {
		return nil, err
	}
	if peer.objects, err = c.must("", c.Tools.Kubectl, "kustomize", filepath.Join(folder, "config")); err != nil {
		return nil, err
	}
	program, err := os.ReadFile(filepath.Join(folder, "config", "webhook.yaml"))
	if err != nil {
		return nil, err
	}
	peer.objects += "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: config-policy-controller, namespace: " + peer.namespace + "}, data: {no-match-policy: deny}}\n"
	// Its port can't be chosen.
	err = peer.start(string(program), "webhook", 8443, []string{"--disable-tuf"},
		"KUBECONFIG="+c.kubeconfig("admin"), "HOME="+c.Folder, fmt.Sprintf("METRICS_PROMETHEUS_PORT=%d", freePort()), fmt.Sprintf("PROFILING_PORT=%d", freePort()))
	if err != nil {
		return nil, errors.Join(err, peer.Close())
	}
	return peer, peer.wait(func() error {
		webhooks, err := c.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(c.ctx, "policy.sigstore.dev", metav1.GetOptions{})
		if err == nil && len(webhooks.Webhooks[0].ClientConfig.CABundle) == 0 {
			err = errors.New("the webhook of policy-controller has no certificate")
		}
		return err
	})
}

func (c *Cluster) newPeer(name, module, namespace string) (folder string, peer *Peer, err error) {
	command := exec.CommandContext(c.ctx, "go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", module)
	command.Dir = filepath.Join(c.Tools.PeerModules, name)
	said, err := command.Output()
	if err != nil {
		return "", nil, fmt.Errorf("where the module %s is: %w", module, err)
	}
	folder, version, _ := strings.Cut(strings.TrimSpace(string(said)), " ")
	return folder, &Peer{Version: version, cluster: c, name: name, namespace: namespace}, nil
}

// chartAlone is a copy of a chart that asks for no other charts.
func (c *Cluster) chartAlone(chart string) (string, error) {
	folder := filepath.Join(c.Folder, "charts", filepath.Base(chart))
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	if err := os.CopyFS(folder, os.DirFS(chart)); err != nil {
		return "", err
	}
	raw, err := os.ReadFile(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		return "", err
	}
	var said map[string]any
	if err := sigsyaml.Unmarshal(raw, &said); err != nil {
		return "", err
	}
	delete(said, "dependencies")
	// What is copied of a module can't be written, where its files couldn't.
	for _, name := range []string{"Chart.yaml", "Chart.lock", "charts"} {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return "", err
		}
	}
	return folder, os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte(text(said)), 0o644)
}

// manifestsIn are all of a folder and those below it.
func manifestsIn(folder string) (all string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		manifest, err := os.ReadFile(path)
		all += "\n---\n" + string(manifest)
		return err
	})
	return all, err
}

// start applies what a peer needs, and runs the only container of the Deployment among its manifests.
func (p *Peer) start(manifests, service string, port int, arguments []string, environ ...string) error {
	c := p.cluster
	if err := c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + p.namespace + "}}"); err != nil {
		return err
	}
	for _, applied := range []string{p.definitions, p.objects} {
		if applied == "" {
			continue
		}
		// What is defined may be needed by the next line.
		if err := c.Eventually(60*time.Second, func() error { return c.apply(applied) }); err != nil {
			return err
		}
	}
	deployment, err := deploymentIn(manifests)
	if err != nil {
		return err
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: p.namespace}}
	said := []string{"SSL_CERT_FILE=" + c.authority.file("ca.crt")}
	for _, variable := range container.Env {
		said = append(said, variable.Name+"="+value(variable, pod))
	}
	c.network.route(p.namespace, service, fmt.Sprintf("127.0.0.1:%d", port))
	p.Process, err = start(c.Folder, p.name, filepath.Join(c.Tools.Peers, p.name), append(slices.Clone(container.Args), arguments...), append(said, environ...)...)
	return err
}

func deploymentIn(manifests string) (*appsv1.Deployment, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096)
	for {
		found := &appsv1.Deployment{}
		if err := decoder.Decode(found); errors.Is(err, io.EOF) {
			return nil, errors.New("there is no Deployment among the manifests")
		} else if err == nil && found.Kind == "Deployment" {
			return found, nil
		}
	}
}

func (p *Peer) wait(ready func() error) error {
	err := p.cluster.Eventually(120*time.Second, func() error {
		if !p.Process.running() {
			return stop(fmt.Errorf("%s ended:\n%s", p.name, lastLines(p.Process.Log(), 10)))
		}
		return ready()
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%s says:\n%s", p.name, lastLines(p.Process.Log(), 10)), err, p.Close())
	}
	return nil
}

// Close ends the program, and takes away its webhooks and its kinds, so that nobody waits for it any more.
func (p *Peer) Close() error {
	c := p.cluster
	if p.Process != nil {
		p.Process.Kill()
	}
	ours := func(service *admissionregistrationv1.ServiceReference) bool {
		return service != nil && service.Namespace == p.namespace
	}
	registered := c.Client.AdmissionregistrationV1()
	changing, err := registered.MutatingWebhookConfigurations().List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, found := range changing.Items {
		if len(found.Webhooks) > 0 && ours(found.Webhooks[0].ClientConfig.Service) {
			err = errors.Join(err, registered.MutatingWebhookConfigurations().Delete(c.ctx, found.Name, metav1.DeleteOptions{}))
		}
	}
	judging, listErr := registered.ValidatingWebhookConfigurations().List(c.ctx, metav1.ListOptions{})
	if err := errors.Join(err, listErr); err != nil {
		return err
	}
	for _, found := range judging.Items {
		if len(found.Webhooks) > 0 && ours(found.Webhooks[0].ClientConfig.Service) {
			err = errors.Join(err, registered.ValidatingWebhookConfigurations().Delete(c.ctx, found.Name, metav1.DeleteOptions{}))
		}
	}
	if err != nil {
		return err
	}
	answer := c.KubectlWith(p.objects+"\n---\n"+p.definitions, "delete", "--ignore-not-found", "--timeout=90s", "--filename", "-")
	if answer.Code != 0 {
		return fmt.Errorf("what was applied for %s stays: %s", p.name, answer.Err)
	}
	return nil
}
