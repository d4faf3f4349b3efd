// Services that signing needs and that nobody ships as one small program: registries, an issuer of identity tokens, and a log
// of certificates that signs promises and keeps nothing.
//
//	go run . 3044 3045 3046 ctlog.pub
//
// The issuers are http://127.0.0.1:3044 and http://127.0.0.1:3044/workflow: /token answers with a token of the claims that the query
// names. The log is
// http://127.0.0.1:3044/ctlog, with a key made anew; its public key is written into the file. The registry on port 3045 has the
// referrers API, the one on port 3046 doesn't.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log"
	"net/http"
	"os"
	"time"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	port, referrers, plain, public := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	go serve(referrers, registry.New(registry.WithReferrersSupport(true)))
	go serve(plain, registry.New())
	issuer := "http://127.0.0.1:" + port
	mux := http.NewServeMux()
	serveIssuer(mux, "", issuer)
	serveIssuer(mux, "/workflow", issuer+"/workflow")
	serveLog(mux, public)
	serve(port, mux)
}

func serve(port string, handler http.Handler) {
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, handler))
}

// serveIssuer answers as an OpenID Connect issuer does, and hands a token to whoever asks.
func serveIssuer(mux *http.ServeMux, path, issuer string) {
	key := newKey()
	encode := base64.RawURLEncoding.EncodeToString
	point := must(key.PublicKey.Bytes())
	mux.HandleFunc("GET "+path+"/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": issuer, "jwks_uri": issuer + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"},
			"authorization_endpoint": issuer + "/auth", "token_endpoint": issuer + "/token",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		})
	})
	mux.HandleFunc("GET "+path+"/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]string{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "1", "x": encode(point[1:33]), "y": encode(point[33:]),
		}}})
	})
	mux.HandleFunc("GET "+path+"/token", func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().Unix()
		claims := map[string]any{"iss": issuer, "aud": "sigstore", "iat": now, "exp": now + 600}
		for name, values := range r.URL.Query() {
			claims[name] = values[0]
		}
		if claims["email"] != nil {
			claims["email_verified"] = true
		}
		signed := encode([]byte(`{"alg":"ES256","kid":"1"}`)) + "." + encode(must(json.Marshal(claims)))
		digest := sha256.Sum256([]byte(signed))
		first, second, err := ecdsa.Sign(rand.Reader, key, digest[:])
		if err != nil {
			log.Fatal(err)
		}
		signature := append(first.FillBytes(make([]byte, 32)), second.FillBytes(make([]byte, 32))...)
		w.Write([]byte(signed + "." + encode(signature)))
	})
}

// serveLog promises to log each certificate (RFC 6962, section 3.2).
func serveLog(mux *http.ServeMux, public string) {
	key := newKey()
	spki := must(x509.MarshalPKIXPublicKey(key.Public()))
	if err := os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki}), 0o644); err != nil {
		log.Fatal(err)
	}
	id := sha256.Sum256(spki)
	mux.HandleFunc("POST /ctlog/ct/v1/add-pre-chain", func(w http.ResponseWriter, r *http.Request) {
		var request ct.AddChainRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var chain []ct.ASN1Cert
		for _, der := range request.Chain {
			chain = append(chain, ct.ASN1Cert{Data: der})
		}
		promise := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, Timestamp: uint64(time.Now().UnixMilli())}
		leaf, err := ct.MerkleTreeLeafFromRawChain(chain, ct.PrecertLogEntryType, promise.Timestamp)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		digest := sha256.Sum256(must(ct.SerializeSCTSignatureInput(promise, ct.LogEntry{Leaf: *leaf})))
		signature := must(tls.Marshal(tls.DigitallySigned{
			Algorithm: tls.SignatureAndHashAlgorithm{Hash: tls.SHA256, Signature: tls.ECDSA},
			Signature: must(key.Sign(rand.Reader, digest[:], crypto.SHA256)),
		}))
		answer(w, ct.AddChainResponse{SCTVersion: ct.V1, ID: id[:], Timestamp: promise.Timestamp, Signature: signature})
	})
}

func newKey() *ecdsa.PrivateKey {
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
}

func answer(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(document)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
