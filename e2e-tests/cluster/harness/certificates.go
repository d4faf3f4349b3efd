package harness

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An authority signs the certificates of one cluster. All of them are files in one folder: `<name>.crt` and `<name>.key`.
type authority struct {
	folder      string
	certificate *x509.Certificate
	key         crypto.Signer
	serial      int64
}

func newAuthority(folder string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "cluster"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	made := &authority{folder: folder, certificate: template, key: key, serial: 1}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if made.certificate, err = x509.ParseCertificate(raw); err != nil {
		return nil, err
	}
	return made, made.write("ca", raw, key)
}

func (a *authority) file(name string) string { return filepath.Join(a.folder, name) }

// pem is the authority's own certificate.
func (a *authority) pem() (string, error) {
	block, err := os.ReadFile(a.file("ca.crt"))
	return string(block), err
}

// sign makes a certificate for a server on loopback and for a client: user with its groups.
func (a *authority) sign(name, user string, groups ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial),
		Subject:      pkix.Name{CommonName: user, Organization: groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default.svc", "storage.sbomscanner.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	return a.write(name, raw, key)
}

func (a *authority) write(name string, certificate []byte, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	if err := os.WriteFile(a.file(name+".crt"), block, 0o644); err != nil {
		return err
	}
	return os.WriteFile(a.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600)
}

// ServePolicyServersWith writes a certificate for the policy servers into their Secret that Kubewarden's authority has signed, and
// that is good for this long.
func (c *Cluster) ServePolicyServersWith(validity time.Duration) error {
	const service = "policy-server-image-admission"
	signer, err := c.Client.CoreV1().Secrets(Namespace).Get(c.ctx, "kubewarden-ca", metav1.GetOptions{})
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(signer.Data["ca.crt"], signer.Data["ca.key"])
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	name := service + "." + Namespace + ".svc"
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, pair.Leaf, key.Public(), pair.PrivateKey)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	secret, err := c.Client.CoreV1().Secrets(Namespace).Get(c.ctx, service, metav1.GetOptions{})
	if err != nil {
		return err
	}
	secret.Data["tls.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	secret.Data["tls.key"] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	_, err = c.Client.CoreV1().Secrets(Namespace).Update(c.ctx, secret, metav1.UpdateOptions{})
	return err
}
