// Command flux-apply does with manifests what Flux does: as its kustomize-controller, which applies them server-side after a dry
// run, or as its helm-controller, which looks for drift in what Helm applied. Dry runs, comparison and apply are Flux's own
// package; the options are those that its controllers set.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cluster-tests/gitops/report"
)

const (
	group = "kustomize.toolkit.fluxcd.io"
	// The field managers of both controllers.
	kustomizeController, helmController = "kustomize-controller", "helm-controller"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the cluster")
	namespace := flag.String("namespace", "default", "where objects go that don't say it")
	apply := flag.Bool("apply", false, "apply what has drifted, as every reconciliation of a Kustomization does")
	helm := flag.Bool("helm", false, "look for drift as a HelmRelease does")
	file := flag.String("settings", "", "the file of a Kustomization, whose spec.ignore counts, or of a HelmRelease, whose spec.driftDetection does")
	flag.Parse()
	if err := run(*kubeconfig, *namespace, *file, *apply, *helm); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// settings are what counts here of a Kustomization or a HelmRelease.
type settings struct {
	Spec struct {
		Ignore         []rule `json:"ignore"`
		DriftDetection struct {
			Ignore []rule `json:"ignore"`
		} `json:"driftDetection"`
	} `json:"spec"`
}

// rule is what is ignored in both: paths, of the objects that are named.
type rule struct {
	Paths  []string           `json:"paths"`
	Target *jsondiff.Selector `json:"target"`
}

func read(file string) ([]jsondiff.IgnoreRule, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var found settings
	if err := yaml.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var rules []jsondiff.IgnoreRule
	for _, rule := range append(found.Spec.Ignore, found.Spec.DriftDetection.Ignore...) {
		rules = append(rules, jsondiff.IgnoreRule{Paths: rule.Paths, Selector: rule.Target})
	}
	return rules, nil
}

func run(kubeconfig, namespace, file string, apply, helm bool) error {
	ignored, err := read(file)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	objects, err := report.Manifests(os.Stdin, namespace)
	if err != nil {
		return err
	}
	if err := normalize.UnstructuredList(objects); err != nil {
		return err
	}
	manager := ssa.NewResourceManager(cluster, nil, ssa.Owner{Field: kustomizeController, Group: group})
	if !helm {
		manager.SetOwnerLabels(objects, "app", namespace)
	}
	var reports []report.Report
	if !helm {
		if reports, err = kustomization(manager, objects, ignored, apply); err != nil {
			return err
		}
		return report.Print(reports)
	}
	for _, object := range objects {
		found, err := release(cluster, object, ignored)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		reports = append(reports, found)
	}
	return report.Print(reports)
}

// kustomization is one reconciliation of a Kustomization: reconciler.apply in Flux's kustomize-controller. What it reports was
// found before anything was applied.
func kustomization(manager *ssa.ResourceManager, objects []*unstructured.Unstructured, ignored []jsondiff.IgnoreRule, apply bool) ([]report.Report, error) {
	excluded := map[string]string{group + "/reconcile": "disabled", group + "/ssa": "Ignore"}
	once := map[string]string{group + "/ssa": "IfNotPresent"}
	forced := map[string]string{group + "/force": "enabled"}
	var reports []report.Report
	for _, object := range objects {
		found := report.Report{Kind: object.GetKind(), Name: object.GetName()}
		entry, live, merged, err := manager.Diff(context.Background(), object.DeepCopy(), ssa.DiffOptions{Exclusions: excluded, IfNotPresentSelector: once, ForceSelector: forced, DriftIgnoreRules: ignored})
		if err != nil {
			found.Drift, found.Error = true, err.Error()
		} else {
			found.Drift = entry.Action == ssa.CreatedAction || entry.Action == ssa.ConfiguredAction
		}
		if live != nil && merged != nil {
			// Flux doesn't look at the rest of the metadata, which counts writes.
			for _, field := range report.Compare("", live.Object, merged.Object) {
				if !strings.HasPrefix(field, "/metadata/") || strings.HasPrefix(field, "/metadata/annotations/") || strings.HasPrefix(field, "/metadata/labels/") {
					found.Fields = append(found.Fields, field)
				}
			}
		}
		reports = append(reports, found)
	}
	if !apply {
		return reports, nil
	}
	options := ssa.DefaultApplyOptions()
	options.ExclusionSelector, options.IfNotPresentSelector, options.ForceSelector = excluded, once, forced
	options.DriftIgnoreRules = ignored
	options.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{"kubectl.kubernetes.io/last-applied-configuration"},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: kustomizeController, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{group + "/ssa": "Merge"},
	}
	changes, err := manager.ApplyAllStaged(context.Background(), objects, options)
	if err != nil {
		// The whole Kustomization has failed.
		for index := range reports {
			reports[index].Error = err.Error()
		}
		return reports, nil
	}
	applied := map[string]bool{}
	for _, change := range changes.Entries {
		applied[change.ObjMetadata.GroupKind.Kind+" "+change.ObjMetadata.Name] = change.Action == ssa.CreatedAction || change.Action == ssa.ConfiguredAction
	}
	for index := range reports {
		reports[index].Applied = applied[reports[index].Kind+" "+reports[index].Name]
	}
	return reports, nil
}

// release is drift of one object of a HelmRelease: action.Diff in Flux's helm-controller.
func release(cluster client.Client, object *unstructured.Unstructured, ignored []jsondiff.IgnoreRule) (report.Report, error) {
	found := report.Report{Kind: object.GetKind(), Name: object.GetName()}
	set, err := jsondiff.UnstructuredList(context.Background(), cluster, []*unstructured.Unstructured{object}, jsondiff.FieldOwner(helmController),
		jsondiff.ExclusionSelector{"helm.toolkit.fluxcd.io/driftDetection": "disabled"}, jsondiff.MaskSecrets(true), jsondiff.Rationalize(true),
		jsondiff.IgnoreRules(ignored))
	if err != nil {
		found.Drift, found.Error = true, err.Error()
		return found, nil
	}
	for _, diff := range set {
		found.Drift = found.Drift || diff.Type == jsondiff.DiffTypeCreate || diff.Type == jsondiff.DiffTypeUpdate
		for _, operation := range diff.Patch {
			found.Fields = append(found.Fields, operation.Path)
		}
	}
	return found, nil
}
