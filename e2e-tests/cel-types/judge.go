// judge says of each expression whether the type checker of Kubernetes takes it, JSON to JSON.
package main

import (
	"encoding/json"
	"os"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

type typeCase struct {
	Expression string `json:"expression"`
	// What cel-go's checker says is wrong; nothing: it takes the expression.
	Refused string `json:"refused,omitempty"`
}

// What every expression of a policy sees here, and the functions that this project adds.
func declarations() []cel.EnvOption {
	texts := cel.ListType(cel.StringType)
	image := []*cel.Type{cel.DynType}
	function := func(name string, result *cel.Type, arguments ...*cel.Type) cel.EnvOption {
		return cel.Function(name, cel.Overload(name, arguments, result))
	}
	of := func(result *cel.Type, names ...string) []cel.EnvOption {
		var all []cel.EnvOption
		for _, name := range names {
			all = append(all, function(name, result, image...))
		}
		return all
	}
	all := []cel.EnvOption{
		cel.Variable("object", cel.DynType),
		cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.DynType),
		cel.Variable("namespaceObject", cel.DynType),
		cel.Variable("now", cel.TimestampType),
		cel.Variable("ref", cel.StringType),
		cel.Variable("exemptions", cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		cel.Variable("images", cel.MapType(cel.StringType, texts)),
		cel.Variable("attestors", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("attestations", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType)),
		function("verifyImageSignatures", cel.IntType, cel.StringType, texts),
		function("verifyAttestationSignatures", cel.IntType, cel.StringType, cel.StringType, texts),
		function("payload", cel.DynType, cel.StringType, cel.StringType),
		function("isImage", cel.BoolType, cel.StringType),
	}
	all = append(all, of(cel.DynType, "getImageData")...)
	all = append(all, of(cel.MapType(cel.StringType, cel.DynType), "scanReport", "parseImageReference")...)
	all = append(all, of(cel.ListType(cel.MapType(cel.StringType, cel.DynType)), "imageConfigs", "sbomPackages")...)
	return all
}

func main() {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	set, err := base.Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: declarations()})
	if err != nil {
		panic(err)
	}
	env := set.StoredExpressionsEnv()
	var cases []typeCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	for i := range cases {
		cases[i].Refused = ""
		if _, issues := env.Compile(cases[i].Expression); issues != nil && issues.Err() != nil {
			cases[i].Refused = issues.Errors()[0].Message
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	out.SetEscapeHTML(false)
	if err := out.Encode(cases); err != nil {
		panic(err)
	}
}
