#!/bin/sh
# Makes the timestamps beside it with OpenSSL 3: an authority with a key of RSA and one of P-384, under one root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
cat > openssl.cnf <<'EOF'
[req]
distinguished_name = name
[name]
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[authority]
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[timestamps]
serial = serial
certs = root.pem
digests = sha256, sha512
default_policy = 1.2.3.4.1
accuracy = secs:2, millisecs:500
ess_cert_id_chain = no
EOF
openssl req -x509 -config openssl.cnf -extensions root -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 \
    -subj "/C=DE/O=Team/CN=Time root" -keyout root.key -out root.pem
make_token() { # name, key options, ESS algorithm, hash of the message, options of the request
    name=$1 ess=$2 hash=$3 certificate=$4
    shift 4
    openssl req -config openssl.cnf -newkey "$@" -nodes -subj "/C=DE/O=Team/CN=Time $name" -keyout "$name.key" -out "$name.csr"
    openssl x509 -req -in "$name.csr" -CA root.pem -CAkey root.key -days 36500 -extfile openssl.cnf -extensions authority \
        -out "$name.pem"
    printf 'message' > message
    # shellcheck disable=SC2086 # no option at all, or one
    openssl ts -query -data message "-$hash" $certificate -out request.tsq
    echo "ess_cert_id_alg = $ess" | cat openssl.cnf - > "$name.cnf"
    echo 01 > serial
    openssl ts -reply -config "$name.cnf" -section timestamps -queryfile request.tsq -signer "$name.pem" \
        -inkey "$name.key" -sha256 -out "$here/$name.tsr"
}
make_token rsa sha1 sha256 -cert rsa:2048
make_token p384 sha256 sha512 -cert ec -pkeyopt ec_paramgen_curve:P-384
make_token bare sha256 sha256 "" ec -pkeyopt ec_paramgen_curve:P-256
openssl ts -reply -in "$here/bare.tsr" -token_out -out "$here/bare.p7s"
rm "$here/bare.tsr"
cp root.pem bare.pem "$here"
rm -r "$work"
