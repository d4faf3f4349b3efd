package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// serviceRange has the addresses of Services. All of 127.0.0.0/8 is this machine, so the network can listen on each.
const serviceRange = "127.200.0.0/16"

// An APIServer is a kube-apiserver that keeps what it has under a prefix of etcd.
type APIServer struct {
	*Process
	authority *authority
	// Port is where it listens, on loopback.
	Port int
}

// freePort is one that nobody listens on now.
func freePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func startEtcd(folder string, tools Tools) (*Process, int, error) {
	client, peer := freePort(), freePort()
	peers := fmt.Sprintf("http://127.0.0.1:%d", peer)
	process, err := start(folder, "etcd", tools.Etcd, []string{
		"--data-dir=" + filepath.Join(folder, "etcd"),
		fmt.Sprintf("--listen-client-urls=http://127.0.0.1:%d", client),
		fmt.Sprintf("--advertise-client-urls=http://127.0.0.1:%d", client),
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers, "--initial-cluster=default=" + peers,
		"--quota-backend-bytes=4294967296",
	})
	return process, client, err
}

// The audit log has the level at which annotations of webhooks are in it, and no objects.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, users: ["system:apiserver", "system:kube-controller-manager"]}
  - {level: Metadata, users: ["system:serviceaccount:kubewarden:policy-server", "system:serviceaccount:kubewarden:image-admission-companion"]}
  - level: Metadata
    resources:
      - {group: "", resources: [pods, pods/ephemeralcontainers, pods/resize, replicationcontrollers]}
      - {group: apps}
      - {group: batch}
  - {level: None}
`

func startAPIServer(folder, name string, tools Tools, authority *authority, etcd, prefix string, options ...string) (*APIServer, error) {
	port := freePort()
	policy := filepath.Join(folder, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o644); err != nil {
		return nil, err
	}
	process, err := start(folder, name, tools.APIServer, append([]string{
		"--etcd-servers=" + etcd, "--etcd-prefix=" + prefix,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		// Nobody reaches the API server by an address that it told.
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + authority.file("server.crt"), "--tls-private-key-file=" + authority.file("server.key"),
		"--client-ca-file=" + authority.file("ca.crt"),
		"--requestheader-client-ca-file=" + authority.file("ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + authority.file("front-proxy.crt"), "--proxy-client-key-file=" + authority.file("front-proxy.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + authority.file("accounts.crt"), "--service-account-signing-key-file=" + authority.file("accounts.key"),
		"--service-cluster-ip-range=" + serviceRange,
		"--audit-policy-file=" + policy, "--audit-log-path=" + filepath.Join(folder, name+"-audit.log"), "--audit-log-maxsize=10000",
		"--allow-privileged=true", "--profiling=false",
	}, options...))
	if err != nil {
		return nil, err
	}
	return &APIServer{Process: process, authority: authority, Port: port}, nil
}

// client speaks to the API server as an administrator.
func (s *APIServer) client() (*http.Client, error) {
	pair, err := tls.LoadX509KeyPair(s.authority.file("admin.crt"), s.authority.file("admin.key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.authority.certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}, nil
}

// Get answers with what the API server has under a path, like `/metrics`.
func (s *APIServer) Get(ctx context.Context, path string) (string, error) {
	client, err := s.client()
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", s.Port, path), nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return string(body), err
}

// waitReady waits until the API server says that it is ready.
func (s *APIServer) waitReady(ctx context.Context) error {
	return eventually(ctx, 90*time.Second, func() error {
		if !s.running() {
			return stop(fmt.Errorf("%s ended:\n%s", s.name, lastLines(s.Log(), 10)))
		}
		_, err := s.Get(ctx, "/readyz")
		return err
	})
}

// kubeconfig writes the way into the API server at an address, with a certificate or a file that has a token.
func (a *authority) kubeconfig(path, server, user string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: loopback, cluster: {server: "%s", certificate-authority: "%s"}}]
users: [{name: user, user: %s}]
contexts: [{name: loopback, context: {cluster: loopback, user: user}}]
current-context: loopback
`, server, a.file("ca.crt"), user)
	return os.WriteFile(path, []byte(text), 0o600)
}

func (a *authority) certificateUser(name string) string {
	return fmt.Sprintf(`{client-certificate: "%s", client-key: "%s"}`, a.file(name+".crt"), a.file(name+".key"))
}

// startControllerManager runs the controllers that make Pods of workloads, and what a namespace needs.
func startControllerManager(folder, kubeconfig string, tools Tools, authority *authority) (*Process, error) {
	controllers := []string{"deployment", "replicaset", "replicationcontroller", "statefulset", "daemonset", "persistentvolumeclaim-protection-controller", "job", "cronjob", "serviceaccount", "namespace", "garbagecollector", "root-ca-cert-publisher", "clusterrole-aggregation"}
	return start(folder, "controller-manager", tools.ControllerManager, []string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--controllers=" + strings.Join(controllers, ","),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + authority.file("accounts.key"), "--root-ca-file=" + authority.file("ca.crt"),
		"--kube-api-qps=200", "--kube-api-burst=400",
	})
}

// Stored is what etcd has under a key of the API server, like `pods/<namespace>/<name>`: bytes, in which names can be read.
func (c *Cluster) Stored(key string) (string, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{c.etcd}, DialTimeout: 5 * time.Second})
	if err != nil {
		return "", err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
	defer cancel()
	found, err := client.Get(ctx, "/registry/"+key)
	if err != nil {
		return "", err
	}
	if len(found.Kvs) == 0 {
		return "", fmt.Errorf("etcd has no `%s`", key)
	}
	return string(found.Kvs[0].Value), nil
}
