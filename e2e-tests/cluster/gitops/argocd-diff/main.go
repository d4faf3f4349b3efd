// Command argocd-diff does with manifests what Argo CD's application controller does with an Application: it compares them with
// the cluster, and applies them. Comparison, normalisation and kubectl's apply are Argo CD's own packages; what is written here
// is what its controller says around them, in controller/state.go and controller/sync.go of Argo CD 3.5.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	argodiff "github.com/argoproj/argo-cd/v3/util/argo/diff"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"cluster-tests/gitops/report"
)

// manager is the field manager of Argo CD's server-side apply.
const manager = "argocd-controller"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the cluster")
	namespace := flag.String("namespace", "default", "where objects go that don't say it")
	application := flag.String("application", "", "the file of an Application: its ignoreDifferences, syncOptions and compare-options count")
	sync := flag.Bool("sync", false, "apply all, as somebody does who presses Sync")
	heal := flag.Bool("heal", false, "apply what is out of sync, as selfHeal does")
	flag.Parse()
	if err := run(*kubeconfig, *namespace, *application, *sync, *heal); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, namespace, file string, sync, heal bool) error {
	logrus.SetOutput(io.Discard)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	var application v1alpha1.Application
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(text, &application); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	targets, err := report.Manifests(os.Stdin, namespace)
	if err != nil {
		return err
	}
	controller := &controller{kubectl: &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}, config: config, application: &application}
	reports, err := controller.reconcile(targets, sync, heal)
	if err != nil {
		return err
	}
	return report.Print(reports)
}

type controller struct {
	kubectl     *kube.KubectlCmd
	config      *rest.Config
	application *v1alpha1.Application
}

func (c *controller) option(name string) bool {
	policy := c.application.Spec.SyncPolicy
	return policy != nil && policy.SyncOptions.HasOption(name)
}

// reconcile compares the objects, and applies them where that is asked for. What it reports was found before.
func (c *controller) reconcile(targets []*unstructured.Unstructured, sync, heal bool) ([]report.Report, error) {
	settings, done, err := c.diffConfig()
	if err != nil {
		return nil, err
	}
	defer done()
	reports, lives := make([]report.Report, len(targets)), make([]*unstructured.Unstructured, len(targets))
	for index, target := range targets {
		reports[index] = report.Report{Kind: target.GetKind(), Name: target.GetName()}
		live, err := c.kubectl.GetResource(context.Background(), c.config, target.GroupVersionKind(), target.GetName(), target.GetNamespace())
		if err == nil {
			lives[index] = live
		} else if !errors.IsNotFound(err) {
			return nil, fmt.Errorf("%s %s: %w", target.GetKind(), target.GetName(), err)
		}
	}
	results, err := argodiff.StateDiffs(lives, targets, settings)
	if err != nil {
		// Argo CD calls this a ComparisonError, and syncs nothing of the Application.
		for index := range reports {
			reports[index].Error = err.Error()
		}
		return reports, nil
	}
	operations, cleanup, err := c.kubectl.ManageResources(c.config)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	for index, target := range targets {
		found, live, result := &reports[index], lives[index], results.Diffs[index]
		found.Drift = live == nil || result.Modified
		if found.Fields, err = report.Differences(result.NormalizedLive, result.PredictedLive); err != nil {
			return nil, err
		}
		if !sync && !(heal && found.Drift) {
			continue
		}
		if live != nil && c.option("RespectIgnoreDifferences=true") {
			if target, err = respect(live, target, settings); err != nil {
				return nil, fmt.Errorf("%s %s: %w", found.Kind, found.Name, err)
			}
		}
		found.Applied = true
		if _, err := operations.ApplyResource(context.Background(), target, cmdutil.DryRunNone, false, true, c.option("ServerSideApply=true"), manager); err != nil {
			found.Error = err.Error()
		}
	}
	return reports, nil
}

// diffConfig is how CompareAppState in controller/state.go makes it.
func (c *controller) diffConfig() (argodiff.DiffConfig, func(), error) {
	done := func() {}
	_, parser, err := c.kubectl.LoadOpenAPISchema(c.config)
	if err != nil {
		return nil, done, err
	}
	builder := argodiff.NewDiffConfigBuilder().
		WithDiffSettings(c.application.Spec.IgnoreDifferences, nil, true, normalizers.IgnoreNormalizerOpts{JQExecutionTimeout: 10 * time.Second}).
		WithTracking("app.kubernetes.io/instance", string(v1alpha1.TrackingMethodAnnotation)).
		WithNoCache().WithGVKParser(parser).WithManager(manager)
	compare := c.application.Annotations["argocd.argoproj.io/compare-options"]
	if has(compare, "IncludeMutationWebhook=true") {
		builder.WithIgnoreMutationWebhook(false)
	}
	if has(compare, "ServerSideDiff=true") {
		applier, cleanup, err := c.kubectl.ManageServerSideDiffDryRuns(c.config)
		if err != nil {
			return nil, done, err
		}
		done = cleanup
		builder.WithServerSideDiff(true).WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier))
	}
	if c.option("ServerSideApply=true") {
		builder.WithStructuredMergeDiff(true)
	}
	config, err := builder.Build()
	return config, done, err
}

func has(options, option string) bool {
	return v1alpha1.SyncOptions(report.List(options)).HasOption(option)
}

// respect keeps what is ignored as it is in the cluster: normalizeTargetResources in controller/sync.go.
func respect(live, target *unstructured.Unstructured, settings argodiff.DiffConfig) (*unstructured.Unstructured, error) {
	normal, err := argodiff.Normalize([]*unstructured.Unstructured{live}, []*unstructured.Unstructured{target}, settings)
	if err != nil {
		return nil, err
	}
	versioned, err := scheme.Scheme.New(target.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(versioned)
	if err != nil {
		return nil, err
	}
	var texts [3][]byte
	for index, object := range []*unstructured.Unstructured{live, normal.Lives[0], normal.Targets[0]} {
		object = object.DeepCopy()
		if index < 2 {
			unstructured.RemoveNestedField(object.Object, "status")
		}
		if texts[index], err = json.Marshal(object); err != nil {
			return nil, err
		}
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(texts[0], texts[0], texts[1], meta, true)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatch(texts[2], patch, versioned)
	if err != nil {
		return nil, err
	}
	kept := &unstructured.Unstructured{}
	return kept, kept.UnmarshalJSON(patched)
}
