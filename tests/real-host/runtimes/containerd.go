package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// newContainerd pulls as containerd does: its resolver, its handlers for the node's platform, and then the manifest that its image
// service reads from what was pulled.
func newContainerd(folder string) (runtime, error) {
	store, err := local.NewStore(folder + "/containerd")
	if err != nil {
		return nil, err
	}
	resolver := docker.NewResolver(docker.ResolverOptions{
		Hosts: docker.ConfigureDefaultRegistries(docker.WithPlainHTTP(docker.MatchAllHosts)),
	})
	return func(ctx context.Context, ref, platform string) (string, error) {
		wanted, err := platforms.Parse(platform)
		if err != nil {
			return "", err
		}
		node := platforms.Only(wanted)
		name, target, err := resolver.Resolve(ctx, ref)
		if err != nil {
			return "", err
		}
		fetcher, err := resolver.Fetcher(ctx, name)
		if err != nil {
			return "", err
		}
		children := images.LimitManifests(images.FilterPlatforms(images.ChildrenHandler(store), node), node, 1)
		if err := images.Dispatch(ctx, images.Handlers(remotes.FetchHandler(store, fetcher), children), nil, target); err != nil {
			return "", err
		}
		read := &manifestsRead{Provider: store}
		manifest, err := images.Manifest(ctx, read, target, node)
		if err != nil {
			return "", err
		}
		return read.digestOf(ctx, manifest)
	}, nil
}

// manifestsRead remembers which manifests were read: images.Manifest returns the manifest, and not its digest.
type manifestsRead struct {
	content.Provider
	lock  sync.Mutex
	descs []ocispec.Descriptor
}

func (m *manifestsRead) ReaderAt(ctx context.Context, desc ocispec.Descriptor) (content.ReaderAt, error) {
	if images.IsManifestType(desc.MediaType) {
		m.lock.Lock()
		m.descs = append(m.descs, desc)
		m.lock.Unlock()
	}
	return m.Provider.ReaderAt(ctx, desc)
}

func (m *manifestsRead) digestOf(ctx context.Context, wanted ocispec.Manifest) (string, error) {
	for _, desc := range m.descs {
		raw, err := content.ReadBlob(ctx, m.Provider, desc)
		if err != nil {
			return "", err
		}
		var manifest ocispec.Manifest
		if err := json.Unmarshal(raw, &manifest); err == nil && reflect.DeepEqual(manifest, wanted) {
			return desc.Digest.String(), nil
		}
	}
	return "", fmt.Errorf("the manifest that was chosen is none of the %d that were read", len(m.descs))
}
