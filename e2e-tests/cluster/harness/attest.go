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
	reference, err := name.ParseReference(c.Registry.Modules + "/" + repository + ":" + strings.Replace(digest, ":", "-", 1) + ".att")
	if err != nil {
		return err
	}
	layer := static.NewLayer([]byte(envelope), "application/vnd.dsse.envelope.v1+json")
	artifact, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return err
	}
	return remote.Write(reference, artifact)
}
