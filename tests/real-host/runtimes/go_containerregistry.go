package main

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// goContainerregistry reads as crane, and with it most scanners, do.
func goContainerregistry(ctx context.Context, ref, platform string) (string, error) {
	wanted, err := v1.ParsePlatform(platform)
	if err != nil {
		return "", err
	}
	parsed, err := name.ParseReference(ref, name.Insecure)
	if err != nil {
		return "", err
	}
	image, err := remote.Image(parsed, remote.WithContext(ctx), remote.WithPlatform(*wanted))
	if err != nil {
		return "", err
	}
	if _, err := image.Manifest(); err != nil {
		return "", err
	}
	found, err := image.Digest()
	return found.String(), err
}
