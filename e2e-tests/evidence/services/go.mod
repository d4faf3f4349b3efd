module image-admission/services

go 1.26

require (
	github.com/google/certificate-transparency-go v1.3.3
	github.com/google/go-containerregistry v0.22.1
)

require golang.org/x/crypto v0.48.0 // indirect
