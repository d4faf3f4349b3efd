// Evaluates expressions as Kyverno's ImageValidatingPolicy does, by Kyverno's own compiler: cases from standard input, answers to
// standard output, JSON both. It belongs into a folder below `cmd` of Kyverno's module.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	policieskyvernoio "github.com/kyverno/api/api/policies.kyverno.io"
	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	"github.com/kyverno/kyverno/pkg/cel/libs"
	"github.com/kyverno/kyverno/pkg/cel/libs/imageverify"
	imageverifycache "github.com/kyverno/kyverno/pkg/image/verification/cache"
	"github.com/kyverno/kyverno/pkg/image/verification/evaluator"
	"github.com/kyverno/sdk/extensions/imagedataloader"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

type input struct {
	// The policy, whose validations each case replaces; the object; the namespace.
	Policy    policiesv1beta1.ImageValidatingPolicy
	Object    map[string]any
	Namespace map[string]any
	Cases     []struct {
		Expression string
		Variables  []map[string]string
		Images     []map[string]string
	}
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		panic(err)
	}
	answers := []string{}
	for _, one := range in.Cases {
		policy := in.Policy.DeepCopy()
		text, _ := json.Marshal(map[string]any{"validations": []any{map[string]string{"expression": one.Expression}}, "variables": one.Variables, "images": one.Images})
		if err := json.Unmarshal(text, &policy.Spec); err != nil {
			panic(err)
		}
		answers = append(answers, ask(policy, in))
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answers); err != nil {
		panic(err)
	}
}

func ask(policy *policiesv1beta1.ImageValidatingPolicy, in input) (answer string) {
	defer func() {
		if why := recover(); why != nil {
			answer = fmt.Sprintf("panic: %v", why)
		}
	}()
	policy.Spec.EvaluationConfiguration = &policiesv1beta1.EvaluationConfiguration{Mode: policieskyvernoio.EvaluationModeKubernetes}
	no := false
	policy.Spec.ValidationConfigurations.VerifyDigest = &no
	policy.Spec.ValidationConfigurations.Required = &no
	ictx, err := imagedataloader.NewImageContext(nil, nil, nil)
	if err != nil {
		panic(err)
	}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	of := metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	compiled, problems := evaluator.NewCompiler(ictx, nil, &of, imageverifycache.DisabledImageVerifyCache()).Compile(policy, nil, imageverify.NewImageVerificationResults())
	if problems != nil {
		return "refused: " + first(problems.ToAggregate().Error())
	}
	object := &unstructured.Unstructured{Object: in.Object}
	raw, _ := json.Marshal(in.Object)
	request := &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Create, Namespace: object.GetNamespace(), Name: object.GetName(),
		Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: of, RequestResource: &of, Object: runtime.RawExtension{Raw: raw},
	}
	attributes := admission.NewAttributesRecord(object, nil, object.GroupVersionKind(), object.GetNamespace(), object.GetName(), gvr, "", admission.Create, nil, false, nil)
	result, err := compiled.Evaluate(context.Background(), ictx, attributes, request, &unstructured.Unstructured{Object: in.Namespace}, true, libs.NewFakeContextProvider())
	switch {
	case err != nil:
		return "error: " + first(err.Error())
	case result == nil:
		return "no match"
	case result.Error != nil:
		return "error: " + first(result.Error.Error())
	default:
		return fmt.Sprint(result.Result)
	}
}

func first(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}
