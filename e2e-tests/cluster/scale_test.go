package cluster_test

import (
	"fmt"
	"os"
	"slices"
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

// A soak: for as long as CLUSTER_SOAK says, everything changes while users create Pods. Memory, watches and outcomes are told once
// in a while.
func TestSoak(t *testing.T) {
	text := os.Getenv("CLUSTER_SOAK")
	if text == "" {
		t.Skip("set CLUSTER_SOAK to a time, like 2h: `make cluster-soak`")
	}
	length, err := time.ParseDuration(text)
	must(t, err)
	soaked := harness.Deployment{Replicas: 2, Workers: 2}
	deploy(t, soaked)
	made := makeWorld(t, 400, 2000)
	t.Cleanup(func() { must(t, cluster.DeleteReports()) })
	space := namespace(t)
	running := startLoad(t, space, 8, 250*time.Millisecond, made.good, made.wrong)
	started, next := time.Now(), time.Now()
	for round := 1; time.Since(started) < length; round++ {
		before, err := cluster.Snapshot()
		must(t, err)
		change := soak(t, made, soaked, round)
		next = next.Add(min(time.Minute, length/10))
		time.Sleep(time.Until(next))
		after, err := cluster.Snapshot()
		must(t, err)
		watches, err := cluster.Watches(t.Context(), "vulnerabilityreports")
		must(t, err)
		t.Logf("%v: %s; %v; %d watches; memory in MB %v", time.Since(started).Round(time.Second), change, after.Since(before), watches, sorted(cluster.Megabytes()))
		if watches > 8 {
			t.Errorf("%d watches are open", watches)
		}
	}
	waitAdmitted(t, running, time.Minute)
	result := running.stop()
	t.Log(result)
}

// soak makes one change of the cluster, and says which.
func soak(t *testing.T, made world, deployment harness.Deployment, round int) string {
	switch round % 8 {
	case 1:
		inParallel(t, 200, func(number int) error { return cluster.Report(made.good[number], amd64, clean) })
		return "200 reports were made anew"
	case 2:
		cluster.APILink.Cut()
		return "the watches were cut"
	case 3:
		for _, process := range cluster.PolicyServers() {
			process.Kill()
			break
		}
		return "a policy server was killed"
	case 4:
		inParallel(t, 100, func(number int) error {
			repository := fmt.Sprintf("soak/app-%d-%d", round, number)
			image, err := cluster.Registry.Push(repository, "1.0", repository, amd64)
			if err != nil {
				return err
			}
			return cluster.Report(image, amd64, clean)
		})
		return "100 new images were scanned"
	case 5:
		changed := deployment
		changed.Settings = map[string]any{"maxImages": 40 + round%10}
		deploy(t, changed)
		return "the settings changed"
	case 6:
		must(t, cluster.TakeRights("sbomscanner"))
		time.Sleep(5 * time.Second)
		must(t, cluster.GiveRights("sbomscanner"))
		return "rights were away for 5 s"
	case 7:
		must(t, cluster.RestartAPI(time.Second))
		return "the API server restarted"
	default:
		cluster.Registry.Fail(harness.Status(500))
		time.Sleep(5 * time.Second)
		cluster.Registry.Fail(nil)
		return "the registry answered 500 for 5 s"
	}
}

func sorted(sizes map[string]int) []int {
	var all []int
	for _, size := range sizes {
		all = append(all, size)
	}
	slices.Sort(all)
	return all
}
