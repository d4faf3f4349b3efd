// Says what nodes would run for a reference, by the code of the runtimes themselves.
//
// Reads questions, one JSON object a line, and answers each on a line of its own, in their order:
//
//	{"ref": "127.0.0.1:5000/team/app:1.0", "platform": "linux/amd64"}
//	{"ref": …, "platform": …, "containerd": {"digest": "sha256:…"}, "containersImage": {"error": "…"}, "goContainerregistry": {"digest": "sha256:…"}}
//
// The digest is that of the image manifest whose layers would run. Registries are asked by plain HTTP: this is for tests.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

const questionsAtOnce = 4

type question struct {
	Ref      string `json:"ref"`
	Platform string `json:"platform"`
}

// verdict is what one runtime does: it runs the manifest of this digest, or nothing.
type verdict struct {
	Digest string `json:"digest,omitempty"`
	Error  string `json:"error,omitempty"`
}

type answer struct {
	question
	Containerd          verdict `json:"containerd"`
	ContainersImage     verdict `json:"containersImage"`
	GoContainerregistry verdict `json:"goContainerregistry"`
}

// runtime is the way of one implementation from a reference to the digest that it runs.
type runtime func(ctx context.Context, ref, platform string) (string, error)

func judge(ctx context.Context, run runtime, q question) verdict {
	digest, err := run(ctx, q.Ref, q.Platform)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	return verdict{Digest: digest}
}

func run(in io.Reader, out io.Writer) error {
	ctx := context.Background()
	content, err := os.MkdirTemp("", "runtimes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(content)
	containerd, err := newContainerd(content)
	if err != nil {
		return err
	}
	containersImage, err := newContainersImage(content)
	if err != nil {
		return err
	}

	var answers []chan answer
	free := make(chan struct{}, questionsAtOnce)
	var group sync.WaitGroup
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("question %d: %w", len(answers)+1, err)
		}
		slot := make(chan answer, 1)
		answers = append(answers, slot)
		group.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			slot <- answer{q, judge(ctx, containerd, q), judge(ctx, containersImage, q), judge(ctx, goContainerregistry, q)}
		})
	}
	if err := lines.Err(); err != nil {
		return err
	}
	written := json.NewEncoder(out)
	for _, slot := range answers {
		if err := written.Encode(<-slot); err != nil {
			return err
		}
	}
	group.Wait()
	return nil
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
