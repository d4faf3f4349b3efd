package cluster_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"cluster-tests/harness"
)

// world is what a large cluster has: images, of which some may not run, and reports of more images than are used.
type world struct{ good, wrong []harness.Image }

// inParallel does something for each number, eight at a time.
func inParallel(t *testing.T, count int, do func(number int) error) {
	t.Helper()
	numbers, failed := make(chan int), make(chan error, 1)
	var workers sync.WaitGroup
	for range 8 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for number := range numbers {
				if err := do(number); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		}()
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	workers.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
}

// makeWorld pushes images and reports. Of ten images, eight may run, one has a finding, and one was not scanned.
func makeWorld(t *testing.T, images, reports int) world {
	t.Helper()
	all := make([]harness.Image, images)
	inParallel(t, images, func(number int) (err error) {
		repository := fmt.Sprintf("scale/team-%d/app-%d", number%50, number)
		if all[number], err = cluster.Registry.Push(repository, "1.0", repository, amd64); err != nil || number%10 == 9 {
			return err
		}
		findings := harness.Findings{High: 20, Medium: 20}
		if number%10 == 8 {
			findings.Critical = 1
		}
		return cluster.Report(all[number], amd64, findings)
	})
	inParallel(t, reports-images, func(number int) error {
		name := fmt.Sprintf("scale/other/app-%d", number)
		digest := fmt.Sprintf("sha256:%064x", number)
		return cluster.Report(harness.Image{Name: cluster.Registry.Host + "/" + name + ":1.0", Repository: name, Tag: "1.0", Digest: digest, Platforms: map[string]string{amd64: digest}}, amd64, harness.Findings{High: 20, Medium: 20})
	})
	made := world{}
	for number, image := range all {
		if number%10 < 8 {
			made.good = append(made.good, image)
		} else {
			made.wrong = append(made.wrong, image)
		}
	}
	return made
}

// sizes of the run: CLUSTER_SCALE=full is what docs/benchmarks.md has.
func sizes() (images, reports, pods int) {
	if os.Getenv("CLUSTER_SCALE") == "full" {
		return 2000, 10000, 5000
	}
	return 100, 500, 400
}

// Fifty clients create Pods through the API server, behind which one or two policy servers stand.
func TestScale(t *testing.T) {
	images, reports, pods := sizes()
	t.Cleanup(func() { must(t, cluster.DeleteReports()) })
	started := time.Now()
	made := makeWorld(t, images, reports)
	t.Logf("%d images and %d reports were made in %v", images, reports, time.Since(started).Round(time.Second))
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d policy servers", replicas), func(t *testing.T) {
			// Each begins with policy servers that know nothing.
			deploy(t, harness.Deployment{Replicas: replicas, Workers: 2, Settings: map[string]any{"maxImages": 40 + replicas}})
			for _, clients := range []int{1, 50} {
				space := namespace(t)
				before, err := cluster.Snapshot()
				must(t, err)
				memory := cluster.Megabytes()
				running := startLoad(t, space, clients, 0, made.good, made.wrong)
				wanted := pods
				if clients == 1 {
					wanted = pods / 20
				}
				highest := map[string]int{}
				for len(running.soFar().attempts) < wanted {
					time.Sleep(200 * time.Millisecond)
					for name, size := range cluster.Megabytes() {
						highest[name] = max(highest[name], size)
					}
				}
				result := running.stop()
				after, err := cluster.Snapshot()
				must(t, err)
				took := after.Taken.Sub(before.Taken)
				latency := after.Since(before)
				asked, err := cluster.Asked("policy-server", before)
				must(t, err)
				watches, err := cluster.Watches(t.Context(), "vulnerabilityreports")
				must(t, err)
				total := 0
				for _, count := range asked {
					total += count
				}
				t.Logf("%d clients: %v", clients, result)
				t.Logf("  the API server waited for the policy: %v; %.0f Pods a second", latency, float64(len(result.attempts))/took.Seconds())
				t.Logf("  asked for each Pod: %.2f of the API server %v, %.2f of the registry; %d watches", float64(total)/float64(latency.Count()), asked, float64(after.Registry-before.Registry)/float64(latency.Count()), watches)
				t.Logf("  memory of the policy servers in MB: before %v, highest %v", memory, highest)
				if lost := result.of(true)[denied] + result.of(true)[unreached] + result.of(true)[apiAway]; lost > 0 {
					t.Errorf("%d Pods that may run were not admitted: %v", lost, result.messages(denied))
				}
				if watches > 4*replicas {
					t.Errorf("%d watches are open: their number must not grow with the images", watches)
				}
			}
		})
	}
}
