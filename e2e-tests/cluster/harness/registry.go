package harness

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A Registry is a real one, behind a door with TLS that can fail. Images are pushed past the door.
type Registry struct {
	// Host is what stands before an image's name.
	Host string
	// Modules is the registry without the door: what serves the policy itself is never what is tested.
	Modules string

	process *Process
	door    *http.Server

	mutex    sync.Mutex
	fault    http.HandlerFunc
	requests int
	// ours are those of the companion and the command line among them.
	ours int
}

func startRegistry(ctx context.Context, folder string, tools Tools, authority *authority) (*Registry, error) {
	port := freePort()
	config := filepath.Join(folder, "registry.yaml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: 127.0.0.1:%d}\n", filepath.Join(folder, "images"), port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	process, err := start(folder, "registry", tools.Registry, []string{"serve", config})
	if err != nil {
		return nil, err
	}
	registry := &Registry{process: process, Modules: fmt.Sprintf("127.0.0.1:%d", port)}
	door := freePort()
	registry.Host = fmt.Sprintf("127.0.0.1:%d", door)
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: registry.Modules})
	registry.door = &http.Server{Addr: registry.Host, Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		registry.mutex.Lock()
		registry.requests++
		if strings.HasPrefix(request.UserAgent(), "image-admission/") {
			registry.ours++
		}
		fault := registry.fault
		registry.mutex.Unlock()
		if fault != nil {
			fault(writer, request)
			return
		}
		behind.ServeHTTP(writer, request)
	})}
	go func() {
		_ = registry.door.ListenAndServeTLS(authority.file("server.crt"), authority.file("server.key"))
	}()
	return registry, eventually(ctx, 30*time.Second, func() error {
		response, err := http.Get("http://" + registry.Modules + "/v2/")
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
}

func (r *Registry) close() {
	r.door.Close()
	r.process.Kill()
}

// Fail answers every request in another way, until it gets nil.
func (r *Registry) Fail(fault http.HandlerFunc) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fault = fault
}

// Requests is how many were made so far.
func (r *Registry) Requests() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.requests
}

// CompanionRequests is how many of them the companion and the command line made.
func (r *Registry) CompanionRequests() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.ours
}

// Status answers with an error.
func Status(code int) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		if code == http.StatusTooManyRequests {
			writer.Header().Set("Retry-After", "1")
		}
		http.Error(writer, http.StatusText(code), code)
	}
}

// Refuse closes the connection without an answer.
func Refuse(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// Silent takes the request, and answers when whoever asked is gone.
func Silent(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }

// An Image is one that was pushed.
type Image struct {
	// Name has registry, repository and tag. Digest is of what the tag names, Platforms of each platform below.
	Name, Repository, Tag, Digest string
	Platforms                     map[string]string
}

// Pinned is the reference that the policy pins: of the one platform that deploy/ lists, as its nodes run it.
func (i Image) Pinned() string { return i.Name + "@" + i.Platforms["linux/amd64"] }

// Push pushes an image, an index where it has several platforms. The salt tells apart images of one name.
func (r *Registry) Push(repository, tag, salt string, platforms ...string) (Image, error) {
	image := Image{Name: r.Host + "/" + repository + ":" + tag, Repository: repository, Tag: tag, Platforms: map[string]string{}}
	reference, err := name.ParseReference(r.Modules + "/" + repository + ":" + tag)
	if err != nil {
		return image, err
	}
	var index v1.ImageIndex = empty.Index
	var single v1.Image
	for _, platform := range platforms {
		system, architecture, _ := strings.Cut(platform, "/")
		config := &v1.ConfigFile{OS: system, Architecture: architecture, Author: salt, RootFS: v1.RootFS{Type: "layers"}}
		made, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), config)
		if err != nil {
			return image, err
		}
		made = mutate.ConfigMediaType(made, types.OCIConfigJSON)
		digest, err := made.Digest()
		if err != nil {
			return image, err
		}
		image.Platforms[platform], single = digest.String(), made
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: made, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: architecture}}})
	}
	if len(platforms) == 1 {
		image.Digest = image.Platforms[platforms[0]]
		return image, remote.Write(reference, single)
	}
	digest, err := index.Digest()
	if err != nil {
		return image, err
	}
	image.Digest = digest.String()
	return image, remote.WriteIndex(reference, index)
}

// Tags are those of a repository.
func (r *Registry) Tags(repository string) ([]string, error) {
	found, err := name.NewRepository(r.Modules + "/" + repository)
	if err != nil {
		return nil, err
	}
	return remote.List(found)
}

// Find is what a tag names now.
func (r *Registry) Find(repository, tag string) (Image, error) {
	image := Image{Name: r.Host + "/" + repository + ":" + tag, Repository: repository, Tag: tag, Platforms: map[string]string{}}
	reference, err := name.ParseReference(r.Modules + "/" + repository + ":" + tag)
	if err != nil {
		return image, err
	}
	found, err := remote.Get(reference)
	if err != nil {
		return image, err
	}
	image.Digest = found.Digest.String()
	if found.MediaType.IsIndex() {
		index, err := found.ImageIndex()
		if err != nil {
			return image, err
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			return image, err
		}
		for _, listed := range manifest.Manifests {
			image.Platforms[listed.Platform.String()] = listed.Digest.String()
		}
		return image, nil
	}
	single, err := found.Image()
	if err != nil {
		return image, err
	}
	config, err := single.ConfigFile()
	if err != nil {
		return image, err
	}
	image.Platforms[config.Platform().String()] = image.Digest
	return image, nil
}
