// judge writes what cel-go's own `format` says of each expression, JSON to JSON, as Kubernetes sets it up.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

type formatCase struct {
	Expression string `json:"expression"`
	// What cel-go writes, or why it writes nothing.
	Text  *string `json:"text,omitempty"`
	Error string  `json:"error,omitempty"`
	// Why there is another answer here, and which; `error` where there is none.
	Here string `json:"here,omitempty"`
	Why  string `json:"why,omitempty"`
}

func answer(env *cel.Env, expression string) (string, error) {
	parsed, issues := env.Parse(expression)
	if issues != nil && issues.Err() != nil {
		return "", issues.Err()
	}
	program, err := env.Program(parsed)
	if err != nil {
		return "", err
	}
	value, _, err := program.Eval(map[string]any{})
	if err != nil {
		return "", err
	}
	text, isText := value.Value().(string)
	if !isText {
		return "", fmt.Errorf("it gives a %s", value.Type().TypeName())
	}
	return text, nil
}

func main() {
	env, err := cel.NewEnv(ext.Strings(ext.StringsVersion(2)))
	if err != nil {
		panic(err)
	}
	var cases []formatCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	for i := range cases {
		text, err := answer(env, cases[i].Expression)
		cases[i].Text, cases[i].Error = &text, ""
		if err != nil {
			cases[i].Text, cases[i].Error = nil, err.Error()
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	out.SetEscapeHTML(false)
	if err := out.Encode(cases); err != nil {
		panic(err)
	}
}
