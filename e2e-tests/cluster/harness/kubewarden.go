package harness

import (
	"fmt"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// installKubewarden applies Kubewarden's charts, with the values that they come with but for these: no default policy
// server runs, because the policy has one of its own.
func (c *Cluster) installKubewarden() error {
	if err := c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + Namespace + "}}"); err != nil {
		return err
	}
	for _, chart := range []struct {
		name   string
		values []string
	}{
		{"kubewarden-crds", nil},
		{"kubewarden-controller", nil},
		{"kubewarden-defaults", []string{"--set", "policyServer.enabled=false"}},
	} {
		rendered, err := c.must("", c.Tools.Helm, append([]string{"template", chart.name, filepath.Join(c.Tools.Charts, chart.name), "--namespace", Namespace, "--no-hooks"}, chart.values...)...)
		if err != nil {
			return err
		}
		// What a chart defines may be needed by the next line of the same chart.
		if err := eventually(c.ctx, 60*time.Second, func() error { return c.apply(rendered) }); err != nil {
			return fmt.Errorf("the chart %s: %w", chart.name, err)
		}
	}
	return c.Eventually(90*time.Second, func() error {
		deployment, err := c.Client.AppsV1().Deployments(Namespace).Get(c.ctx, "kubewarden-controller", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if deployment.Status.AvailableReplicas == 0 {
			return fmt.Errorf("Kubewarden's controller is not available: %v", deployment.Status)
		}
		return nil
	})
}
