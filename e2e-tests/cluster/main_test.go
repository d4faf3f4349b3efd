// Package cluster_test has what users do with the policy in a real cluster, and what breaks there. See README.md.
package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cluster-tests/harness"
)

// cluster is started once for all tests: they have namespaces of their own.
var cluster *harness.Cluster

func TestMain(tests *testing.M) { os.Exit(run(tests)) }

func run(tests *testing.M) int {
	root, err := filepath.Abs("../..")
	if err != nil {
		return fail(err)
	}
	tools, err := harness.FindTools(root)
	if err != nil {
		return fail(err)
	}
	folder, err := os.MkdirTemp("", "cluster-")
	if err != nil {
		return fail(err)
	}
	cluster, err = harness.Start(tools, folder)
	if err != nil {
		fmt.Fprintf(os.Stderr, "logs are in %s\n", folder)
		return fail(err)
	}
	code := 1
	if err = cluster.InstallScanners(); err != nil {
		fail(err)
	} else {
		code = tests.Run()
	}
	cluster.Close()
	if code != 0 || os.Getenv("KEEP") != "" {
		fmt.Fprintf(os.Stderr, "logs are in %s\n", folder)
		return code
	}
	os.RemoveAll(folder)
	return code
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
