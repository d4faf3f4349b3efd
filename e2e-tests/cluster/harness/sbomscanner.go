package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	// ScanJobs and ScannedRegistries are what SBOMscanner is asked with.
	ScanJobs           = schema.GroupVersionResource{Group: "sbomscanner.kubewarden.io", Version: "v1alpha1", Resource: "scanjobs"}
	ScannedRegistries  = schema.GroupVersionResource{Group: "sbomscanner.kubewarden.io", Version: "v1alpha1", Resource: "registries"}
	sbomscannerImages  = schema.GroupVersionResource{Group: "storage.sbomscanner.kubewarden.io", Version: "v1alpha1", Resource: "images"}
	scanJobsConditions = []string{"Scheduled", "InProgress", "Complete", "Failed"}
)

// A SBOMScanner plays SBOMscanner for the ScanJobs of [ScannerNamespace]: it looks for the tags of the Registry, and makes an Image, its
// SBOM and its report for each platform. It reads past the registry's door.
type SBOMScanner struct{ *playedScanner }

// PlaySBOMScanner begins to scan, what was there before too.
func (c *Cluster) PlaySBOMScanner(scanning Scanning) (*SBOMScanner, error) {
	played, err := c.playScanner(scanning)
	if err != nil {
		return nil, err
	}
	scanner := &SBOMScanner{played}
	return scanner, played.watch(ScanJobs, ScannerNamespace, scanner.scanJob)
}

// registrySpec is what a Registry says of what is scanned.
type registrySpec struct {
	URI          string
	Repositories []struct {
		Name            string
		MatchOperator   string
		MatchConditions []struct{ Name, Expression string }
	}
	Platforms []struct{ OS, Arch, Variant string }
}

func (s *SBOMScanner) scanJob(scanJob *unstructured.Unstructured) error {
	if conditions, _, _ := unstructured.NestedSlice(scanJob.Object, "status", "conditions"); len(conditions) > 0 {
		return nil
	}
	name, _, _ := unstructured.NestedString(scanJob.Object, "spec", "registry")
	registry, err := s.client.Resource(ScannedRegistries).Namespace(ScannerNamespace).Get(s.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.asked(scanJob, "")
		return s.tell(scanJob, "Failed", "RegistryNotFound", fmt.Sprintf("Registry %s not found", name), nil)
	}
	if err != nil {
		return err
	}
	snapshot, err := registry.MarshalJSON()
	if err != nil {
		return err
	}
	var read struct{ Spec registrySpec }
	if err := json.Unmarshal(snapshot, &read); err != nil {
		return err
	}
	s.asked(scanJob, asked(read.Spec))
	if s.silent() {
		return nil
	}
	owned := text(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{"sbomscanner.kubewarden.io/registry": string(snapshot)}, "ownerReferences": owner(registry),
	}})
	if _, err := s.client.Resource(ScanJobs).Namespace(ScannerNamespace).Patch(s.ctx, scanJob.GetName(), types.MergePatchType, []byte(owned), metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := s.tell(scanJob, "Scheduled", "Scheduled", "ScanJob has been scheduled", nil); err != nil {
		return err
	}
	if err := s.tell(scanJob, "InProgress", "CatalogCreationInProgress", "Catalog creation in progress", nil); err != nil {
		return err
	}
	images, err := s.catalog(read.Spec)
	if err != nil {
		return s.tell(scanJob, "Failed", "InternalError", err.Error(), nil)
	}
	if len(images) == 0 {
		return s.tell(scanJob, "Complete", "NoImagesToScan", "No images to process", nil)
	}
	if err := s.tell(scanJob, "InProgress", "SBOMGenerationInProgress", "SBOM generation in progress", map[string]any{"imagesCount": len(images)}); err != nil {
		return err
	}
	return s.scan(scanJob.GetUID(), func(scanning Scanning) error {
		if scanning.Fails {
			return s.tell(scanJob, "Failed", "InternalError", "the image can't be read", nil)
		}
		for _, image := range images {
			if err := eventually(s.ctx, time.Minute, func() error { return s.report(scanJob, registry, image, scanning.Findings) }); err != nil {
				return err
			}
		}
		return s.tell(scanJob, "Complete", "AllImagesScanned", "All images scanned successfully", map[string]any{"scannedImagesCount": len(images)})
	})
}

func (s *SBOMScanner) silent() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.scanning.Silent
}

// asked is what a Registry has scanned, in one line: `<host>/<repository> <expression>`.
func asked(spec registrySpec) string {
	var all []string
	for _, repository := range spec.Repositories {
		all = append(all, spec.URI+"/"+repository.Name)
		for _, condition := range repository.MatchConditions {
			all = append(all, condition.Expression)
		}
	}
	return strings.Join(all, " ")
}

// A platformImage is one platform of an image.
type platformImage struct {
	Image
	platform string
}

// catalog is every image that the Registry's conditions choose.
func (s *SBOMScanner) catalog(spec registrySpec) (chosen []platformImage, err error) {
	for _, repository := range spec.Repositories {
		tags, err := s.cluster.Registry.Tags(repository.Name)
		if err != nil {
			return nil, err
		}
		for _, tag := range tags {
			met := 0
			for _, condition := range repository.MatchConditions {
				holds, err := evaluate(condition.Expression, tag)
				if err != nil {
					return nil, err
				}
				if holds {
					met++
				}
			}
			if all := len(repository.MatchConditions); met < all && (repository.MatchOperator != "Or" || met == 0) {
				continue
			}
			image, err := s.cluster.Registry.Find(repository.Name, tag)
			if err != nil {
				return nil, err
			}
			for platform := range image.Platforms {
				if wantedPlatform(spec, platform) {
					chosen = append(chosen, platformImage{image, platform})
				}
			}
		}
	}
	return chosen, nil
}

func wantedPlatform(spec registrySpec, platform string) bool {
	for _, listed := range spec.Platforms {
		if strings.TrimSuffix(listed.OS+"/"+listed.Arch+"/"+listed.Variant, "/") == platform {
			return true
		}
	}
	return len(spec.Platforms) == 0
}

// evaluate is what an expression says of a tag.
func evaluate(expression, tag string) (bool, error) {
	environment, err := cel.NewEnv(cel.Variable("tag", cel.StringType))
	if err != nil {
		return false, err
	}
	compiled, issues := environment.Compile(expression)
	if issues.Err() != nil {
		return false, issues.Err()
	}
	program, err := environment.Program(compiled)
	if err != nil {
		return false, err
	}
	value, _, err := program.Eval(map[string]any{"tag": tag})
	if err != nil {
		return false, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("`%s` is no condition", expression)
	}
	return holds, nil
}

// report makes the Image, unless it is there, its SBOM and its report.
func (s *SBOMScanner) report(scanJob, registry *unstructured.Unstructured, image platformImage, findings Findings) error {
	made, err := s.cluster.report(registry.GetName(), image.Image, image.platform, findings)
	if err != nil {
		return err
	}
	listed := &unstructured.Unstructured{Object: map[string]any{"apiVersion": sbomscannerImages.GroupVersion().String(), "kind": "Image", "imageMetadata": made.Object["imageMetadata"], "layers": []any{}}}
	listed.SetName(made.GetName())
	listed.SetLabels(made.GetLabels())
	listed.SetOwnerReferences(owner(registry))
	images := s.client.Resource(sbomscannerImages).Namespace(ScannerNamespace)
	if _, err = images.Create(s.ctx, listed, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if listed, err = images.Get(s.ctx, listed.GetName(), metav1.GetOptions{}); err != nil {
		return err
	}
	labels := made.GetLabels()
	labels["sbomscanner.kubewarden.io/scanjob-uid"] = string(scanJob.GetUID())
	made.SetLabels(labels)
	made.SetOwnerReferences(owner(listed))
	if err := s.cluster.write(sbomscannerSBOMs, sbom(made)); err != nil {
		return err
	}
	return s.cluster.write(sbomscannerReports, made)
}

func owner(object *unstructured.Unstructured) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: object.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}}
}

// tell writes the one condition that holds, and that the others don't. A ScanJob that was deleted is told nothing.
func (s *SBOMScanner) tell(scanJob *unstructured.Unstructured, kind, reason, message string, counts map[string]any) error {
	now := metav1.Now()
	var conditions []metav1.Condition
	for _, other := range scanJobsConditions {
		condition := metav1.Condition{Type: other, Status: metav1.ConditionFalse, Reason: kind, Message: message, LastTransitionTime: now, ObservedGeneration: scanJob.GetGeneration()}
		if other == kind {
			condition.Status, condition.Reason = metav1.ConditionTrue, reason
		}
		conditions = append(conditions, condition)
	}
	status := map[string]any{"conditions": conditions}
	for name, count := range counts {
		status[name] = count
	}
	switch kind {
	case "InProgress":
		status["startTime"] = now
	case "Complete", "Failed":
		status["completionTime"] = now
	}
	patch := text(map[string]any{"metadata": map[string]any{"uid": scanJob.GetUID()}, "status": status})
	// What it does is delivered again until it is done.
	return eventually(s.ctx, time.Minute, func() error {
		_, err := s.client.Resource(ScanJobs).Namespace(ScannerNamespace).Patch(s.ctx, scanJob.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	})
}
