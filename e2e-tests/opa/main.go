// The real Open Policy Agent as a judge: a case a line on standard input, its answer a line on standard output.
//
//	{"modules": ["package p …"], "v1": true, "query": "data.p.main = x", "input": {…}}
//	{"result": [{"x": …}]}   or   {"error": "…"}
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

type question struct {
	Modules []string `json:"modules"`
	V1      bool     `json:"v1"`
	Query   string   `json:"query"`
	Input   any      `json:"input"`
}

type answer struct {
	Result []rego.Vars `json:"result"`
	Error  string      `json:"error,omitempty"`
}

func judge(line []byte) (said answer, err error) {
	// Some arguments end OPA itself.
	defer func() {
		if problem := recover(); problem != nil {
			said, err = answer{Error: fmt.Sprint("panic: ", problem)}, nil
		}
	}()
	var asked question
	// Numbers as they are written.
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&asked); err != nil {
		return answer{}, err
	}
	version := ast.RegoV0
	if asked.V1 {
		version = ast.RegoV1
	}
	options := []func(*rego.Rego){rego.SetRegoVersion(version), rego.Query(asked.Query), rego.Input(asked.Input), rego.Time(time.Unix(1_700_000_000, 0))}
	for number, module := range asked.Modules {
		options = append(options, rego.Module(fmt.Sprintf("module-%d", number), module))
	}
	limited, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	found, err := rego.New(options...).Eval(limited)
	if err != nil {
		return answer{Error: err.Error()}, nil
	}
	said.Result = []rego.Vars{}
	for _, way := range found {
		said.Result = append(said.Result, way.Bindings)
	}
	return said, nil
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	output := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		said, err := judge(lines.Bytes())
		if err != nil {
			return err
		}
		if err := json.NewEncoder(output).Encode(said); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return output.Flush()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
