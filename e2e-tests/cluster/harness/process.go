package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Process is a program that runs, with its output in a file.
type Process struct {
	name    string
	path    string
	args    []string
	environ []string
	log     string
	// contained is the first process of a namespace of its own, as in a container. Such a program ignores what it has no
	// handler for: policy-server has none for SIGTERM, and ends when it is killed.
	contained bool

	mutex   sync.Mutex
	command *exec.Cmd
	ended   chan struct{}
	status  error
}

// start runs a program. Its output is added to `<folder>/<name>.log`.
func start(folder, name, path string, args []string, environ ...string) (*Process, error) {
	process := &Process{name: name, path: path, args: args, environ: environ, log: filepath.Join(folder, name+".log")}
	return process, process.Start()
}

// Start runs the program, again after it was stopped.
func (p *Process) Start() error {
	output, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	command := exec.Command(p.path, p.args...)
	// A folder of roots would be read beside the file that an image names: by policy-server at each call to a registry.
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "SSL_CERT_DIR=") })
	command.Env = append(command.Env, p.environ...)
	command.Stdout, command.Stderr = output, output
	// Whoever kills the tests ends what they started.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.contained {
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
		if os.Getuid() != 0 {
			command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		}
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("%s doesn't start: %w", p.name, err)
	}
	ended := make(chan struct{})
	p.mutex.Lock()
	p.command, p.ended = command, ended
	p.mutex.Unlock()
	go func() {
		p.status = command.Wait()
		close(ended)
	}()
	return nil
}

// Stop asks the program to end, and ends it after a grace period.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.Ended():
	case <-time.After(grace):
		p.Kill()
	}
}

// Kill ends the program at once.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.Ended()
}

// Pause stops the program's time, as a machine does that swaps; Resume lets it go on.
func (p *Process) Pause()  { p.signal(syscall.SIGSTOP) }
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(signal syscall.Signal) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.command != nil && p.command.Process != nil {
		_ = p.command.Process.Signal(signal)
	}
}

// Ended is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.ended
}

func (p *Process) running() bool {
	select {
	case <-p.Ended():
		return false
	default:
		return true
	}
}

// Log is all that the program has written.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	return string(text)
}

// ResidentBytes is the memory of the program that is in RAM.
func (p *Process) ResidentBytes() (int64, error) {
	p.mutex.Lock()
	id := p.command.Process.Pid
	p.mutex.Unlock()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", id))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, errors.New("`/proc/<id>/statm` has no second field")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// CPUTime is what the program has used of the processors so far.
func (p *Process) CPUTime() (time.Duration, error) {
	p.mutex.Lock()
	id := p.command.Process.Pid
	p.mutex.Unlock()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may have anything in it. Behind it are the state, ten other fields, and the time in and out of the program.
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	if len(fields) < 13 {
		return 0, errors.New("`/proc/<id>/stat` has no time")
	}
	in, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	out, err := strconv.ParseInt(fields[12], 10, 64)
	// Linux counts in hundredths of a second, whatever the processor.
	return time.Duration(in+out) * 10 * time.Millisecond, err
}

// lastLines of a log, for messages.
func lastLines(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
