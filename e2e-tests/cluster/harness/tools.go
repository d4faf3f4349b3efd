package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tools are the programs and files that a cluster is made of, by path.
type Tools struct {
	Etcd, APIServer, ControllerManager, Kubectl, Helm     string
	Controller, PolicyServer, AuditScanner, Charts, Kwctl string
	Registry                                              string
	// ScannerCharts is the folder with what runs beside the policy.
	ScannerCharts string
	// Compiler makes what sets a program's clock off.
	Compiler string
	// Module is the policy, with its metadata in it. Deploy is the folder of manifests.
	Module, Deploy, CommandLine string
	// Peers is the folder of other programs that judge Pods, which only one test needs, and PeerModules that of the modules that they are built from.
	Peers, PeerModules string
}

// A requirement is one thing that has to be there, and where to get it.
type requirement struct {
	path     *string
	variable string
	name     string
	get      string
}

const (
	built      = "make cluster-programs"
	kubewarden = "Kubewarden's; from a release, or built from a checkout of its repository"
)

// FindTools finds everything, or says of all that is missing how to get it.
//
// root is the checkout. A variable of the environment names a program that is somewhere else.
func FindTools(root string) (Tools, error) {
	programs := []string{filepath.Join(root, "target", "cluster", "newest")}
	if version := os.Getenv("KUBERNETES_VERSION"); version != "" {
		programs = append([]string{filepath.Join(root, "target", "cluster", version)}, programs...)
	}
	tools := Tools{Peers: filepath.Join(root, "target", "cluster", "peers"), PeerModules: filepath.Join(root, "e2e-tests", "cluster", "peers")}
	requirements := []requirement{
		{&tools.Etcd, "ETCD", "etcd", built},
		{&tools.APIServer, "KUBE_APISERVER", "kube-apiserver", built},
		{&tools.ControllerManager, "KUBE_CONTROLLER_MANAGER", "kube-controller-manager", built},
		{&tools.Kubectl, "KUBECTL", "kubectl", built},
		{&tools.Helm, "HELM", "helm", built},
		{&tools.PolicyServer, "POLICY_SERVER", "policy-server", kubewarden},
		{&tools.Kwctl, "KWCTL", "kwctl", kubewarden},
		{&tools.Controller, "KUBEWARDEN_CONTROLLER", "kubewarden-controller", kubewarden + " (`go build ./cmd/controller`)"},
		{&tools.AuditScanner, "KUBEWARDEN_AUDIT_SCANNER", "kubewarden-audit-scanner", kubewarden + " (`go build ./cmd/audit-scanner`)"},
		{&tools.Charts, "KUBEWARDEN_CHARTS", "", "the folder `charts` of a checkout of Kubewarden's repository"},
		{&tools.ScannerCharts, "SCANNER_CHARTS", "", "a folder with the charts of scanners: e2e-tests/cluster/README.md says which"},
		{&tools.Registry, "DOCKER_REGISTRY", "docker-registry", "Debian: apt-get install docker-registry"},
		{&tools.Compiler, "CC", "cc", "Debian: apt-get install gcc libc6-dev"},
		{&tools.Module, "POLICY_MODULE", filepath.Join(root, "annotated-policy.wasm"), "make annotated-policy.wasm"},
		{&tools.CommandLine, "IMAGE_ADMISSION", filepath.Join(root, "target", "debug", "image-admission"), "cargo build --package image-admission-cli"},
		{&tools.Deploy, "", filepath.Join(root, "deploy"), "it is part of this repository"},
	}
	var missing []string
	for _, wanted := range requirements {
		found, err := find(wanted, programs)
		if err != nil {
			missing = append(missing, fmt.Sprintf("  %-52s %s", named(wanted), wanted.get))
		}
		*wanted.path = found
	}
	if missing != nil {
		return tools, fmt.Errorf("the cluster tests need what is not there; put it on PATH, or name it by its variable:\n%s", strings.Join(missing, "\n"))
	}
	return tools, nil
}

// named is what a message calls it: the program and the variable, or either alone.
func named(wanted requirement) string {
	switch {
	case wanted.variable == "":
		return wanted.name
	case wanted.name == "":
		return "$" + wanted.variable
	default:
		return filepath.Base(wanted.name) + " ($" + wanted.variable + ")"
	}
}

// find looks where the environment says, where `make cluster-programs` puts what it builds, and on PATH.
func find(wanted requirement, programs []string) (string, error) {
	if path := os.Getenv(wanted.variable); wanted.variable != "" && path != "" {
		return filepath.Abs(path)
	}
	if wanted.name == "" {
		return "", os.ErrNotExist
	}
	if filepath.IsAbs(wanted.name) {
		_, err := os.Stat(wanted.name)
		return wanted.name, err
	}
	for _, folder := range programs {
		if path := filepath.Join(folder, wanted.name); executable(path) {
			return path, nil
		}
	}
	return exec.LookPath(wanted.name)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}
