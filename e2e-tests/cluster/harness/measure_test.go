package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const histogram = `# TYPE apiserver_admission_webhook_admission_duration_seconds histogram
apiserver_admission_webhook_admission_duration_seconds_bucket{name="kw.cap.image-admission.kubewarden.admission",operation="CREATE",rejected="false",type="admit",le="0.005"} 50
apiserver_admission_webhook_admission_duration_seconds_bucket{name="kw.cap.image-admission.kubewarden.admission",operation="CREATE",rejected="false",type="admit",le="0.025"} 90
apiserver_admission_webhook_admission_duration_seconds_bucket{name="kw.cap.image-admission.kubewarden.admission",operation="CREATE",rejected="false",type="admit",le="+Inf"} 90
apiserver_admission_webhook_admission_duration_seconds_bucket{name="kw.cap.image-admission.kubewarden.admission",operation="CREATE",rejected="true",type="admit",le="0.005"} 0
apiserver_admission_webhook_admission_duration_seconds_bucket{name="kw.cap.image-admission.kubewarden.admission",operation="CREATE",rejected="true",type="admit",le="0.025"} 10
apiserver_admission_webhook_admission_duration_seconds_bucket{name="kw.cap.image-admission.kubewarden.admission",operation="CREATE",rejected="true",type="admit",le="+Inf"} 10
apiserver_admission_webhook_admission_duration_seconds_bucket{name="another.webhook",operation="CREATE",rejected="true",type="admit",le="0.005"} 1000
`

func TestQuantilesOfTheAPIServersHistogram(t *testing.T) {
	for _, policy := range []string{"kw.cap.image-admission", "clusterwide-image-admission"} {
		quantiles(t, Snapshot{buckets: durations(strings.ReplaceAll(histogram, "kw.cap.image-admission", policy), policy)})
	}
}

func TestWebhooksAreToldApart(t *testing.T) {
	more := histogram
	for _, line := range []string{
		`name="another.webhook",operation="CREATE",rejected="false",type="validating",le="0.005"} 7`,
		`name="another.webhook",operation="UPDATE",rejected="false",type="validating",le="0.005"} 20`,
	} {
		more += "apiserver_admission_webhook_admission_duration_seconds_bucket{" + line + "\n"
	}
	asked := Snapshot{webhooks: creations(more)}.Webhooks(Snapshot{webhooks: creations(histogram)})
	if len(asked) != 1 || asked[Webhook{Name: "another.webhook"}].Count() != 7 {
		t.Errorf("after seven Pods that another webhook judged, these were asked: %v", asked)
	}
	if all := (Snapshot{webhooks: creations(more)}).Webhooks(Snapshot{}); len(all) != 3 || all[Webhook{"another.webhook", true}].Count() != 1000 {
		t.Errorf("of three webhooks there are %v", all)
	}
}

func quantiles(t *testing.T, all Snapshot) {
	t.Helper()
	latency := all.Since(Snapshot{})
	if latency.Count() != 100 {
		t.Fatalf("%d requests, not the 100 of this webhook", latency.Count())
	}
	for share, wanted := range map[float64]time.Duration{0.5: 5 * time.Millisecond, 0.75: 15 * time.Millisecond, 1: 25 * time.Millisecond} {
		if got := latency.Quantile(share); got != wanted {
			t.Errorf("the quantile %v is %v, not %v", share, got, wanted)
		}
	}
	if nothing := all.Since(all); nothing.Count() != 0 || nothing.Quantile(0.5) != 0 {
		t.Errorf("between a snapshot and itself there are %v", nothing)
	}
	restarted := Snapshot{buckets: map[float64]float64{0.005: 3, 0.025: 4}}
	if latency := restarted.Since(all); latency.Count() != 4 {
		t.Errorf("an API server that restarted and answered 4 requests answered %v", latency)
	}
}

// Whoever reads a mounted volume sees all files of one state: the folder behind the link changes at once.
func TestMountedFilesChangeTogether(t *testing.T) {
	folder := t.TempDir()
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	for _, state := range []string{"one", "two", "two", "three"} {
		if err := project(folder, map[string][]byte{"a": []byte(state + " a"), "b": []byte(state + " b")}); err != nil {
			t.Fatal(err)
		}
		if read("a") != state+" a" || read("b") != state+" b" {
			t.Errorf("after %s: %q and %q", state, read("a"), read("b"))
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 4 {
		t.Errorf("old states are left: %v", entries)
	}
}
