package harness

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// prefixed is the first version of Kubewarden that tells the kinds of policies apart by a prefix with points in it.
var prefixed = version.MustParseSemantic("1.37.2")

// identity is what Kubewarden calls a ClusterAdmissionPolicy in its webhooks, policy servers and metrics.
func identity(kubewarden *version.Version, policy string) string {
	if kubewarden.AtLeast(prefixed) {
		return "kw.cap." + policy
	}
	return "clusterwide-" + policy
}

// Identity is what this cluster's Kubewarden calls a ClusterAdmissionPolicy.
func (c *Cluster) Identity(policy string) string { return identity(c.kubewarden, policy) }

// kubewardenVersion is the version of Kubewarden that a folder of charts installs.
func kubewardenVersion(charts string) (*version.Version, error) {
	text, err := os.ReadFile(filepath.Join(charts, "kubewarden-controller", "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	var chart struct{ AppVersion string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return nil, err
	}
	found, err := version.ParseSemantic(chart.AppVersion)
	if err != nil {
		return nil, fmt.Errorf("the version of Kubewarden in %s: %w", charts, err)
	}
	return found, nil
}
