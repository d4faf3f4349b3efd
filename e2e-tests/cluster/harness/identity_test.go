package harness

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

func TestAPolicysIdentityIsAFunctionOfTheVersion(t *testing.T) {
	for kubewarden, wanted := range map[string]string{
		"v1.36.0-beta.1": "clusterwide-image-admission",
		"v1.37.1":        "clusterwide-image-admission",
		"v1.37.2":        "kw.cap.image-admission",
		"v1.38.2":        "kw.cap.image-admission",
		"v2.0.0":         "kw.cap.image-admission",
	} {
		if found := identity(version.MustParseSemantic(kubewarden), "image-admission"); found != wanted {
			t.Errorf("Kubewarden %s calls it %s, not %s", kubewarden, found, wanted)
		}
	}
}
