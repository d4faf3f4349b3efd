package harness

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed clock/clock.c
var clockSource string

// Clock sets the clock of policy servers that start from now on off the others', by seconds. Zero is no difference.
func (c *Cluster) Clock(seconds int) error {
	if seconds == 0 {
		c.node.setEnviron("policy-server", nil)
		return nil
	}
	source, library := filepath.Join(c.Folder, "clock.c"), filepath.Join(c.Folder, "clock.so")
	if err := os.WriteFile(source, []byte(clockSource), 0o644); err != nil {
		return err
	}
	if _, err := c.must("", c.Tools.Compiler, "-shared", "-fPIC", "-O2", "-o", library, source); err != nil {
		return err
	}
	c.node.setEnviron("policy-server", []string{"LD_PRELOAD=" + library, fmt.Sprintf("CLOCK_OFFSET=%d", seconds)})
	return nil
}
