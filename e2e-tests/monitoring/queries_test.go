// Package monitoring asks Prometheus' own engine what deploy/monitoring and the pages ask, of metrics as every Kubewarden names them.
package monitoring

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v2"
)

// identities are what a ClusterAdmissionPolicy's name stands behind: before Kubewarden 1.37.2, and since.
var identities = []string{"clusterwide-", "kw.cap."}

// An alert is a rule of deploy/monitoring/alerts.yaml.
type alert struct {
	Alert string
	Expr  string
	For   time.Duration
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var rule struct {
		Spec struct{ Groups []struct{ Rules []alert } }
	}
	if err := yaml.Unmarshal(read(t, "deploy/monitoring/alerts.yaml"), &rule); err != nil {
		t.Fatal(err)
	}
	var found []alert
	for _, group := range rule.Spec.Groups {
		found = append(found, group.Rules...)
	}
	return found
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// well is a policy that lets in nine of ten Pods, and takes 50 ms for each.
func well(policy string) evaluations {
	return evaluations{policy, "protect", "validate", 9, 1, "403", 50}
}

func TestEachAlertFiresAndIsSilent(t *testing.T) {
	// What is wrong with a policy when an alert fires.
	wrong := map[string]func(policy string) world{
		"ImageAdmissionCannotDecide": func(policy string) world {
			return world{{policy, "protect", "validate", 9, 1, "500", 50}}
		},
		"ImageAdmissionHasNoMetrics": func(policy string) world {
			return world{well(policy + "-next")}
		},
		"ImageAdmissionRejectsMuch": func(policy string) world {
			return world{{policy, "protect", "validate", 4, 6, "403", 50}}
		},
		"ImageAdmissionIsSlow": func(policy string) world {
			return world{{policy, "protect", "validate", 9, 1, "403", 6000}}
		},
	}
	for _, alert := range alerts(t) {
		if wrong[alert.Alert] == nil {
			t.Errorf("no metrics are known that make %s fire", alert.Alert)
			continue
		}
		for _, identity := range identities {
			fires := func(what string, metrics world, wanted bool) {
				t.Helper()
				if metrics.fires(t, alert.Expr, alert.For) != wanted {
					t.Errorf("%s fires: %t, wanted %t, of %s of %s", alert.Alert, !wanted, wanted, what, identity)
				}
			}
			own, twin := identity+"image-admission", identity+"image-admission-validating"
			fires("a policy that is well", world{well(own), well(twin)}, false)
			fires("what is wrong", wrong[alert.Alert](own), true)
			if alert.Alert != "ImageAdmissionHasNoMetrics" {
				fires("what is wrong with the twin", append(wrong[alert.Alert](twin), well(own)), true)
				fires("what is wrong with others", append(append(wrong[alert.Alert](identity+"other"), wrong[alert.Alert]("kw.ap.shop.image-admission")...), well(own)), false)
			}
		}
	}
}

// Both names are there while a cluster is upgraded.
func TestNoAlertFiresDuringAnUpgrade(t *testing.T) {
	for _, alert := range alerts(t) {
		if (world{well("clusterwide-image-admission"), well("kw.cap.image-admission")}).fires(t, alert.Expr, alert.For) {
			t.Errorf("%s fires", alert.Alert)
		}
	}
}

// A query is one that people see, by where it stands.
func queries(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	var dashboard struct {
		Templating struct {
			List []struct{ Name, AllValue string }
		}
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "deploy/monitoring/grafana-dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := []string{"$__rate_interval", "5m", "$__range", "1d"}
	for _, variable := range dashboard.Templating.List {
		variables = append(variables, "$"+variable.Name, variable.AllValue)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found["the panel "+panel.Title+" "+target.RefID] = strings.NewReplacer(variables...).Replace(target.Expr)
		}
	}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && path != "." && path != "docs" && path != "deploy" && !strings.HasPrefix(path, "docs/") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		for index, part := range strings.Split(string(read(t, path)), "```promql\n")[1:] {
			fence, _, _ := strings.Cut(part, "```")
			for line, query := range strings.Split(strings.TrimSpace(fence), "\n") {
				found[fmt.Sprintf("%s, query %d.%d", path, index+1, line+1)] = query
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEachQueryHasAnAnswer(t *testing.T) {
	asked := queries(t)
	if len(asked) < 15 {
		t.Fatalf("these are not all queries: %v", asked)
	}
	for where, query := range asked {
		for _, identity := range identities {
			own := identity + "image-admission"
			all := world{{own, "protect", "validate", 9, 1, "500", 50}, {own, "monitor", "validate", 9, 1, "403", 50}, {own, "protect", "audit", 9, 1, "403", 50}}
			if !all.counts(t, query) {
				t.Errorf("%s counts nothing of %s:\n%s", where, own, query)
			}
			others := world{}
			for _, evaluations := range all {
				evaluations.policy = identity + "other"
				others = append(others, evaluations)
			}
			if others.counts(t, query) {
				t.Errorf("%s asks about %s:\n%s", where, others[0].policy, query)
			}
		}
	}
}

// problem is what a query asks for that the policy server doesn't have.
func problem(query string) error {
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return err
	}
	asks := false
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			asks = true
			for _, matcher := range node.LabelMatchers {
				if problem := wrong(matcher); problem != nil {
					err = problem
				}
			}
		case *parser.AggregateExpr:
			for _, name := range node.Grouping {
				if _, known := has[name]; !known {
					err = fmt.Errorf("the policy server has no label `%s`", name)
				}
			}
		}
		return nil
	})
	if !asks {
		return fmt.Errorf("it asks for no metric")
	}
	return err
}

func wrong(matcher *labels.Matcher) error {
	if matcher.Name == labels.MetricName {
		for _, known := range []string{counted, timed + "_bucket", timed + "_count", timed + "_sum"} {
			if matcher.Value == known {
				return nil
			}
		}
		return fmt.Errorf("the policy server has no metric `%s`", matcher.Value)
	}
	values, known := has[matcher.Name]
	if !known {
		return fmt.Errorf("the policy server has no label `%s`", matcher.Name)
	}
	if values != nil && matcher.Type == labels.MatchEqual && !values.MatchString(matcher.Value) {
		return fmt.Errorf("the label `%s` is never `%s`", matcher.Name, matcher.Value)
	}
	return nil
}

func TestQueriesAskForWhatThereIs(t *testing.T) {
	asked := queries(t)
	for _, alert := range alerts(t) {
		asked[alert.Alert] = alert.Expr
	}
	for where, query := range asked {
		if err := problem(query); err != nil {
			t.Errorf("%s: %v in\n%s", where, err, query)
		}
	}
	// The check can fail.
	for query, wanted := range map[string]string{
		"sum(kubewarden_policy_evaluations_total)":                         "",
		"sum by (reason) (kubewarden_policy_evaluations_total)":            "the policy server has no label `reason`",
		"kubewarden_policy_total":                                          "the policy server has no metric `kubewarden_policy_total`",
		`kubewarden_policy_evaluations_total{result="no"}`:                 "the policy server has no label `result`",
		`kubewarden_policy_evaluations_total{accepted="no"}`:               "the label `accepted` is never `no`",
		`absent(kubewarden_policy_evaluations_total{request_origin="no"})`: "the label `request_origin` is never `no`",
		"vector(0)": "it asks for no metric",
		"sum(kubewarden_policy_evaluations_total": `1:40: parse error: unclosed left parenthesis`,
	} {
		said := ""
		if err := problem(query); err != nil {
			said = err.Error()
		}
		if said != wanted {
			t.Errorf("%s: %q, wanted %q", query, said, wanted)
		}
	}
}
