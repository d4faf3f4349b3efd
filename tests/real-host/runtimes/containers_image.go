package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	"go.podman.io/image/v5/docker"
	"go.podman.io/image/v5/image"
	"go.podman.io/image/v5/manifest"
	"go.podman.io/image/v5/types"
)

// Indexes in indexes: no writer nests them, and nodes that follow them need an end.
const mostIndexes = 5

// newContainersImage pulls as CRI-O and podman do.
func newContainersImage(folder string) (runtime, error) {
	// The machine's own settings of registries don't matter here.
	config := folder + "/registries.conf"
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		return nil, err
	}
	return func(ctx context.Context, ref, platform string) (string, error) {
		system := &types.SystemContext{
			DockerInsecureSkipTLSVerify: types.OptionalBoolTrue,
			SystemRegistriesConfPath:    config,
			SystemRegistriesConfDirPath: folder + "/none",
			RegistriesDirPath:           folder + "/none",
		}
		parts := strings.Split(platform, "/")
		if len(parts) < 2 {
			return "", fmt.Errorf("platform %q: it has no architecture", platform)
		}
		system.OSChoice, system.ArchitectureChoice = parts[0], parts[1]
		if len(parts) > 2 {
			system.VariantChoice = parts[2]
		}
		named, err := docker.ParseReference("//" + withoutTagBesideDigest(ref))
		if err != nil {
			return "", err
		}
		source, err := named.NewImageSource(ctx, system)
		if err != nil {
			return "", err
		}
		defer source.Close()

		var instance *digest.Digest
		for range mostIndexes {
			unparsed := image.UnparsedInstance(source, instance)
			raw, mediaType, err := unparsed.Manifest(ctx)
			if err != nil {
				return "", err
			}
			if manifest.MIMETypeIsMultiImage(mediaType) {
				list, err := manifest.ListFromBlob(raw, mediaType)
				if err != nil {
					return "", err
				}
				chosen, err := list.ChooseInstance(system)
				if err != nil {
					return "", err
				}
				instance = &chosen
				continue
			}
			parsed, err := image.FromUnparsedImage(ctx, system, unparsed)
			if err != nil {
				return "", err
			}
			if _, err := parsed.ConfigBlob(ctx); err != nil {
				return "", err
			}
			run, err := manifest.Digest(raw)
			return run.String(), err
		}
		return "", fmt.Errorf("more than %d indexes in each other", mostIndexes)
	}, nil
}

// CRI-O and podman ask by the digest where a reference has both.
func withoutTagBesideDigest(ref string) string {
	name, pinned, found := strings.Cut(ref, "@")
	if !found {
		return ref
	}
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name + "@" + pinned
}
