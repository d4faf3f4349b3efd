package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An Answer is what a command printed, as its user sees it.
type Answer struct {
	Out, Err string
	Code     int
}

// Text is all that the user sees.
func (a Answer) Text() string { return a.Out + a.Err }

// Kubectl runs kubectl as an administrator.
func (c *Cluster) Kubectl(arguments ...string) Answer { return c.KubectlWith("", arguments...) }

// KubectlWith runs kubectl with a text as standard input.
func (c *Cluster) KubectlWith(input string, arguments ...string) Answer {
	return c.run(input, c.Tools.Kubectl, append([]string{"--kubeconfig", c.kubeconfig("admin")}, arguments...)...)
}

// Typed runs what a page says, as it is written there, in the administrator's shell.
func (c *Cluster) Typed(command string) Answer {
	path := filepath.Dir(c.Tools.Kubectl) + ":" + filepath.Dir(c.Tools.CommandLine)
	return c.run("", "bash", "-o", "pipefail", "-c", "PATH="+path+":$PATH\n"+command)
}

func (c *Cluster) run(input, program string, arguments ...string) Answer {
	command := exec.CommandContext(c.ctx, program, arguments...)
	command.Stdin = strings.NewReader(input)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig("admin"), "HOME="+c.Folder)
	var out, failed bytes.Buffer
	command.Stdout, command.Stderr = &out, &failed
	err := command.Run()
	answer := Answer{Out: out.String(), Err: failed.String(), Code: command.ProcessState.ExitCode()}
	if err != nil && answer.Text() == "" {
		answer.Err = err.Error()
	}
	return answer
}

// must run, or the error has what was printed.
func (c *Cluster) must(input, program string, arguments ...string) (string, error) {
	answer := c.run(input, program, arguments...)
	if answer.Code != 0 {
		return "", fmt.Errorf("%s %s: %s", program, strings.Join(arguments, " "), answer.Text())
	}
	return answer.Out, nil
}

// apply applies manifests as an administrator.
func (c *Cluster) apply(manifests string, more ...string) error {
	_, err := c.must(manifests, c.Tools.Kubectl, append([]string{"--kubeconfig", c.kubeconfig("admin"), "apply", "--server-side", "--force-conflicts", "-f", "-"}, more...)...)
	return err
}
