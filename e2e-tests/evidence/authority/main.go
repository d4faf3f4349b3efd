// Signs an image as a signing authority does, with Notary Project's own library: notation itself signs in this scheme through
// plugins alone.
//
//	go run . jws key.pem chain.pem image.json [attribute] >signature
//
// The format is `jws` or `cose`, the key is PKCS #8, and the chain starts with its certificate. An attribute is signed as a critical
// one, which verifiers that don't know it must refuse.
package main

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/notaryproject/notation-core-go/signature"
	_ "github.com/notaryproject/notation-core-go/signature/cose"
	_ "github.com/notaryproject/notation-core-go/signature/jws"
)

var mediaTypes = map[string]string{"jws": "application/jose+json", "cose": "application/cose"}

func main() {
	format, key, chain, image := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	pair := must(tls.LoadX509KeyPair(chain, key))
	var certificates []*x509.Certificate
	for _, der := range pair.Certificate {
		certificates = append(certificates, must(x509.ParseCertificate(der)))
	}
	manifest := must(os.ReadFile(image))
	digest := sha256.Sum256(manifest)
	payload := must(json.Marshal(map[string]any{"targetArtifact": map[string]any{
		"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "sha256:" + hex.EncodeToString(digest[:]), "size": len(manifest),
	}}))
	var attributes []signature.Attribute
	for _, name := range os.Args[5:] {
		attributes = append(attributes, signature.Attribute{Key: name, Critical: true, Value: "x"})
	}
	envelope := must(signature.NewEnvelope(mediaTypes[format]))
	os.Stdout.Write(must(envelope.Sign(&signature.SignRequest{
		Payload:                  signature.Payload{ContentType: "application/vnd.cncf.notary.payload.v1+json", Content: payload},
		Signer:                   must(signature.NewLocalSigner(certificates, pair.PrivateKey)),
		SigningTime:              time.Now(),
		SigningScheme:            signature.SigningSchemeX509SigningAuthority,
		SigningAgent:             "authority",
		ExtendedSignedAttributes: attributes,
	})))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
