package monitoring

import (
	"context"
	"maps"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

const (
	counted = "kubewarden_policy_evaluations_total"
	timed   = "kubewarden_policy_evaluation_latency_milliseconds"
	// every is how often metrics are read, and lasts how long they are.
	every = 30 * time.Second
	lasts = 26 * time.Hour
)

// A series is a counter that grows by so many each minute, from one on.
type series struct {
	labels    map[string]string
	perMinute float64
}

// An evaluations is what one policy is asked each minute, and how it answers.
type evaluations struct {
	policy, mode, origin string
	accepted, rejected   float64
	// code is why it rejects: 403, or 500 where it couldn't decide.
	code string
	// milliseconds is how long each takes.
	milliseconds float64
}

// series are what a policy server's metrics have of it.
func (e evaluations) series() []series {
	one := func(name string, perMinute float64, more map[string]string) series {
		own := map[string]string{
			"__name__": name, "policy_name": e.policy, "policy_mode": e.mode, "request_origin": e.origin,
			"resource_kind": "Pod", "resource_namespace": "shop", "resource_request_operation": "CREATE", "mutated": "true",
		}
		maps.Copy(own, more)
		return series{own, perMinute}
	}
	found := []series{
		one(counted, e.accepted, map[string]string{"accepted": "true"}),
		one(counted, e.rejected, map[string]string{"accepted": "false", "error_code": e.code}),
	}
	for _, limit := range []float64{100, 1000, 5000, 10000} {
		within := 0.0
		if e.milliseconds <= limit {
			within = e.accepted + e.rejected
		}
		found = append(found, one(timed+"_bucket", within, map[string]string{"accepted": "true", "le": strconv.FormatFloat(limit, 'f', -1, 64)}))
	}
	all := map[string]string{"accepted": "true"}
	return append(found, one(timed+"_bucket", e.accepted+e.rejected, map[string]string{"accepted": "true", "le": "+Inf"}),
		one(timed+"_count", e.accepted+e.rejected, all), one(timed+"_sum", (e.accepted+e.rejected)*e.milliseconds, all))
}

// A world is all metrics that Prometheus has.
type world []evaluations

func (w world) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		set := &list{}
		for _, evaluations := range w {
			for _, series := range evaluations.series() {
				if matches(series.labels, matchers) {
					set.series = append(set.series, storageSeries(series))
				}
			}
		}
		return set
	}}, nil
}

func matches(own map[string]string, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(own[matcher.Name]) {
			return false
		}
	}
	return true
}

func storageSeries(series series) storage.Series {
	var points []promql.FPoint
	for at := time.Duration(0); at <= lasts; at += every {
		points = append(points, promql.FPoint{T: at.Milliseconds(), F: 1 + series.perMinute*at.Minutes()})
	}
	return promql.NewStorageSeries(promql.Series{Metric: labels.FromMap(series.labels), Floats: points})
}

// A list is a SeriesSet of what is in memory.
type list struct {
	series []storage.Series
	next   int
}

func (l *list) Next() bool                        { l.next++; return l.next <= len(l.series) }
func (l *list) At() storage.Series                { return l.series[l.next-1] }
func (l *list) Err() error                        { return nil }
func (l *list) Warnings() annotations.Annotations { return nil }

var engine = promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})

// answers are the series that a query has within the last minutes of a world.
func (w world) answers(t *testing.T, query string, last time.Duration) promql.Matrix {
	t.Helper()
	end := time.UnixMilli(0).Add(lasts)
	asked, err := engine.NewRangeQuery(context.Background(), w, promql.NewPrometheusQueryOpts(false, 0), query, end.Add(-last), end, every)
	if err != nil {
		t.Fatalf("%v in\n%s", err, query)
	}
	answer := asked.Exec(context.Background())
	if answer.Err != nil {
		t.Fatalf("%v in\n%s", answer.Err, query)
	}
	matrix, err := answer.Matrix()
	if err != nil {
		t.Fatal(err)
	}
	return matrix
}

// fires is whether an alert's query has an answer without a gap for as long as the alert waits.
func (w world) fires(t *testing.T, query string, waits time.Duration) bool {
	t.Helper()
	for _, series := range w.answers(t, query, waits) {
		if len(series.Floats) == int(waits/every)+1 {
			return true
		}
	}
	return false
}

// counts is whether a query's answer at the end of a world is more than zero.
func (w world) counts(t *testing.T, query string) bool {
	t.Helper()
	for _, series := range w.answers(t, query, 0) {
		if series.Floats[0].F > 0 {
			return true
		}
	}
	return false
}

// has lists what the policy server of Kubewarden 1.36 sends: the labels, with the values that they have where these are few.
var has = map[string]*regexp.Regexp{
	"policy_name": nil, "resource_kind": nil, "resource_namespace": nil, "initialization_error": nil, "le": nil,
	"policy_mode":                regexp.MustCompile(`^(monitor|protect)$`),
	"resource_request_operation": regexp.MustCompile(`^(CREATE|UPDATE|DELETE|CONNECT)$`),
	"accepted":                   regexp.MustCompile(`^(true|false)$`),
	"mutated":                    regexp.MustCompile(`^(true|false)$`),
	"request_origin":             regexp.MustCompile(`^(validate|audit)$`),
	"error_code":                 regexp.MustCompile(`^(403|500)$`),
}
