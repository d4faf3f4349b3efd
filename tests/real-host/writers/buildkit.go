package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/docker/buildx/util/imagetools"
	clitypes "github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/moby/buildkit/cache"
	cacheconfig "github.com/moby/buildkit/cache/config"
	"github.com/moby/buildkit/exporter"
	"github.com/moby/buildkit/exporter/containerimage"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	gatewaypb "github.com/moby/buildkit/frontend/gateway/pb"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth/authprovider"
	"github.com/moby/buildkit/solver"
	"github.com/moby/buildkit/solver/result"
	"github.com/moby/buildkit/util/compression"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// layers stand for a result that was built: the exporter asks it for nothing else.
type layers struct{ cache.ImmutableRef }

func (layers) GetRemotes(context.Context, bool, cacheconfig.RefConfig, bool, session.Group) ([]*solver.Remote, error) {
	var descs []ocispec.Descriptor
	for _, layer := range imageManifest("", "", ocispec.MediaTypeImageLayerGzip).Layers {
		layer.Annotations = map[string]string{"containerd.io/uncompressed": digestOf("uncompressed").String()}
		descs = append(descs, layer)
	}
	return []*solver.Remote{{Descriptors: descs}}, nil
}

func (layers) LayerChain() cache.RefList { return nil }

// buildkit exports images of two layers, for two platforms, with an attestation for the first: the exporter of `docker build`,
// `docker buildx build` and of everything that is made with BuildKit.
func buildkit(ctx context.Context) (documents, error) {
	folder, err := os.MkdirTemp("", "buildkit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	store, err := local.NewStore(folder)
	if err != nil {
		return nil, err
	}
	images, err := containerimage.NewImageWriter(containerimage.WriterOpt{ContentStore: store})
	if err != nil {
		return nil, err
	}
	ps := exptypes.Platforms{}
	source := &exporter.Source{Metadata: map[string][]byte{}, Refs: map[string]cache.ImmutableRef{}, Attestations: map[string][]exporter.Attestation{}}
	for _, p := range []*ocispec.Platform{platform("amd64", ""), platform("arm64", "v8")} {
		id := p.OS + "/" + p.Architecture
		ps.Platforms = append(ps.Platforms, exptypes.Platform{ID: id, Platform: *p})
		source.Refs[id] = layers{}
		config, err := json.Marshal(ocispec.Image{Platform: *p, RootFS: ocispec.RootFS{Type: "layers"}})
		if err != nil {
			return nil, err
		}
		source.Metadata[exptypes.ExporterImageConfigKey+"/"+id] = config
	}
	source.Attestations["linux/amd64"] = []exporter.Attestation{{
		Kind: gatewaypb.AttestationKind_InToto, Path: "sbom.json", InToto: result.InTotoAttestation{PredicateType: "https://spdx.dev/Document"},
		ContentFunc: func(context.Context) ([]byte, error) { return []byte(`{"name":"none"}`), nil },
	}}
	if source.Metadata[exptypes.ExporterPlatformsKey], err = json.Marshal(ps); err != nil {
		return nil, err
	}
	yes, no := true, false
	options := &containerimage.ImageCommitOpts{ImageName: "registry.example.org/app:1.0", RefCfg: cacheconfig.RefConfig{Compression: compression.New(compression.Default)}, OCITypes: &yes, OCIArtifact: &no, Annotations: containerimage.AnnotationsGroup{
		"": {Index: annotations(), Manifest: annotations(), ManifestDescriptor: map[string]string{"org.opencontainers.image.title": "app"}},
	}}
	desc, _, err := images.Commit(ctx, source, "", nil, options, 0, "image")
	if err != nil {
		return nil, fmt.Errorf("buildkit: %w", err)
	}
	index, err := content.ReadBlob(ctx, store, *desc)
	if err != nil {
		return nil, err
	}
	var parsed ocispec.Index
	if err := json.Unmarshal(index, &parsed); err != nil {
		return nil, err
	}
	image, err := content.ReadBlob(ctx, store, parsed.Manifests[0])
	if err != nil {
		return nil, err
	}
	attested, err := content.ReadBlob(ctx, store, parsed.Manifests[len(parsed.Manifests)-1])
	return documents{"buildkit-index": index, "buildkit-image": image, "buildkit-attestation": attested}, err
}

// olderBuildkit has the structs of BuildKit and buildx before 0.12, which embedded image-spec's: so the media type came first.
func olderBuildkit(context.Context) (documents, error) {
	index := struct {
		MediaType string `json:"mediaType,omitempty"`
		ocispec.Index
	}{ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, Manifests: append(entries(ocispec.MediaTypeImageManifest), attestation())}}
	list := index
	list.MediaType, list.Manifests = dockerList, entries(dockerImage)
	image := struct {
		MediaType string `json:"mediaType,omitempty"`
		ocispec.Manifest
	}{ocispec.MediaTypeImageManifest, imageManifest("", ocispec.MediaTypeImageConfig, ocispec.MediaTypeImageLayerGzip)}
	out := documents{}
	for _, each := range []struct {
		name, indent string
		value        any
	}{
		{"buildkit-0.10-index", "   ", list}, {"buildkit-0.10-image", "   ", image},
		{"buildkit-0.11-index", "  ", index}, {"buildkit-0.11-image", "  ", image},
		{"moby-classic-image", "    ", image},
	} {
		raw, err := json.MarshalIndent(each.value, "", each.indent)
		if err != nil {
			return nil, err
		}
		out[each.name] = raw
	}
	return out, nil
}

func nobody(context.Context, string, []string, authprovider.ExpireCachedAuthCheck) (clitypes.AuthConfig, error) {
	return clitypes.AuthConfig{}, nil
}

// buildxImagetools combines what BuildKit wrote, as `docker buildx imagetools create` does.
func buildxImagetools(ctx context.Context) (documents, error) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	resolver := imagetools.New(imagetools.Opt{Auth: nobody})
	var sources []*imagetools.Source
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := ggcrImage(arch, types.OCIManifestSchema1)
		if err != nil {
			return nil, err
		}
		tag, err := name.NewTag(host + "/app:" + arch)
		if err != nil {
			return nil, err
		}
		if err := remote.Write(tag, image); err != nil {
			return nil, err
		}
		location, err := imagetools.ParseLocation(tag.String())
		if err != nil {
			return nil, err
		}
		_, desc, err := resolver.Resolve(ctx, tag.String())
		if err != nil {
			return nil, err
		}
		sources = append(sources, &imagetools.Source{Ref: location, Desc: desc})
	}
	index, _, _, err := resolver.Combine(ctx, sources, map[exptypes.AnnotationKey]string{
		{Type: exptypes.AnnotationIndex, Key: "org.opencontainers.image.authors"}: awkward,
	}, true, nil)
	return documents{"buildx-imagetools-index": index}, err
}
