// Makes the signatures beside it with Notary Project's own library: README.md has the commands.
package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/notaryproject/notation-core-go/signature"
	_ "github.com/notaryproject/notation-core-go/signature/cose"
	_ "github.com/notaryproject/notation-core-go/signature/jws"
	"github.com/notaryproject/tspclient-go"
)

const payload = `{"targetArtifact":{"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
	`"digest":"sha256:73c803930ea3ba1e54bc25c2bdc53edd0284c62ed651fe7b00369da519a3c333","size":16724,` +
	`"annotations":{"team":"<a> & b"}}}`

// Signatures and certificates begin here, so that tests can name times.
var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func write(name string, content []byte) {
	if err := os.WriteFile(name, content, 0o644); err != nil {
		log.Fatal(err)
	}
}

type entity struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

var serial int64

func issue(name string, key crypto.Signer, issuer *entity, until time.Time, change func(*x509.Certificate)) *entity {
	serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{Country: []string{"US"}, Province: []string{"WA"}, Organization: []string{"Team, Inc."}, CommonName: name},
		NotBefore:    start, NotAfter: until, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	change(template)
	parent, by := template, key
	if issuer != nil {
		parent, by = issuer.certificate, issuer.key
	}
	der := must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by))
	return &entity{must(x509.ParseCertificate(der)), key}
}

func authority(template *x509.Certificate) {
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
}

func codeSigner(template *x509.Certificate) {
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
}

// A timestamp authority that is OpenSSL.
type openssl struct{ folder string }

const configuration = `
[timestamps]
serial = serial
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ess_cert_id_alg = sha256
`

func (tsa openssl) Timestamp(_ context.Context, request *tspclient.Request) (*tspclient.Response, error) {
	write(filepath.Join(tsa.folder, "request.tsq"), must(request.MarshalBinary()))
	write(filepath.Join(tsa.folder, "openssl.cnf"), []byte(configuration))
	write(filepath.Join(tsa.folder, "serial"), []byte("01\n"))
	command := exec.Command("openssl", "ts", "-reply", "-config", "openssl.cnf", "-section", "timestamps", "-queryfile",
		"request.tsq", "-signer", "tsa.pem", "-inkey", "tsa.key", "-sha256", "-out", "response.tsr")
	command.Dir = tsa.folder
	if output, err := command.CombinedOutput(); err != nil {
		log.Fatal(string(output))
	}
	response := new(tspclient.Response)
	return response, response.UnmarshalBinary(must(os.ReadFile(filepath.Join(tsa.folder, "response.tsr"))))
}

func main() {
	ec := func(curve elliptic.Curve) crypto.Signer { return must(ecdsa.GenerateKey(curve, rand.Reader)) }
	rsaKey := func(bits int) crypto.Signer { return must(rsa.GenerateKey(rand.Reader, bits)) }
	late := start.AddDate(100, 0, 0)
	soon := time.Now().Add(time.Hour)
	root := issue("root", ec(elliptic.P256()), nil, late, authority)
	middle := issue("middle", ec(elliptic.P256()), root, late, authority)
	tsaRoot := issue("tsa root", ec(elliptic.P256()), nil, late, authority)
	tsa := issue("tsa", ec(elliptic.P256()), tsaRoot, late, func(template *x509.Certificate) {
		// Go wouldn't mark it critical.
		template.ExtraExtensions = []pkix.Extension{{
			Id: []int{2, 5, 29, 37}, Critical: true,
			Value: []byte{0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08},
		}}
	})
	folder := must(os.MkdirTemp("", "tsa"))
	defer os.RemoveAll(folder)
	write(filepath.Join(folder, "tsa.pem"), pemOf("CERTIFICATE", tsa.certificate.Raw))
	write(filepath.Join(folder, "tsa.key"), pemOf("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(tsa.key))))
	tsaRoots := x509.NewCertPool()
	tsaRoots.AddCert(tsaRoot.certificate)
	write("root.pem", pemOf("CERTIFICATE", root.certificate.Raw))
	write("tsa-root.pem", pemOf("CERTIFICATE", tsaRoot.certificate.Raw))

	sign := func(name string, signer *entity, chain []*entity, change func(*signature.SignRequest)) {
		certificates := []*x509.Certificate{signer.certificate}
		for _, above := range chain {
			certificates = append(certificates, above.certificate)
		}
		for media, suffix := range map[string]string{"application/jose+json": ".jws", "application/cose": ".cose"} {
			request := &signature.SignRequest{
				Payload:     signature.Payload{ContentType: "application/vnd.cncf.notary.payload.v1+json", Content: []byte(payload)},
				Signer:      must(signature.NewLocalSigner(certificates, signer.key)),
				SigningTime: start.Add(time.Hour), SigningScheme: signature.SigningSchemeX509, SigningAgent: "make/1",
			}
			change(request)
			write(name+suffix, must(must(signature.NewEnvelope(media)).Sign(request)))
		}
	}
	chain := []*entity{middle, root}
	plain := func(*signature.SignRequest) {}
	for name, key := range map[string]crypto.Signer{
		"p256": ec(elliptic.P256()), "p384": ec(elliptic.P384()), "p521": ec(elliptic.P521()),
		"rsa2048": rsaKey(2048), "rsa3072": rsaKey(3072), "rsa4096": rsaKey(4096),
	} {
		sign(name, issue(name, key, middle, late, codeSigner), chain, plain)
	}
	signer := issue("signer", ec(elliptic.P256()), middle, late, codeSigner)
	sign("unrestricted", issue("unrestricted", ec(elliptic.P256()), middle, late, func(*x509.Certificate) {}), chain, plain)
	alone := issue("alone", ec(elliptic.P256()), nil, late, codeSigner)
	write("alone.pem", pemOf("CERTIFICATE", alone.certificate.Raw))
	sign("alone", alone, nil, plain)
	sign("expiring", signer, chain, func(request *signature.SignRequest) { request.Expiry = start.AddDate(0, 0, 7) })
	sign("authority", signer, chain, func(request *signature.SignRequest) {
		request.SigningScheme = signature.SigningSchemeX509SigningAuthority
	})
	short := issue("short", ec(elliptic.P384()), middle, soon, codeSigner)
	sign("timestamped", short, chain, func(request *signature.SignRequest) {
		request.SigningTime = time.Now()
		request.Timestamper, request.TSARootCAs = openssl{folder}, tsaRoots
	})
	extended := func(key string, critical bool) func(*signature.SignRequest) {
		return func(request *signature.SignRequest) {
			request.ExtendedSignedAttributes = []signature.Attribute{{Key: key, Critical: critical, Value: "value"}}
		}
	}
	sign("extended", signer, chain, extended("com.example.attribute", false))
	sign("critical", signer, chain, extended("com.example.attribute", true))
	sign("plugin", signer, chain, extended("io.cncf.notary.verificationPlugin", true))
}
