package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const nodeName = "loopback"

// A node runs the Pods of one namespace as processes of this machine, each on an address of its own in 127.1.0.0/16. It
// plays the scheduler and the kubelet.
//
// What a container mounts is written below the node's folder, and paths in its arguments and environment are put there.
// Pods whose image isn't one of the programs stay pending, as the Pods of users do: they are admitted, and not run.
type node struct {
	client    kubernetes.Interface
	namespace string
	folder    string
	authority *authority
	// programs has a program for the last part of an image's name.
	programs map[string]program
	// grace is how long a process is given to end, where its Pod says no less. A real node has no such bound.
	grace time.Duration
	// server is the address of the API server, as processes reach it.
	server string

	mutex sync.Mutex
	pods  map[types.UID]*runningPod
	next  int
}

// A program is what an image has: its path, and what else its environment must say on this machine.
type program struct {
	path    string
	environ []string
}

type runningPod struct {
	name     string
	labels   labels.Set
	address  string
	folder   string
	process  *Process
	ready    bool
	restarts int32
	finished bool
	stopping bool
	token    time.Time
	mounted  time.Time
	started  time.Time
}

func newNode(client kubernetes.Interface, namespace, folder, server string, authority *authority, programs map[string]program) *node {
	return &node{client: client, namespace: namespace, folder: folder, server: server, authority: authority, programs: programs, grace: 2 * time.Second, pods: map[types.UID]*runningPod{}}
}

func (n *node) run(ctx context.Context) {
	for ctx.Err() == nil {
		pods, err := n.client.CoreV1().Pods(n.namespace).List(ctx, metav1.ListOptions{})
		if err == nil {
			n.sync(ctx, pods.Items)
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// ready are the addresses of the Pods that a selector chooses and that are ready.
func (n *node) ready(namespace string, selector labels.Selector) []string {
	if namespace != n.namespace {
		return nil
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	var addresses []string
	for _, pod := range n.pods {
		if pod.ready && !pod.stopping && selector.Matches(pod.labels) {
			addresses = append(addresses, pod.address)
		}
	}
	sort.Strings(addresses)
	return addresses
}

// processes are those of the Pods that a selector chooses, by the Pod's name.
func (n *node) processes(selector labels.Selector) map[string]*Process {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	found := map[string]*Process{}
	for _, pod := range n.pods {
		if pod.process != nil && !pod.finished && selector.Matches(pod.labels) {
			found[pod.name] = pod.process
		}
	}
	return found
}

func (n *node) close() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, pod := range n.pods {
		if pod.process != nil {
			pod.process.Kill()
		}
	}
}

func (n *node) sync(ctx context.Context, pods []corev1.Pod) {
	seen := map[types.UID]bool{}
	for index := range pods {
		pod := &pods[index]
		seen[pod.UID] = true
		n.mutex.Lock()
		running := n.pods[pod.UID]
		n.mutex.Unlock()
		if err := n.syncPod(ctx, pod, running); err != nil {
			fmt.Fprintf(os.Stderr, "node: Pod %s: %v\n", pod.Name, err)
		}
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for uid, pod := range n.pods {
		if !seen[uid] {
			if pod.process != nil {
				go pod.process.Stop(5 * time.Second)
			}
			delete(n.pods, uid)
		}
	}
}

func (n *node) syncPod(ctx context.Context, pod *corev1.Pod, running *runningPod) error {
	switch {
	case len(pod.Spec.Containers) != 1 || n.programOf(pod.Spec.Containers[0]).path == "":
		return nil
	case pod.DeletionTimestamp != nil:
		return n.end(ctx, pod, running)
	case pod.Spec.NodeName == "":
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}}
		return n.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	case running == nil:
		return n.begin(ctx, pod)
	default:
		return n.keep(ctx, pod, running)
	}
}

func (n *node) programOf(container corev1.Container) program {
	name, _, _ := strings.Cut(path.Base(container.Image), ":")
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.programs[name]
}

func (n *node) begin(ctx context.Context, pod *corev1.Pod) error {
	n.mutex.Lock()
	n.next++
	address := fmt.Sprintf("127.1.%d.%d", n.next/250, n.next%250+1)
	n.mutex.Unlock()
	running := &runningPod{name: pod.Name, labels: pod.Labels, address: address, folder: filepath.Join(n.folder, pod.Name)}
	if err := n.mount(ctx, pod, running); err != nil {
		return err
	}
	container := pod.Spec.Containers[0]
	arguments := append(append([]string{}, container.Command...), container.Args...)
	if len(container.Command) > 0 {
		arguments = arguments[1:]
	}
	// A process of this machine finds no namespace to elect a leader in, and there is one replica.
	arguments = slices.DeleteFunc(arguments, func(argument string) bool { return argument == "--leader-elect" })
	for index, argument := range arguments {
		// Every Pod has ports of its own in a cluster. Here it has an address of its own.
		argument = strings.Replace(argument, "-bind-address=:", "-bind-address="+address+":", 1)
		arguments[index] = n.place(argument, container, running)
	}
	program := n.programOf(container)
	environ := append([]string{"KUBECONFIG=" + filepath.Join(running.folder, "kubeconfig"), "TMPDIR=" + filepath.Join(running.folder, "root", "tmp"), "KUBEWARDEN_BIND_ADDRESS=" + address}, program.environ...)
	for _, variable := range container.Env {
		environ = append(environ, variable.Name+"="+n.place(value(variable, pod), container, running))
		for index, argument := range arguments {
			arguments[index] = strings.ReplaceAll(argument, "$("+variable.Name+")", value(variable, pod))
		}
	}
	process := &Process{name: "container", path: program.path, args: arguments, environ: environ, log: filepath.Join(running.folder, "container.log"), contained: true}
	if err := process.Start(); err != nil {
		return err
	}
	running.process, running.started = process, time.Now()
	n.mutex.Lock()
	n.pods[pod.UID] = running
	n.mutex.Unlock()
	return n.tell(ctx, pod, running)
}

// value is what a variable has, also where it is a field of its Pod.
func value(variable corev1.EnvVar, pod *corev1.Pod) string {
	if variable.ValueFrom == nil || variable.ValueFrom.FieldRef == nil {
		return variable.Value
	}
	return map[string]string{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace}[variable.ValueFrom.FieldRef.FieldPath]
}

// keep looks after a Pod that runs: what it mounts, whether it is ready, and whether its process is still there.
func (n *node) keep(ctx context.Context, pod *corev1.Pod, running *runningPod) error {
	if running.finished {
		return nil
	}
	if !running.process.running() {
		succeeded := running.process.status == nil
		if pod.Spec.RestartPolicy != corev1.RestartPolicyAlways && (succeeded || pod.Spec.RestartPolicy == corev1.RestartPolicyNever) {
			running.finished, running.ready = true, false
			return n.tell(ctx, pod, running)
		}
		n.mutex.Lock()
		running.ready = false
		n.mutex.Unlock()
		if time.Since(running.started) < min(time.Duration(running.restarts)*time.Second, 10*time.Second) {
			return nil
		}
		running.restarts++
		running.started = time.Now()
		if err := running.process.Start(); err != nil {
			return err
		}
		return n.tell(ctx, pod, running)
	}
	if time.Since(running.mounted) > 2*time.Second {
		if err := n.mount(ctx, pod, running); err != nil {
			return err
		}
	}
	ready := n.probe(ctx, pod.Spec.Containers[0], running)
	told := pod.Status.Phase == corev1.PodRunning && isReady(pod)
	n.mutex.Lock()
	running.ready = ready
	n.mutex.Unlock()
	if ready != told {
		return n.tell(ctx, pod, running)
	}
	return nil
}

// end stops the process of a Pod that is deleted: first it gets no more connections, as with a real node.
func (n *node) end(ctx context.Context, pod *corev1.Pod, running *runningPod) error {
	if running != nil {
		n.mutex.Lock()
		known := running.stopping
		running.stopping, running.ready = true, false
		n.mutex.Unlock()
		if known {
			return nil
		}
	}
	n.mutex.Lock()
	grace := n.grace
	n.mutex.Unlock()
	go func() {
		if running != nil {
			running.process.Stop(min(grace, time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second))
		}
		zero := int64(0)
		_ = n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	}()
	return nil
}

func (n *node) setEnviron(image string, environ []string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.programs[image] = program{path: n.programs[image].path, environ: environ}
}

func (n *node) setGrace(grace time.Duration) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.grace = grace
}

func (n *node) probe(ctx context.Context, container corev1.Container, running *runningPod) bool {
	if container.ReadinessProbe == nil || container.ReadinessProbe.HTTPGet == nil {
		return true
	}
	get := container.ReadinessProbe.HTTPGet
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	port := get.Port.IntValue()
	for _, named := range container.Ports {
		if named.Name == get.Port.StrVal {
			port = int(named.ContainerPort)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d%s", running.address, port, get.Path), nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode < 400
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// tell writes the state of a Pod into its status.
func (n *node) tell(ctx context.Context, pod *corev1.Pod, running *runningPod) error {
	phase, state := corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	if running.finished {
		phase = corev1.PodSucceeded
		code := int32(0)
		if running.process.status != nil {
			phase, code = corev1.PodFailed, 1
		}
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Now()}}
	}
	status := corev1.ConditionFalse
	if running.ready {
		status = corev1.ConditionTrue
	}
	var conditions []corev1.PodCondition
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		conditions = append(conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now()})
	}
	container := pod.Spec.Containers[0]
	patch, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
		Phase: phase, Conditions: conditions, PodIP: running.address, PodIPs: []corev1.PodIP{{IP: running.address}}, StartTime: &pod.CreationTimestamp,
		ContainerStatuses: []corev1.ContainerStatus{{Name: container.Name, Image: container.Image, ImageID: container.Image, Ready: running.ready, RestartCount: running.restarts, State: state}},
	}})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// place puts paths of the container into the folder of its Pod.
func (n *node) place(text string, container corev1.Container, running *runningPod) string {
	mounts := append([]corev1.VolumeMount{}, container.VolumeMounts...)
	sort.Slice(mounts, func(a, b int) bool { return len(mounts[a].MountPath) > len(mounts[b].MountPath) })
	for _, mount := range mounts {
		if at := strings.Index(text, mount.MountPath); at >= 0 && (at == 0 || !isPath(text[at-1])) {
			return text[:at] + filepath.Join(running.folder, "root", mount.MountPath) + text[at+len(mount.MountPath):]
		}
	}
	return text
}

func isPath(letter byte) bool {
	return letter == '/' || letter == '.' || letter == '-' || letter >= 'a' && letter <= 'z' || letter >= '0' && letter <= '9'
}

// mount writes what the container mounts, and what of it has changed since.
func (n *node) mount(ctx context.Context, pod *corev1.Pod, running *runningPod) error {
	root := filepath.Join(running.folder, "root")
	if err := os.MkdirAll(filepath.Join(root, "tmp"), 0o755); err != nil {
		return err
	}
	volumes := map[string]corev1.Volume{}
	for _, volume := range pod.Spec.Volumes {
		volumes[volume.Name] = volume
	}
	for _, mounted := range pod.Spec.Containers[0].VolumeMounts {
		files, err := n.files(ctx, pod.Namespace, volumes[mounted.Name])
		if err != nil {
			return err
		}
		folder := filepath.Join(root, mounted.MountPath)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := project(folder, files); err != nil {
			return err
		}
	}
	running.mounted = time.Now()
	return n.admit(ctx, pod, running)
}

func (n *node) files(ctx context.Context, namespace string, volume corev1.Volume) (map[string][]byte, error) {
	all, items := map[string][]byte{}, []corev1.KeyToPath(nil)
	switch {
	case volume.Secret != nil:
		secret, err := n.client.CoreV1().Secrets(namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && volume.Secret.Optional != nil && *volume.Secret.Optional {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all, items = secret.Data, volume.Secret.Items
	case volume.ConfigMap != nil:
		configMap, err := n.client.CoreV1().ConfigMaps(namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && volume.ConfigMap.Optional != nil && *volume.ConfigMap.Optional {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for key, text := range configMap.Data {
			all[key] = []byte(text)
		}
		items = volume.ConfigMap.Items
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap == nil {
				continue
			}
			one := corev1.ConfigMapVolumeSource{LocalObjectReference: source.ConfigMap.LocalObjectReference, Items: source.ConfigMap.Items, Optional: source.ConfigMap.Optional}
			files, err := n.files(ctx, namespace, corev1.Volume{Name: volume.Name, VolumeSource: corev1.VolumeSource{ConfigMap: &one}})
			if err != nil {
				return nil, err
			}
			maps.Copy(all, files)
		}
	}
	if items == nil {
		return all, nil
	}
	chosen := map[string][]byte{}
	for _, item := range items {
		content, ok := all[item.Key]
		if !ok {
			return nil, fmt.Errorf("the volume %s wants the key %s, which isn't there", volume.Name, item.Key)
		}
		chosen[item.Path] = content
	}
	return chosen, nil
}

// admit writes the way into the API server, as the Pod's ServiceAccount. A token is renewed before it ends.
func (n *node) admit(ctx context.Context, pod *corev1.Pod, running *runningPod) error {
	if time.Since(running.token) < 10*time.Minute {
		return nil
	}
	seconds := int64(3600)
	token, err := n.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	file := filepath.Join(running.folder, "token")
	if err := replace(file, []byte(token.Status.Token)); err != nil {
		return err
	}
	running.token = time.Now()
	return n.authority.kubeconfig(filepath.Join(running.folder, "kubeconfig"), n.server, fmt.Sprintf(`{tokenFile: "%s"}`, file))
}

// project writes the files of a volume as a kubelet does: into a new folder, to which a link is turned at once, so that whoever
// reads sees all of the old files or all of the new ones. Whoever watches a file sees no change of it, but that it is gone.
func project(folder string, files map[string][]byte) error {
	data := filepath.Join(folder, "..data")
	same := true
	for name, content := range files {
		before, err := os.ReadFile(filepath.Join(data, name))
		same = same && err == nil && string(before) == string(content)
	}
	if same {
		return nil
	}
	made, err := os.MkdirTemp(folder, "..")
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(made, name), content, 0o600); err != nil {
			return err
		}
	}
	old, _ := os.Readlink(data)
	link := data + "_tmp"
	if err := errors.Join(os.Symlink(filepath.Base(made), link), os.Rename(link, data)); err != nil {
		return err
	}
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if old != "" {
		return os.RemoveAll(filepath.Join(folder, old))
	}
	return nil
}

// replace writes a file at once, if it has another content.
func replace(file string, content []byte) error {
	if before, err := os.ReadFile(file); err == nil && string(before) == string(content) {
		return nil
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(file+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
