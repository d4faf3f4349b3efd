// Package report is what both programs read and write: manifests, and what was found of each.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// A Report is what a tool says of one object.
type Report struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Drift is whether the cluster has something else than the manifest, as the tool sees it. Fields are where.
	Drift  bool     `json:"drift"`
	Fields []string `json:"fields,omitempty"`
	// Applied is whether the tool sent the object to the cluster. Error is what came of it.
	Applied bool   `json:"applied,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Print writes them as JSON.
func Print(reports []Report) error { return json.NewEncoder(os.Stdout).Encode(reports) }

// Manifests are the objects of a YAML stream, each in a namespace.
func Manifests(reader io.Reader, namespace string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(reader, 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if err == io.EOF {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("manifest %d: %w", len(objects)+1, err)
		}
		if object.Object == nil {
			continue
		}
		if object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		objects = append(objects, object)
	}
}

// List splits a text at its commas.
func List(text string) []string {
	var list []string
	for _, entry := range strings.Split(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			list = append(list, entry)
		}
	}
	return list
}

// Differences are the pointers to where two JSON texts differ.
func Differences(before, after []byte) ([]string, error) {
	var left, right any
	if err := json.Unmarshal(before, &left); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(after, &right); err != nil {
		return nil, err
	}
	return Compare("", left, right), nil
}

// Compare is the same for what was read already.
func Compare(at string, left, right any) []string {
	if reflect.DeepEqual(left, right) {
		return nil
	}
	var found []string
	switch before := left.(type) {
	case map[string]any:
		if after, ok := right.(map[string]any); ok {
			keys := maps.Clone(before)
			maps.Copy(keys, after)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				found = append(found, Compare(at+"/"+strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1"), before[key], after[key])...)
			}
			return found
		}
	case []any:
		if after, ok := right.([]any); ok && len(after) == len(before) {
			for index := range before {
				found = append(found, Compare(fmt.Sprintf("%s/%d", at, index), before[index], after[index])...)
			}
			return found
		}
	}
	return []string{at}
}
