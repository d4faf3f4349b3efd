package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// SigningKey signs what is attested: the same in every deployment of this cluster.
func (c *Cluster) SigningKey() (key *ecdsa.PrivateKey, err error) {
	if c.signingKey == nil {
		c.signingKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return c.signingKey, err
}

// PublicKey is what a policy's attestor has of the signing key.
func (c *Cluster) PublicKey() (string, error) {
	key, err := c.SigningKey()
	if err != nil {
		return "", err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})), err
}

// Attest puts a signed statement beside an image, `host/repository@digest`, as `cosign attest` does with a key and no log.
func (c *Cluster) Attest(image, predicateType string, predicate any) error {
	key, err := c.SigningKey()
	if err != nil {
		return err
	}
	repository, digest, _ := strings.Cut(strings.TrimPrefix(image, c.Registry.Host+"/"), "@")
	const payloadType = "application/vnd.in-toto+json"
	payload := text(map[string]any{
		"_type": "https://in-toto.io/Statement/v0.1", "predicateType": predicateType,
		"subject":   []any{map[string]any{"name": repository, "digest": map[string]any{"sha256": strings.TrimPrefix(digest, "sha256:")}}},
		"predicate": predicate,
	})
	hash := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
	signature, err := ecdsa.SignASN1(rand.Reader, key, hash[:])
	if err != nil {
		return err
	}
	envelope := text(map[string]any{
		"payloadType": payloadType, "payload": base64.StdEncoding.EncodeToString([]byte(payload)),
		"signatures": []any{map[string]any{"keyid": "", "sig": base64.StdEncoding.EncodeToString(signature)}},
	})
	return c.putBeside(image, "att", "application/vnd.dsse.envelope.v1+json", envelope, map[string]string{cosignSignature: "", "predicateType": predicateType})
}

// cosignSignature is the annotation of a layer that cosign reads a signature from. It is there and empty where the layer has its own.
const cosignSignature = "dev.cosignproject.cosign/signature"

// Sign puts a signature beside an image, `host/repository@digest`, as `cosign sign` does in its old form, with a key and no log.
func (c *Cluster) Sign(image string) error {
	key, err := c.SigningKey()
	if err != nil {
		return err
	}
	name, digest, _ := strings.Cut(image, "@")
	payload := text(map[string]any{
		"critical": map[string]any{
			"identity": map[string]any{"docker-reference": name}, "image": map[string]any{"docker-manifest-digest": digest}, "type": "cosign container image signature",
		},
		"optional": nil,
	})
	hash := sha256.Sum256([]byte(payload))
	signature, err := ecdsa.SignASN1(rand.Reader, key, hash[:])
	if err != nil {
		return err
	}
	return c.putBeside(image, "sig", "application/vnd.dev.cosign.simplesigning.v1+json", payload, map[string]string{cosignSignature: base64.StdEncoding.EncodeToString(signature)})
}

// putBeside pushes an artifact of one layer to the tag beside an image where cosign looks for it.
func (c *Cluster) putBeside(image, kind string, mediaType types.MediaType, content string, annotations map[string]string) error {
	repository, digest, _ := strings.Cut(strings.TrimPrefix(image, c.Registry.Host+"/"), "@")
	reference, err := name.ParseReference(c.Registry.Modules + "/" + repository + ":" + strings.Replace(digest, ":", "-", 1) + "." + kind)
	if err != nil {
		return err
	}
	layer := mutate.Addendum{Layer: static.NewLayer([]byte(content), mediaType), Annotations: annotations}
	artifact, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return err
	}
	return remote.Write(reference, artifact)
}

// AttachEvidence makes what was signed and attested of an image, `host/repository@digest`, readable for the policy, as CI does it. It goes
// past the door: the command line takes a registry on loopback for one without TLS.
func (c *Cluster) AttachEvidence(image string) error {
	_, err := c.must("", c.Tools.CommandLine, "attach", c.Registry.Modules+strings.TrimPrefix(image, c.Registry.Host))
	return err
}
