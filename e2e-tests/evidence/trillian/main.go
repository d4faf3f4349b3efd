// Trillian with nothing but memory for its storage, for a Rekor of version 1 that is gone when it has signed.
//
//	go run . >address
//
// It writes the address where it listens, and ends with its standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/google/trillian/extension"
	"github.com/google/trillian/quota"
	"github.com/google/trillian/storage/memory"
	"github.com/google/trillian/testonly/integration"
)

func main() {
	trees := memory.NewTreeStorage()
	server, err := integration.NewLogEnvWithRegistry(context.Background(), 1, extension.Registry{
		AdminStorage: memory.NewAdminStorage(trees),
		LogStorage:   memory.NewLogStorage(trees, nil),
		QuotaManager: quota.Noop(),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(server.Address)
	io.Copy(io.Discard, os.Stdin)
}
