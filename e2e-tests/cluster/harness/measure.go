package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A Snapshot is what has been counted so far. Two of them are compared.
type Snapshot struct {
	// buckets of the time that the API server waited for the policy: how many took at most so many seconds.
	buckets map[float64]float64
	// webhooks have the same of each webhook, of what is created alone.
	webhooks map[Webhook]map[float64]float64
	// auditLines is how far the audit log was.
	auditLines int
	// Registry is how many requests were made to it.
	Registry int
	Taken    time.Time
}

// Snapshot counts now.
func (c *Cluster) Snapshot() (Snapshot, error) {
	metrics, err := c.API.Get(c.ctx, "/metrics")
	if err != nil {
		return Snapshot{}, err
	}
	lines := 0
	err = c.eachAuditLine(func([]byte) { lines++ })
	return Snapshot{buckets: durations(metrics, c.Identity("image-admission")), webhooks: creations(metrics), auditLines: lines, Registry: c.Registry.Requests(), Taken: time.Now()}, err
}

// A Webhook is one that the API server waits for: those that change objects, and those that only judge them, have names of their own.
type Webhook struct {
	Name string
	// Mutates is whether it may change what it is asked about.
	Mutates bool
}

// durations adds up the histogram `apiserver_admission_webhook_admission_duration_seconds` of a policy's webhook.
func durations(metrics, policy string) map[float64]float64 {
	buckets := map[float64]float64{}
	eachBucket(metrics, func(webhook Webhook, _ string, seconds, count float64) {
		if webhook.Name == policy+".kubewarden.admission" {
			buckets[seconds] += count
		}
	})
	return buckets
}

// creations has that histogram of each webhook, of what is created.
func creations(metrics string) map[Webhook]map[float64]float64 {
	webhooks := map[Webhook]map[float64]float64{}
	eachBucket(metrics, func(webhook Webhook, operation string, seconds, count float64) {
		if operation != "CREATE" {
			return
		}
		if webhooks[webhook] == nil {
			webhooks[webhook] = map[float64]float64{}
		}
		webhooks[webhook][seconds] += count
	})
	return webhooks
}

func eachBucket(metrics string, do func(webhook Webhook, operation string, seconds, count float64)) {
	for _, line := range strings.Split(metrics, "\n") {
		rest, ok := strings.CutPrefix(line, "apiserver_admission_webhook_admission_duration_seconds_bucket{")
		if !ok {
			continue
		}
		label := func(name string) string {
			_, after, _ := strings.Cut(","+rest, ","+name+`="`)
			value, _, _ := strings.Cut(after, `"`)
			return value
		}
		seconds, err := strconv.ParseFloat(label("le"), 64)
		if err != nil {
			continue
		}
		count, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
		if err == nil {
			do(Webhook{label("name"), label("type") == "admit"}, label("operation"), seconds, count)
		}
	}
}

// Since is what was counted between another snapshot and this one. An API server that restarted in between counts from zero.
func (s Snapshot) Since(before Snapshot) Latency { return since(s.buckets, before.buckets) }

// Webhooks is how long the API server waited for each webhook that it asked about what was created since another snapshot.
func (s Snapshot) Webhooks(before Snapshot) map[Webhook]Latency {
	asked := map[Webhook]Latency{}
	for webhook, buckets := range s.webhooks {
		if latency := since(buckets, before.webhooks[webhook]); latency.Count() > 0 {
			asked[webhook] = latency
		}
	}
	return asked
}

func since(buckets, before map[float64]float64) Latency {
	for limit, count := range before {
		if buckets[limit] < count {
			before = nil
			break
		}
	}
	latency := Latency{}
	for limit, count := range buckets {
		latency.limits = append(latency.limits, limit)
		latency.counts = append(latency.counts, count-before[limit])
	}
	sort.Sort(latency)
	return latency
}

// Latency is a histogram: how many requests took at most so many seconds.
type Latency struct{ limits, counts []float64 }

func (l Latency) Len() int           { return len(l.limits) }
func (l Latency) Less(a, b int) bool { return l.limits[a] < l.limits[b] }
func (l Latency) Swap(a, b int) {
	l.limits[a], l.limits[b] = l.limits[b], l.limits[a]
	l.counts[a], l.counts[b] = l.counts[b], l.counts[a]
}

// Count is how many requests there were.
func (l Latency) Count() int {
	if len(l.counts) == 0 {
		return 0
	}
	return int(l.counts[len(l.counts)-1])
}

// Quantile is the time that a share of the requests took at most, read off between two buckets as Prometheus does it.
func (l Latency) Quantile(share float64) time.Duration {
	rank := share * float64(l.Count())
	below, from := 0.0, 0.0
	for index, count := range l.counts {
		if count >= rank && count > below {
			seconds := from + (l.limits[index]-from)*(rank-below)/(count-below)
			return time.Duration(seconds * float64(time.Second))
		}
		below, from = count, l.limits[index]
	}
	return 0
}

func (l Latency) String() string {
	round := func(share float64) time.Duration { return l.Quantile(share).Round(100 * time.Microsecond) }
	return fmt.Sprintf("%d requests, p50 %v, p95 %v, p99 %v", l.Count(), round(0.5), round(0.95), round(0.99))
}

func (c *Cluster) eachAuditLine(do func(line []byte)) error {
	file, err := os.Open(filepath.Join(c.Folder, "kube-apiserver-audit.log"))
	if err != nil {
		return err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		do(scanner.Bytes())
	}
	return scanner.Err()
}

// Asked is what an account of Kubewarden's namespace asked of the API server since a snapshot, by verb and resource. A watch counts when
// it ends.
func (c *Cluster) Asked(account string, since Snapshot) (map[string]int, error) {
	asked, number := map[string]int{}, 0
	err := c.eachAuditLine(func(line []byte) {
		number++
		if number <= since.auditLines {
			return
		}
		var event struct {
			Verb      string
			Stage     string
			User      struct{ Username string }
			ObjectRef struct{ Resource string }
		}
		if json.Unmarshal(line, &event) == nil && event.User.Username == "system:serviceaccount:"+Namespace+":"+account && event.Stage == "ResponseComplete" {
			asked[event.Verb+" "+event.ObjectRef.Resource]++
		}
	})
	return asked, err
}

// Watches is how many watches of a kind are open at the API server.
func (c *Cluster) Watches(ctx context.Context, resource string) (int, error) {
	metrics, err := c.API.Get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, line := range strings.Split(metrics, "\n") {
		if strings.HasPrefix(line, "apiserver_longrunning_requests{") && strings.Contains(line, `resource="`+resource+`"`) && strings.Contains(line, `verb="WATCH"`) {
			if count, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64); err == nil {
				total += count
			}
		}
	}
	return int(total), nil
}

// Megabytes of memory that each policy server has, by Pod.
func (c *Cluster) Megabytes() map[string]int {
	found := map[string]int{}
	for name, process := range c.PolicyServers() {
		if size, err := process.ResidentBytes(); err == nil {
			found[name] = int(size / 1e6)
		}
	}
	return found
}
