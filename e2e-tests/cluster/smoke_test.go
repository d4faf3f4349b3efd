package cluster_test

import "testing"

func TestScanners(t *testing.T) {
	if err := cluster.InstallScanners(); err != nil {
		t.Fatal(err)
	}
	image, err := cluster.Registry.Push("team/app", "1.0", "x", "linux/amd64", "linux/arm64")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(image)
}
