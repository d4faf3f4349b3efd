package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// labels of blobs, kept in memory.
type labels struct {
	of map[digest.Digest]map[string]string
}

func (l *labels) Get(d digest.Digest) (map[string]string, error) { return l.of[d], nil }

func (l *labels) Set(d digest.Digest, set map[string]string) error {
	if l.of == nil {
		l.of = map[digest.Digest]map[string]string{}
	}
	l.of[d] = set
	return nil
}

func (l *labels) Update(d digest.Digest, update map[string]string) (map[string]string, error) {
	merged := map[string]string{}
	maps.Copy(merged, l.of[d])
	maps.Copy(merged, update)
	return merged, l.Set(d, merged)
}

func stored(ctx context.Context, store content.Store, mediaType string, value any) (ocispec.Descriptor, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	return desc, content.WriteBlob(ctx, store, desc.Digest.String(), bytes.NewReader(raw), desc)
}
