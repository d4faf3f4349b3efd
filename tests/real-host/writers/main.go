// Writes indexes and image manifests with the code of the tools that people use, byte for byte as these push them.
//
// The argument is the folder: <writer>-index.json, <writer>-image.json and so on are written into it. The crates' tests prove each
// of them. What stands in them is this program's own; only how it is spelled is the writers'.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	dockerImage  = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList   = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerConfig = "application/vnd.docker.container.image.v1+json"
	dockerLayer  = "application/vnd.docker.image.rootfs.diff.tar.gzip"

	// Go's encoding/json escapes these in strings, others don't.
	awkward = `Tom & "Jerry" <tom@example.org> \ ünïcode`
)

// documents are the files' names, without `.json`, and their bytes.
type documents map[string][]byte

type writer func(ctx context.Context) (documents, error)

var writers = []writer{buildkit, olderBuildkit, buildxImagetools, goContainerregistry, containersImage, containersCommon, dockerManifest, dockerPush, regclientTypes, orasGo, containerdConvert}

func digestOf(text string) digest.Digest { return digest.FromString(text) }

func platform(arch, variant string) *ocispec.Platform {
	return &ocispec.Platform{OS: "linux", Architecture: arch, Variant: variant}
}

// entries are the manifests of an index, as tools find them in a registry.
func entries(mediaType string) []ocispec.Descriptor {
	return []ocispec.Descriptor{
		{MediaType: mediaType, Digest: digestOf("amd64"), Size: 527, Platform: platform("amd64", "")},
		{MediaType: mediaType, Digest: digestOf("arm64"), Size: 528, Platform: platform("arm64", "v8")},
	}
}

// attestation is what BuildKit adds for each image, and what later tools carry over.
func attestation() ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, Digest: digestOf("attestation"), Size: 566,
		Platform: &ocispec.Platform{OS: "unknown", Architecture: "unknown"},
		Annotations: map[string]string{
			"vnd.docker.reference.type":   "attestation-manifest",
			"vnd.docker.reference.digest": digestOf("amd64").String(),
		},
	}
}

func annotations() map[string]string {
	return map[string]string{"org.opencontainers.image.title": "app", "org.opencontainers.image.authors": awkward}
}

func write(folder string) error {
	ctx := context.Background()
	for _, writer := range writers {
		written, err := writer(ctx)
		if err != nil {
			return err
		}
		for name, raw := range written {
			if err := os.WriteFile(filepath.Join(folder, name+".json"), raw, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "name the folder to write into")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
