// Bundles that others made, for `make test-evidence`. Nothing is built of it.
module evidence

go 1.26.0

require (
	github.com/cli/cli/v2 v2.96.0
	github.com/notaryproject/notation-go v1.3.2
	github.com/notaryproject/tspclient-go v1.0.0
	github.com/sigstore/sigstore-go v1.2.1
)
