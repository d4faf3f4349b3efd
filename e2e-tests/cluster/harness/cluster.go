package harness

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Namespace is where Kubewarden runs.
const Namespace = "kubewarden"

// A Cluster is everything that a test needs. It is started once for all of them.
type Cluster struct {
	Tools  Tools
	Folder string
	// Client speaks as an administrator, past all links. Config is how.
	Client kubernetes.Interface
	Config *rest.Config
	// API is the API server, Etcd what it keeps everything in, EtcdLink the way between them.
	API      *APIServer
	Etcd     *Process
	EtcdLink *Link
	// APILink is the way from the policy servers to the API server.
	APILink  *Link
	Registry *Registry

	// etcd is where it listens.
	etcd              string
	ctx               context.Context
	cancel            context.CancelFunc
	authority         *authority
	controllerManager *Process
	node              *node
	network           *network
	scanner           *APIServer
	modulePushed      bool
	signingKey        *ecdsa.PrivateKey
	// kubewarden is the version of Kubewarden that is installed.
	kubewarden *version.Version
}

// Start starts the cluster with Kubewarden in it, in an empty folder.
func Start(tools Tools, folder string) (*Cluster, error) {
	kubewarden, err := kubewardenVersion(tools.Charts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cluster := &Cluster{Tools: tools, Folder: folder, kubewarden: kubewarden, ctx: ctx, cancel: cancel}
	for _, step := range []func() error{
		cluster.startAPI, cluster.startNode, cluster.startRegistry, cluster.installKubewarden,
	} {
		if err := step(); err != nil {
			cluster.Close()
			return nil, err
		}
	}
	return cluster, nil
}

// Close ends all that was started.
func (c *Cluster) Close() {
	c.cancel()
	if c.node != nil {
		c.node.close()
	}
	if c.network != nil {
		c.network.close()
	}
	for _, link := range []*Link{c.APILink, c.EtcdLink} {
		if link != nil {
			link.close()
		}
	}
	if c.Registry != nil {
		c.Registry.close()
	}
	if c.controllerManager != nil {
		c.controllerManager.Kill()
	}
	for _, server := range []*APIServer{c.scanner, c.API} {
		if server != nil {
			server.Kill()
		}
	}
	if c.Etcd != nil {
		c.Etcd.Kill()
	}
}

func (c *Cluster) startAPI() (err error) {
	certificates := filepath.Join(c.Folder, "certificates")
	if err := os.MkdirAll(certificates, 0o755); err != nil {
		return err
	}
	if c.authority, err = newAuthority(certificates); err != nil {
		return err
	}
	signed := errors.Join(
		c.authority.sign("server", "kube-apiserver"), c.authority.sign("front-proxy", "front-proxy"), c.authority.sign("accounts", "accounts"),
		c.authority.sign("admin", "admin", "system:masters"), c.authority.sign("controller-manager", "system:kube-controller-manager"),
	)
	if signed != nil {
		return signed
	}
	var port int
	if c.Etcd, port, err = startEtcd(c.Folder, c.Tools); err != nil {
		return err
	}
	c.etcd = fmt.Sprintf("127.0.0.1:%d", port)
	if c.EtcdLink, err = newLink("127.0.0.1:0", to(port)); err != nil {
		return err
	}
	if c.API, err = startAPIServer(c.Folder, "kube-apiserver", c.Tools, c.authority, "http://"+c.EtcdLink.Address(), "/registry", "--authorization-mode=RBAC"); err != nil {
		return err
	}
	if err := c.API.waitReady(c.ctx); err != nil {
		return err
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", c.API.Port)
	for _, user := range []string{"admin", "controller-manager"} {
		if err := c.authority.kubeconfig(c.kubeconfig(user), server, c.authority.certificateUser(user)); err != nil {
			return err
		}
	}
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig("admin")); err != nil {
		return err
	}
	c.Config.QPS, c.Config.Burst = 1000, 1000
	// Warnings are looked for in what kubectl shows.
	c.Config.WarningHandler = rest.NoWarnings{}
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	if c.APILink, err = newLink("127.0.0.1:0", to(c.API.Port)); err != nil {
		return err
	}
	c.controllerManager, err = startControllerManager(c.Folder, c.kubeconfig("controller-manager"), c.Tools, c.authority)
	return err
}

func to(port int) func() (string, error) {
	return func() (string, error) { return fmt.Sprintf("127.0.0.1:%d", port), nil }
}

func (c *Cluster) kubeconfig(user string) string {
	return filepath.Join(c.Folder, user+".kubeconfig")
}

func (c *Cluster) startNode() error {
	names, err := newNames(c.Client)
	if err != nil {
		return err
	}
	c.node = newNode(c.Client, Namespace, filepath.Join(c.Folder, "pods"), "https://"+c.APILink.Address(), c.authority, map[string]program{
		// It reads the roots of TLS at each call to a registry: those that its image has.
		"policy-server": {path: c.Tools.PolicyServer, environ: []string{"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"}},
		"controller":    {path: c.Tools.Controller},
		"audit-scanner": {path: c.Tools.AuditScanner, environ: []string{names.environ()}},
		companionImage:  {path: c.Tools.CommandLine, environ: []string{"SSL_CERT_FILE=" + c.authority.file("ca.crt")}},
	})
	c.network = newNetwork(c.Client, c.node)
	go c.node.run(c.ctx)
	go c.network.run(c.ctx)
	return nil
}

func (c *Cluster) startRegistry() (err error) {
	c.Registry, err = startRegistry(c.ctx, c.Folder, c.Tools, c.authority)
	return err
}

// RestartAPI stops the API server, and starts it again after a while. It answers when it is ready again.
func (c *Cluster) RestartAPI(away time.Duration) error {
	c.API.Stop(2 * time.Second)
	time.Sleep(away)
	if err := c.API.Start(); err != nil {
		return err
	}
	return c.API.waitReady(c.ctx)
}

// RestartControllers ends Kubernetes' controllers, and starts them again: they know nothing of what was before.
func (c *Cluster) RestartControllers() error {
	c.controllerManager.Kill()
	return c.controllerManager.Start()
}
