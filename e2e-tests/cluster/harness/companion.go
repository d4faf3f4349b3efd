package harness

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
)

// companionName is what everything of the companion is called: its Deployment, ServiceAccount, ConfigMap and Lease.
const companionName = "image-admission-companion"

// companionImage is the last part of its image: that of the command line.
const companionImage = "image-admission-cli"

// A Companion is how the companion is deployed.
type Companion struct {
	// Replicas of it: one where it is zero.
	Replicas int
	// Settings take the place of those of deploy/.
	Settings map[string]any
}

func (c Companion) patches() []map[string]any {
	patches := []map[string]any{{
		"target": map[string]string{"kind": "Deployment", "name": companionName},
		"patch":  text([]map[string]any{{"op": "replace", "path": "/spec/replicas", "value": max(1, c.Replicas)}}),
	}}
	if c.Settings != nil {
		patches = append(patches, map[string]any{
			"target": map[string]string{"kind": "ConfigMap", "name": companionName},
			"patch":  text([]map[string]any{{"op": "replace", "path": "/data/settings.yaml", "value": text(c.Settings)}}),
		})
	}
	return patches
}

var companionSelector = labels.SelectorFromSet(labels.Set{"app.kubernetes.io/name": companionName})

// Companions are the companion's processes, by the names of their Pods.
func (c *Cluster) Companions() map[string]*Process { return c.node.processes(companionSelector) }

// CompanionLogs are the last lines that each companion has written.
func (c *Cluster) CompanionLogs(lines int) (all string) {
	for name, process := range c.Companions() {
		all += name + ": " + lastLines(process.Log(), lines) + "\n"
	}
	return all
}

// Leader is the name of the Pod that leads, by the Lease.
func (c *Cluster) Leader() (string, error) {
	lease, err := c.Client.CoordinationV1().Leases(Namespace).Get(c.ctx, companionName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", errors.New("nobody leads")
	}
	return *lease.Spec.HolderIdentity, nil
}

// waitCompanion waits until all replicas are ready, and one of them leads.
func (c *Cluster) waitCompanion(within time.Duration) error {
	return c.Eventually(within, func() error {
		deployment, err := c.Client.AppsV1().Deployments(Namespace).Get(c.ctx, companionName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if wanted := *deployment.Spec.Replicas; deployment.Status.ObservedGeneration < deployment.Generation || deployment.Status.AvailableReplicas != wanted || deployment.Status.UpdatedReplicas != wanted {
			return fmt.Errorf("the companion isn't ready: %+v; it says:\n%s", deployment.Status, c.CompanionLogs(6))
		}
		leader, err := c.Leader()
		if err == nil && c.Companions()[leader] == nil {
			err = fmt.Errorf("%s leads, which doesn't run", leader)
		}
		return err
	})
}

// ScaleCompanion changes how many there are, and waits for them.
func (c *Cluster) ScaleCompanion(replicas int) error {
	if _, err := c.must("", c.Tools.Kubectl, "scale", "deployment", companionName, "--namespace", Namespace, fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	if replicas > 0 {
		return c.waitCompanion(60 * time.Second)
	}
	return c.waitNoCompanion()
}

func (c *Cluster) waitNoCompanion() error {
	return c.Eventually(30*time.Second, func() error {
		if left := c.Companions(); len(left) > 0 {
			return fmt.Errorf("%d companions run", len(left))
		}
		return nil
	})
}

// RemoveCompanion takes it away, with all that it wrote and all that came of it.
func (c *Cluster) RemoveCompanion() error {
	if _, err := c.must("", c.Tools.Kubectl, "delete", "deployment,lease", companionName, "--namespace", Namespace, "--ignore-not-found"); err != nil {
		return err
	}
	// Those of its components, which the next deployment may not have.
	if _, err := c.must("", c.Tools.Kubectl, "delete", "configmap", companionName+"-evidence", companionName+"-scan-job", "--namespace", Namespace, "--ignore-not-found"); err != nil {
		return err
	}
	if err := c.waitNoCompanion(); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	all, background := metav1.ListOptions{}, metav1.DeletePropagationBackground
	deleted := metav1.DeleteOptions{PropagationPolicy: &background}
	return errors.Join(
		client.Resource(jobs).Namespace(ScanJobsNamespace).DeleteCollection(c.ctx, deleted, all),
		ignoreMissing(client.Resource(imageEvidences).DeleteCollection(c.ctx, deleted, all)),
		client.Resource(cronJobs).Namespace(ScansNamespace).DeleteCollection(c.ctx, deleted, all),
		client.Resource(TrivyReports).Namespace(ScansNamespace).DeleteCollection(c.ctx, deleted, all),
		client.Resource(ScanJobs).Namespace(ScannerNamespace).DeleteCollection(c.ctx, deleted, all),
		client.Resource(ScannedRegistries).Namespace(ScannerNamespace).DeleteCollection(c.ctx, deleted, all),
	)
}

// ignoreMissing is no error where a kind isn't there: only some deployments have it.
func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
