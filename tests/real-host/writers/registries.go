package main

import (
	"context"
	"encoding/json"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images/converter"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/containerd/platforms"
	"github.com/containers/common/pkg/manifests"
	"github.com/docker/distribution"
	"github.com/docker/distribution/manifest"
	"github.com/docker/distribution/manifest/manifestlist"
	"github.com/docker/distribution/manifest/schema2"
	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	regdescriptor "github.com/regclient/regclient/types/descriptor"
	regdocker "github.com/regclient/regclient/types/docker/schema2"
	regmanifest "github.com/regclient/regclient/types/manifest"
	regoci "github.com/regclient/regclient/types/oci/v1"
	regplatform "github.com/regclient/regclient/types/platform"
	cimanifest "go.podman.io/image/v5/manifest"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"os"
)

func imageManifest(mediaType, config, layer string) ocispec.Manifest {
	return ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: mediaType,
		Config: ocispec.Descriptor{MediaType: config, Digest: digestOf("config"), Size: 1470},
		Layers: []ocispec.Descriptor{
			{MediaType: layer, Digest: digestOf("layer 1"), Size: 3642247},
			{MediaType: layer, Digest: digestOf("layer 2"), Size: 120},
		},
	}
}

func ggcrImage(arch string, mediaType types.MediaType) (v1.Image, error) {
	config := &v1.ConfigFile{OS: "linux", Architecture: arch, RootFS: v1.RootFS{Type: "layers"}}
	if arch == "arm64" {
		config.Variant = "v8"
	}
	image, err := mutate.ConfigFile(empty.Image, config)
	if err != nil {
		return nil, err
	}
	layer, kind := types.DockerLayer, types.DockerConfigJSON
	if mediaType == types.OCIManifestSchema1 {
		layer, kind = types.OCILayer, types.OCIConfigJSON
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, mediaType), kind)
	return mutate.AppendLayers(image, static.NewLayer([]byte("layer of "+arch), layer))
}

// goContainerregistry is crane, ko, kaniko, cosign, apko, pack.
func goContainerregistry(context.Context) (documents, error) {
	out := documents{}
	for name, kinds := range map[string][2]types.MediaType{
		"go-containerregistry":        {types.OCIImageIndex, types.OCIManifestSchema1},
		"go-containerregistry-docker": {types.DockerManifestList, types.DockerManifestSchema2},
	} {
		index := mutate.IndexMediaType(empty.Index, kinds[0])
		if kinds[0] == types.OCIImageIndex {
			index = mutate.Annotations(index, annotations()).(v1.ImageIndex)
		}
		for _, arch := range []string{"amd64", "arm64"} {
			image, err := ggcrImage(arch, kinds[1])
			if err != nil {
				return nil, err
			}
			p := &v1.Platform{OS: "linux", Architecture: arch}
			if arch == "arm64" {
				p.Variant = "v8"
			} else {
				raw, err := mutate.Annotations(image, annotations()).(v1.Image).RawManifest()
				if err != nil {
					return nil, err
				}
				out[name+"-image"] = raw
			}
			addendum := mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: p}}
			if kinds[0] == types.OCIImageIndex {
				addendum.Annotations = map[string]string{"org.opencontainers.image.title": "app"}
				addendum.ArtifactType = "application/vnd.example.app"
			}
			index = mutate.AppendManifests(index, addendum)
		}
		raw, err := index.RawManifest()
		if err != nil {
			return nil, err
		}
		out[name+"-index"] = raw
	}
	return out, nil
}

// containersImage is podman, buildah and skopeo, and what CI-systems build with them.
func containersImage(context.Context) (documents, error) {
	index := cimanifest.OCI1IndexFromComponents(append(entries(ocispec.MediaTypeImageManifest), attestation()), annotations())
	raw, err := index.Serialize()
	if err != nil {
		return nil, err
	}
	var docker []cimanifest.Schema2ManifestDescriptor
	for _, entry := range entries(dockerImage) {
		docker = append(docker, cimanifest.Schema2ManifestDescriptor{
			Schema2Descriptor: cimanifest.Schema2Descriptor{MediaType: entry.MediaType, Size: entry.Size, Digest: entry.Digest},
			Platform:          cimanifest.Schema2PlatformSpec{OS: entry.Platform.OS, Architecture: entry.Platform.Architecture, Variant: entry.Platform.Variant},
		})
	}
	list, err := cimanifest.Schema2ListFromComponents(docker).Serialize()
	if err != nil {
		return nil, err
	}
	oci := imageManifest("", ocispec.MediaTypeImageConfig, ocispec.MediaTypeImageLayerGzip)
	image, err := cimanifest.OCI1FromComponents(oci.Config, oci.Layers).Serialize()
	if err != nil {
		return nil, err
	}
	var layers []cimanifest.Schema2Descriptor
	for _, layer := range oci.Layers {
		layers = append(layers, cimanifest.Schema2Descriptor{MediaType: dockerLayer, Size: layer.Size, Digest: layer.Digest})
	}
	schema2Image, err := cimanifest.Schema2FromComponents(cimanifest.Schema2Descriptor{MediaType: dockerConfig, Size: oci.Config.Size, Digest: oci.Config.Digest}, layers).Serialize()
	return documents{"containers-image-index": raw, "containers-image-docker-index": list, "containers-image-image": image, "containers-image-docker-image": schema2Image}, err
}

// containersCommon is `podman manifest create` and `buildah manifest create`, with all that a platform may have.
func containersCommon(context.Context) (documents, error) {
	list := manifests.Create()
	for _, entry := range entries(dockerImage) {
		if err := list.AddInstance(entry.Digest, entry.Size, entry.MediaType, entry.Platform.OS, entry.Platform.Architecture, "10.0.14393", []string{"win32k"}, entry.Platform.Variant, []string{"sse4"}, nil); err != nil {
			return nil, err
		}
	}
	docker, err := list.Serialize(dockerList)
	if err != nil {
		return nil, err
	}
	if err := list.SetAnnotations(nil, annotations()); err != nil {
		return nil, err
	}
	index, err := list.Serialize(ocispec.MediaTypeImageIndex)
	return documents{"podman-manifest-index": index, "podman-manifest-docker-index": docker}, err
}

// dockerManifest is `docker manifest push`.
func dockerManifest(context.Context) (documents, error) {
	out := documents{}
	for name, mediaType := range map[string]string{"docker-manifest-index": dockerImage, "docker-manifest-oci-index": ocispec.MediaTypeImageManifest} {
		var descriptors []manifestlist.ManifestDescriptor
		for _, entry := range entries(mediaType) {
			descriptors = append(descriptors, manifestlist.ManifestDescriptor{
				Descriptor: distribution.Descriptor{MediaType: entry.MediaType, Digest: entry.Digest, Size: entry.Size},
				Platform:   manifestlist.PlatformSpec{OS: entry.Platform.OS, Architecture: entry.Platform.Architecture, Variant: entry.Platform.Variant},
			})
		}
		list, err := manifestlist.FromDescriptors(descriptors)
		if err != nil {
			return nil, err
		}
		if _, out[name], err = list.Payload(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// dockerPush is `docker push` of an image that the classic store holds.
func dockerPush(context.Context) (documents, error) {
	oci := imageManifest("", "", "")
	image := schema2.Manifest{Versioned: manifest.Versioned{SchemaVersion: 2, MediaType: dockerImage}, Config: distribution.Descriptor{MediaType: dockerConfig, Size: oci.Config.Size, Digest: oci.Config.Digest}}
	for _, layer := range oci.Layers {
		image.Layers = append(image.Layers, distribution.Descriptor{MediaType: dockerLayer, Size: layer.Size, Digest: layer.Digest})
	}
	built, err := schema2.FromStruct(image)
	if err != nil {
		return nil, err
	}
	_, raw, err := built.Payload()
	return documents{"docker-push-image": raw}, err
}

func regDescriptor(d ocispec.Descriptor) regdescriptor.Descriptor {
	out := regdescriptor.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, Annotations: d.Annotations}
	if d.Platform != nil {
		out.Platform = &regplatform.Platform{OS: d.Platform.OS, Architecture: d.Platform.Architecture, Variant: d.Platform.Variant}
	}
	return out
}

// regclientTypes is regctl, and what builds with it.
func regclientTypes(context.Context) (documents, error) {
	index := regoci.Index{Versioned: regoci.IndexSchemaVersion, MediaType: ocispec.MediaTypeImageIndex, ArtifactType: "application/vnd.example.app", Annotations: annotations()}
	list := regdocker.ManifestList{Versioned: regdocker.ManifestListSchemaVersion, Annotations: annotations()}
	for _, entry := range append(entries(ocispec.MediaTypeImageManifest), attestation()) {
		index.Manifests = append(index.Manifests, regDescriptor(entry))
	}
	for _, entry := range entries(dockerImage) {
		list.Manifests = append(list.Manifests, regDescriptor(entry))
	}
	oci := imageManifest("", ocispec.MediaTypeImageConfig, ocispec.MediaTypeImageLayerGzip)
	image := regoci.Manifest{Versioned: regoci.ManifestSchemaVersion, MediaType: ocispec.MediaTypeImageManifest, Config: regDescriptor(oci.Config), Annotations: annotations()}
	for _, layer := range oci.Layers {
		image.Layers = append(image.Layers, regDescriptor(layer))
	}
	out := documents{}
	for name, orig := range map[string]any{"regclient-index": index, "regclient-docker-index": list, "regclient-image": image} {
		made, err := regmanifest.New(regmanifest.WithOrig(orig))
		if err != nil {
			return nil, err
		}
		if out[name], err = made.RawBody(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// orasGo packs an image manifest for an artifact, as `oras push` does. `oras manifest index create` marshals image-spec's Index.
func orasGo(ctx context.Context) (documents, error) {
	store := memory.New()
	config, err := oras.PushBytes(ctx, store, ocispec.MediaTypeImageConfig, []byte(`{"architecture":"amd64","os":"linux"}`))
	if err != nil {
		return nil, err
	}
	layer, err := oras.PushBytes(ctx, store, ocispec.MediaTypeImageLayerGzip, []byte("layer"))
	if err != nil {
		return nil, err
	}
	desc, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, "application/vnd.example.app", oras.PackManifestOptions{
		ConfigDescriptor: &config, Layers: []ocispec.Descriptor{layer}, Subject: &ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digestOf("subject"), Size: 9},
		ManifestAnnotations: map[string]string{ocispec.AnnotationCreated: "2026-01-01T00:00:00Z"},
	})
	if err != nil {
		return nil, err
	}
	reader, err := store.Fetch(ctx, desc)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	raw := make([]byte, desc.Size)
	if _, err := reader.Read(raw); err != nil {
		return nil, err
	}
	index, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, ArtifactType: "application/vnd.example.app",
		Manifests: entries(ocispec.MediaTypeImageManifest), Annotations: annotations(),
	})
	return documents{"oras-image": raw, "oras-index": index}, err
}

// containerdConvert converts Docker's types to OCI's, as `ctr image convert` and `nerdctl image convert` do.
func containerdConvert(ctx context.Context) (documents, error) {
	folder, err := os.MkdirTemp("", "containerd-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	store, err := local.NewLabeledStore(folder, &labels{})
	if err != nil {
		return nil, err
	}
	list := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: dockerList}
	config, err := stored(ctx, store, dockerConfig, ocispec.Image{Platform: *platform("amd64", ""), RootFS: ocispec.RootFS{Type: "layers"}})
	if err != nil {
		return nil, err
	}
	image := imageManifest(dockerImage, dockerConfig, dockerLayer)
	image.Config, image.Layers = config, []ocispec.Descriptor{}
	child, err := stored(ctx, store, dockerImage, image)
	if err != nil {
		return nil, err
	}
	child.Platform = platform("amd64", "")
	list.Manifests = []ocispec.Descriptor{child}
	target, err := stored(ctx, store, dockerList, list)
	if err != nil {
		return nil, err
	}
	converted, err := converter.DefaultIndexConvertFunc(nil, true, platforms.All)(ctx, store, target)
	if err != nil {
		return nil, err
	}
	raw, err := content.ReadBlob(ctx, store, *converted)
	if err != nil {
		return nil, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, err
	}
	converted = &index.Manifests[0]
	oci, err := content.ReadBlob(ctx, store, *converted)
	return documents{"containerd-convert-index": raw, "containerd-convert-image": oci}, err
}
