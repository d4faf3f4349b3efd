package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cluster-tests/harness"
)

// A playedScanner is one that the companion asks.
type playedScanner interface {
	Scans() harness.Scans
	Now(harness.Scanning)
	Close()
}

// scanners are those that are played, by the component of their reports.
var scanners = map[string]func(harness.Scanning) (playedScanner, error){
	"trivy-operator": func(scanning harness.Scanning) (playedScanner, error) { return cluster.PlayTrivyOperator(scanning) },
	"sbomscanner":    func(scanning harness.Scanning) (playedScanner, error) { return cluster.PlaySBOMScanner(scanning) },
	"attestation":    func(scanning harness.Scanning) (playedScanner, error) { return cluster.PlayScanJobs(scanning) },
}

// within is how long a Pod may wait beside its scan.
const within = 10 * time.Second

// companion deploys the companion beside the policy, and plays its scanner. After the test, neither is there.
func companion(t *testing.T, source string, scanning harness.Scanning, wanted harness.Companion) playedScanner {
	t.Helper()
	if source == "attestation" {
		// A policy that doesn't leave out the namespace of Jobs would judge their template.
		must(t, cluster.Undeploy())
		deployed = nil
	}
	scanner, err := scanners[source](scanning)
	must(t, err)
	t.Cleanup(scanner.Close)
	deployCompanion(t, harness.Deployment{Source: source, Companion: &wanted, Workers: 2})
	return scanner
}

// deployCompanion deploys the companion beside the policy. After the test, it isn't there.
func deployCompanion(t *testing.T, wanted harness.Deployment) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the companion's last words:\n%s", cluster.CompanionLogs(30))
		}
		must(t, cluster.RemoveCompanion())
		deployed = nil
	})
	// It would have the images of other tests scanned, too.
	eventually(t, 3*time.Minute, func() error {
		spaces, err := cluster.Client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		must(t, err)
		for _, space := range spaces.Items {
			if space.DeletionTimestamp != nil {
				return fmt.Errorf("%s is left of another test", space.Name)
			}
		}
		return nil
	})
	deploy(t, wanted)
}

// scansOf are those of an image: of a tag with SBOMscanner, otherwise of a platform's digest.
func scansOf(source string, scans harness.Scans, image harness.Image) harness.Scans {
	if source != "sbomscanner" {
		return scans.Of(cluster.Registry.Host + "/" + image.Repository + "@" + image.Platforms[amd64])
	}
	return scans.Of(fmt.Sprintf("%s/%s tag == %q", cluster.Registry.Host, image.Repository, image.Tag))
}

// podsOf are the Pods that a controller made of what a test has applied under a name.
func podsOf(t *testing.T, space, name string) int {
	t.Helper()
	pods, err := cluster.Client.CoreV1().Pods(space).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	must(t, err)
	return len(pods.Items)
}

// waitPods waits until the controllers have made Pods, and says how long that was since a moment.
func waitPods(t *testing.T, space, name string, count int, since time.Time, atMost time.Duration) time.Duration {
	t.Helper()
	eventually(t, atMost-time.Since(since), func() error {
		if found := podsOf(t, space, name); found < count {
			return fmt.Errorf("%s has %d Pods, not %d; the companion says:\n%s", name, found, count, cluster.CompanionLogs(8))
		}
		return nil
	})
	return time.Since(since)
}

// Nobody has ever scanned the image of a Deployment, and nobody does anything: its Pods start.
func TestTheCompanionHasADeploymentScanned(t *testing.T) {
	for source := range scanners {
		t.Run(source, func(t *testing.T) {
			scanner := companion(t, source, harness.Scanning{}, harness.Companion{})
			for _, takes := range []time.Duration{5 * time.Second, time.Minute} {
				scanner.Now(harness.Scanning{Takes: takes})
				space := namespace(t)
				image := pushed(t, fmt.Sprintf("companion/%s-%v", source, takes))
				succeeds(t, apply(deployment("web", 3, image.Name), space))
				applied := time.Now()
				took := waitPods(t, space, "web", 3, applied, takes+3*within)
				scan := scansOf(source, scanner.Scans(), image)
				if len(scan) != 1 {
					t.Fatalf("%d scans were asked for, not one: %v", len(scan), scanner.Scans())
				}
				t.Logf("a scan of %v: asked for after %v, its Pods are there after %v, which is %v after the scan", takes,
					scan[0].Asked.Sub(applied).Round(10*time.Millisecond), took.Round(10*time.Millisecond), (took - scan[0].Ended.Sub(applied)).Round(10*time.Millisecond))
				if took > takes+within {
					t.Errorf("the Pods came %v after the Deployment, more than %v after a scan of %v", took, within, takes)
				}
				for _, found := range imagesOf(t, space) {
					if found != image.Pinned() {
						t.Errorf("a Pod runs %s, not %s", found, image.Pinned())
					}
				}
				eventually(t, within, func() error {
					events := cluster.Kubectl("get", "events.events.k8s.io", "--namespace", space, "--output", `jsonpath={range .items[?(@.reportingController=="image-admission-companion")]}{.reason} of {.regarding.kind}{"\n"}{end}`)
					return errors.Join(wanted(events.Text(), "ScanRequested of Deployment"), wanted(events.Text(), "ImageScanned of Deployment"))
				})
			}
		})
	}
}

// The same for each kind whose controller makes Pods.
func TestTheCompanionHasEachKindScanned(t *testing.T) {
	for source := range scanners {
		t.Run(source, func(t *testing.T) {
			const takes = 20 * time.Second
			companion(t, source, harness.Scanning{Takes: takes}, harness.Companion{})
			space := namespace(t)
			end, err := cluster.SayReady(space)
			must(t, err)
			t.Cleanup(end)
			kinds := slices.Sorted(maps.Keys(waiting))
			for _, kind := range kinds {
				image := pushed(t, "companion/"+source+"-"+kind)
				succeeds(t, apply(fmt.Sprintf(waiting[kind].manifest, kind, waiting[kind].template(kind, image.Name)), space))
			}
			applied := time.Now()
			for _, kind := range kinds {
				took := waitPods(t, space, kind, 1, applied, takes+3*within)
				t.Logf("%s: a Pod after %v", kind, took.Round(10*time.Millisecond))
				if took > takes+within {
					t.Errorf("%s: its Pod came after %v, more than %v after a scan of %v", kind, took, within, takes)
				}
			}
		})
	}
}

// An image with a finding is scanned, and its Pods don't start.
func TestTheCompanionAdmitsNothing(t *testing.T) {
	scanner := companion(t, "trivy-operator", harness.Scanning{Takes: time.Second, Findings: broken}, harness.Companion{})
	space := namespace(t)
	image := pushed(t, "companion/broken")
	succeeds(t, apply(deployment("web", 1, image.Name), space))
	eventually(t, 30*time.Second, func() error {
		if scans := scansOf("trivy-operator", scanner.Scans(), image); len(scans) == 0 || scans[0].Ended.IsZero() {
			return fmt.Errorf("it isn't scanned yet: %v", scans)
		}
		return nil
	})
	time.Sleep(within)
	if found := podsOf(t, space, "web"); found != 0 {
		t.Errorf("%d Pods with a critical finding were made", found)
	}
	if scans := scansOf("trivy-operator", scanner.Scans(), image); len(scans) != 1 {
		t.Errorf("it was scanned %d times", len(scans))
	}
}

// A scan that fails is told at the workload, and asked for again later.
func TestTheCompanionTriesAgain(t *testing.T) {
	for _, source := range []string{"sbomscanner", "attestation"} {
		t.Run(source, func(t *testing.T) {
			scanner := companion(t, source, harness.Scanning{Takes: time.Second, Fails: true}, harness.Companion{Settings: map[string]any{"scans": map[string]any{"retry": map[string]any{"first": "10s"}}}})
			space := namespace(t)
			image := pushed(t, "companion/fails-"+source)
			succeeds(t, apply(deployment("web", 1, image.Name), space))
			eventually(t, 30*time.Second, func() error {
				return wanted(cluster.Kubectl("get", "events", "--namespace", space).Text(), "ScanFailed")
			})
			scanner.Now(harness.Scanning{Takes: time.Second})
			waitPods(t, space, "web", 1, time.Now(), time.Minute)
			if scans := scansOf(source, scanner.Scans(), image); len(scans) < 2 {
				t.Errorf("it was asked for %d times", len(scans))
			}
		})
	}
}

// A Job that failed stays for its log, and Jobs go with their Pods when the report is there.
func TestTheCompanionTakesItsJobsAway(t *testing.T) {
	scanner := companion(t, "attestation", harness.Scanning{Takes: time.Second, Fails: true}, harness.Companion{Settings: map[string]any{"scans": map[string]any{"retry": map[string]any{"first": "20s"}}}})
	space := namespace(t)
	image := pushed(t, "companion/jobs-go")
	succeeds(t, apply(deployment("web", 1, image.Name), space))
	left := func() string {
		return succeeds(t, cluster.Kubectl("get", "jobs,pods", "--namespace", harness.ScanJobsNamespace, "--output", "name")).Out
	}
	eventually(t, 30*time.Second, func() error {
		return wanted(cluster.Kubectl("get", "events", "--namespace", space).Text(), "ScanFailed")
	})
	failed := left()
	if strings.Count(failed, "job.batch/") != 1 || strings.Count(failed, "pod/") != 1 {
		t.Errorf("of a Job that failed there is %q", failed)
	}
	scanner.Now(harness.Scanning{Takes: time.Second})
	waitPods(t, space, "web", 1, time.Now(), time.Minute)
	eventually(t, time.Minute, func() error {
		if there := left(); there != "" {
			return fmt.Errorf("there is %s", there)
		}
		return nil
	})
	evidence := "sha256-" + strings.TrimPrefix(image.Platforms[amd64], "sha256:")
	succeeds(t, cluster.Kubectl("get", "imageevidences", evidence))
	if scans := scansOf("attestation", scanner.Scans(), image); len(scans) != 2 {
		t.Errorf("it was scanned %d times: %v", len(scans), scans)
	}
}

// Attestations in layers, which no policy can read beside an image, are in the cluster before its Pods are: also those that come
// after the Deployment, and those of an image whose registry has failed since.
func TestTheCompanionBringsEvidence(t *testing.T) {
	const provenance = "https://slsa.dev/provenance/v1"
	public, err := cluster.PublicKey()
	must(t, err)
	builds := map[string]any{"name": "builds", "cosign": map[string]any{"key": map[string]any{"data": public}}}
	settings := map[string]any{
		"preScanPolicies": map[string]any{"defaultPolicy": "accept"},
		"evidence":        map[string]any{"fromCluster": true},
		"imageVerification": []any{map[string]any{
			"name": "built", "verifyPreScanAccepted": true, "attestors": []any{builds},
			// A rejected Deployment isn't there, so that nobody would see its image.
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"pods"}, "operations": []string{"CREATE", "UPDATE"}}}},
			"attestations":     []any{map[string]any{"name": "slsa", "intoto": map[string]any{"type": provenance}}},
			"verifications":    []any{map[string]any{"expression": "images.all.all(i, verifyAttestationSignatures(i, attestations.slsa, [attestors.builds]) > 0)", "message": "build it where the key is"}},
		}},
	}
	deployCompanion(t, harness.Deployment{Source: "evidence", Settings: settings, Companion: &harness.Companion{}})
	space := namespace(t)
	attest := func(image harness.Image) {
		must(t, cluster.Attest(cluster.Registry.Host+"/"+image.Repository+"@"+image.Digest, provenance, map[string]any{"buildDefinition": map[string]any{}}))
	}
	for _, when := range []string{"before", "after"} {
		image := pushed(t, "companion/attested-"+when)
		if when == "before" {
			attest(image)
		}
		succeeds(t, apply(deployment(when, 1, image.Name), space))
		since := time.Now()
		if when == "after" {
			time.Sleep(within)
			if found := podsOf(t, space, when); found != 0 {
				t.Fatalf("%d Pods without an attestation were made", found)
			}
			attest(image)
			since = time.Now()
		}
		took := waitPods(t, space, when, 1, since, 2*time.Minute)
		t.Logf("attested %s the Deployment: a Pod after %v", when, took.Round(100*time.Millisecond))
		if when == "before" && took > within {
			t.Errorf("its Pod came after %v", took)
		}
	}
	// A bare Pod's image is shown to the companion by hand.
	bare := pushed(t, "companion/attested-bare")
	attest(bare)
	rejected(t, cluster.Kubectl("run", "bare", "--image", bare.Name, "--namespace", space), "build it where the key is")
	asked := succeeds(t, cluster.Typed("image-admission scan "+bare.Name+" --wait --timeout 2m --namespace "+space))
	contains(t, asked.Text(), ": admitted")
	succeeds(t, cluster.Kubectl("run", "bare", "--image", bare.Name, "--namespace", space))
	// Another's attestation doesn't count, wherever it is.
	other := pushed(t, "companion/attested-other")
	must(t, cluster.Attest(cluster.Registry.Host+"/"+other.Repository+"@"+other.Digest, "https://example.com/other", map[string]any{}))
	succeeds(t, apply(deployment("other", 1, other.Name), space))
	time.Sleep(within)
	if found := podsOf(t, space, "other"); found != 0 {
		t.Errorf("%d Pods with an attestation of another type were made", found)
	}
}

// The rejection of a bare Pod names a command, which has its image scanned.
func TestTheCompanionHasABarePodScanned(t *testing.T) {
	command := regexp.MustCompile("Ask for a scan: `(image-admission scan [^`]+)`")
	for source := range scanners {
		t.Run(source, func(t *testing.T) {
			const takes = 5 * time.Second
			scanner := companion(t, source, harness.Scanning{Takes: takes}, harness.Companion{})
			space := namespace(t)
			run := func(image harness.Image) harness.Answer {
				return cluster.Kubectl("run", "web", "--image", image.Name, "--namespace", space)
			}
			image := pushed(t, "companion/bare-"+source)
			refused := run(image)
			rejected(t, refused, "no scan report yet")
			named := command.FindStringSubmatch(refused.Text())
			if named == nil {
				t.Fatalf("no command is in: %s", refused.Text())
			}
			began := time.Now()
			asked := succeeds(t, cluster.Typed(named[1]+" --namespace "+space))
			took := time.Since(began)
			t.Logf("%v for a scan of %v:\n%s", took.Round(100*time.Millisecond), takes, asked.Text())
			contains(t, asked.Text(), "asks the companion for its scan", ": asked for: ", ": scanned", ": admitted")
			if took > takes+within {
				t.Errorf("it took %v, more than %v after a scan of %v", took, within, takes)
			}
			succeeds(t, run(image))
			if jobs := cluster.Kubectl("get", "jobs", "--namespace", space, "--output", "name"); jobs.Out != "" {
				t.Errorf("there is %s", jobs.Text())
			}
			// One with a finding stays out, and the command says so.
			scanner.Now(harness.Scanning{Takes: time.Second, Findings: broken})
			image = pushed(t, "companion/bare-broken-"+source)
			if denied := cluster.Typed("image-admission scan " + image.Name + " --wait --namespace " + space); denied.Code != 2 {
				t.Errorf("it ended with %d: %s", denied.Code, denied.Text())
			}
			if scans := scanner.Scans(); len(scans) != 2 {
				t.Errorf("%d scans were asked for: %v", len(scans), scans)
			}
		})
	}
}

// The CronJobs of trivy-operator go, and their reports stay.
func TestTheCompanionTakesItsCronJobsAway(t *testing.T) {
	companion(t, "trivy-operator", harness.Scanning{Takes: time.Second}, harness.Companion{})
	space := namespace(t)
	image := pushed(t, "companion/orphan")
	succeeds(t, apply(deployment("web", 1, image.Name), space))
	waitPods(t, space, "web", 1, time.Now(), 2*within)
	reported := time.Now()
	eventually(t, time.Minute, func() error {
		if left := cluster.Kubectl("get", "cronjobs", "--namespace", harness.ScansNamespace, "--output", "name"); left.Out != "" {
			return fmt.Errorf("there is %s", left.Text())
		}
		return nil
	})
	took := time.Since(reported)
	t.Logf("the CronJob went %v after its Pods came", took.Round(time.Second))
	if took < 20*time.Second {
		t.Errorf("the CronJob went after %v: the garbage collector may not know its report yet", took)
	}
	// As long as the collector could need to take the report, if it would.
	time.Sleep(time.Minute)
	succeeds(t, cluster.Kubectl("scale", "deployment", "web", "--replicas=2", "--namespace", space))
	waitPods(t, space, "web", 2, time.Now(), within)
	if left := cluster.Kubectl("get", "cronjobs", "--namespace", harness.ScansNamespace, "--output", "name"); left.Out != "" {
		t.Errorf("it was asked for again: %s", left.Text())
	}
}

// A thousand images at once stay within the budgets, and one image of another namespace doesn't wait for all of them.
func TestTheCompanionKeepsItsBudgets(t *testing.T) {
	const images, atOnce, perMinute = 1000, 20, 400
	for source := range scanners {
		t.Run(source, func(t *testing.T) {
			scanner := companion(t, source, harness.Scanning{Takes: 2 * time.Second, AtOnce: 50}, harness.Companion{
				Settings: map[string]any{"scans": map[string]any{"atOnce": atOnce, "perMinute": perMinute}, "registries": map[string]any{"perMinute": 6000}},
			})
			large, small := namespace(t), namespace(t)
			all := pushedMany(t, "companion/many-"+source, images)
			const each = 10
			inParallel(t, images/each, func(number int) error {
				name := fmt.Sprintf("many-%d", number)
				return applied(deployment(name, 1, names(all[number*each:(number+1)*each])...), large)
			})
			began := time.Now()
			image := pushed(t, "companion/small-"+source)
			succeeds(t, apply(deployment("web", 1, image.Name), small))
			waiting := time.Now()
			waitPods(t, small, "web", 1, waiting, 2*time.Minute)
			scan := scansOf(source, scanner.Scans(), image)[0]
			before := 0
			for _, other := range scanner.Scans() {
				if other.Asked.After(waiting) && other.Asked.Before(scan.Asked) {
					before++
				}
			}
			t.Logf("%d of the large namespace's %d images were asked for before the small one's, which was asked for after %v", before, images, scan.Asked.Sub(waiting).Round(100*time.Millisecond))
			if before > 2*atOnce {
				t.Errorf("the small namespace waited for %d images of the large one", before)
			}
			eventually(t, 8*time.Minute, func() error {
				if scans := scanner.Scans(); len(scans) < images+1 {
					return fmt.Errorf("%d scans were asked for, and there are %d images; the companion says:\n%s", len(scans), images+1, cluster.CompanionLogs(4))
				}
				return nil
			})
			scans := scanner.Scans()
			t.Logf("%d scans were asked for in %v: at most %d at once, %d a minute", len(scans), time.Since(began).Round(time.Second), scans.AtOnce(), scans.AMinute())
			if scans.AtOnce() > atOnce || scans.AMinute() > perMinute {
				t.Errorf("the budgets are %d at once and %d a minute", atOnce, perMinute)
			}
			if twice := scans.Twice(); len(twice) > 0 {
				t.Errorf("%d images were asked for twice: %v", len(twice), twice[:1])
			}
			eventually(t, 2*time.Minute, func() error {
				pods, err := cluster.Client.CoreV1().Pods(large).List(t.Context(), metav1.ListOptions{})
				if err == nil && len(pods.Items) < images/each {
					err = fmt.Errorf("%d Pods are there, not %d", len(pods.Items), images/each)
				}
				return err
			})
			t.Logf("all Pods were there after %v; memory in MB %v", time.Since(began).Round(time.Second), megabytes(cluster.Companions()))
		})
	}
}

// applied tries again where the policy server has too much to do: images that it doesn't know take it a while.
func applied(manifest, space string) error {
	return cluster.Eventually(2*time.Minute, func() error {
		if answer := apply(manifest, space); answer.Code != 0 {
			return errors.New(answer.Text())
		}
		return nil
	})
}

// pushedMany are images that nobody has scanned.
func pushedMany(t *testing.T, repository string, count int) []harness.Image {
	t.Helper()
	all := make([]harness.Image, count)
	inParallel(t, count, func(number int) (err error) {
		name := fmt.Sprintf("%s/app-%d", repository, number)
		all[number], err = cluster.Registry.Push(name, "1.0", name, amd64)
		return err
	})
	return all
}

func names(images []harness.Image) (all []string) {
	for _, image := range images {
		all = append(all, image.Name)
	}
	return all
}

func megabytes(processes map[string]*harness.Process) (all []int) {
	for _, process := range processes {
		if size, err := process.ResidentBytes(); err == nil {
			all = append(all, int(size/1e6))
		}
	}
	return all
}

// The registry fails while the companion looks for images, and comes back.
func TestTheCompanionOutlivesARegistry(t *testing.T) {
	for source := range scanners {
		t.Run(source, func(t *testing.T) {
			scanner := companion(t, source, harness.Scanning{Takes: time.Second}, harness.Companion{Settings: map[string]any{"scans": map[string]any{"retry": map[string]any{"first": "5s"}}}})
			t.Cleanup(func() { cluster.Registry.Fail(nil) })
			space := namespace(t)
			must(t, cluster.ScaleCompanion(0))
			image := pushed(t, "companion/registry-"+source)
			succeeds(t, apply(deployment("web", 1, image.Name), space))
			for name, fault := range map[string]http.HandlerFunc{"500": harness.Status(500), "429": harness.Status(429), "closed": harness.Refuse} {
				cluster.Registry.Fail(fault)
				before, all := cluster.Registry.CompanionRequests(), cluster.Registry.Requests()
				must(t, cluster.ScaleCompanion(1))
				time.Sleep(20 * time.Second)
				asked, sum := cluster.Registry.CompanionRequests()-before, cluster.Registry.Requests()-all
				t.Logf("%s: %d requests to the registry in 20 s, %d with those of the policy server", name, asked, sum)
				if asked > 60 {
					t.Errorf("%s: the registry was asked %d times in 20 s while it failed", name, asked)
				}
				must(t, cluster.ScaleCompanion(0))
			}
			must(t, cluster.ScaleCompanion(1))
			time.Sleep(5 * time.Second)
			cluster.Registry.Fail(nil)
			back := time.Now()
			took := waitPods(t, space, "web", 1, back, 3*time.Minute)
			t.Logf("the Pod came %v after the registry", took.Round(100*time.Millisecond))
			if scans := scansOf(source, scanner.Scans(), image); len(scans) != 1 {
				t.Errorf("it was scanned %d times", len(scans))
			}
		})
	}
}

// The companion's way to the API server breaks while a scan runs. It goes on, and asks for nothing twice.
func TestTheCompanionOutlivesTheAPIServer(t *testing.T) {
	rights := func(verb string) harness.Answer {
		return cluster.Kubectl(verb, "--filename", filepath.Join(cluster.Tools.Deploy, "companion-sbomscanner", "rights.yaml"))
	}
	scanner := companion(t, "sbomscanner", harness.Scanning{}, harness.Companion{})
	for name, breaks := range map[string]func(t *testing.T){
		"watches are cut":        func(*testing.T) { cluster.APILink.Cut() },
		"the API server is away": func(t *testing.T) { must(t, cluster.RestartAPI(5*time.Second)) },
		"the scanner's API is away": func(*testing.T) {
			cluster.ScannerLink().Refuse(true)
			cluster.ScannerLink().Cut()
			time.Sleep(5 * time.Second)
			cluster.ScannerLink().Refuse(false)
		},
		"its rights are away": func(t *testing.T) {
			succeeds(t, rights("delete"))
			cluster.APILink.Cut()
			time.Sleep(5 * time.Second)
			succeeds(t, rights("apply"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { cluster.ScannerLink().Refuse(false) })
			scanner.Now(harness.Scanning{Takes: 20 * time.Second})
			space := namespace(t)
			before, after := pushed(t, space+"/before"), pushed(t, space+"/after")
			succeeds(t, apply(deployment("before", 1, before.Name), space))
			eventually(t, within, func() error {
				if len(scansOf("sbomscanner", scanner.Scans(), before)) == 0 {
					return fmt.Errorf("no scan was asked for")
				}
				return nil
			})
			breaks(t)
			scanner.Now(harness.Scanning{Takes: time.Second})
			mended := time.Now()
			succeeds(t, apply(deployment("after", 1, after.Name), space))
			for _, name := range []string{"before", "after"} {
				t.Logf("%s: a Pod %v after it was mended", name, waitPods(t, space, name, 1, mended, 2*time.Minute).Round(100*time.Millisecond))
			}
			for _, image := range []harness.Image{before, after} {
				if scans := scansOf("sbomscanner", scanner.Scans(), image); len(scans) != 1 {
					t.Errorf("%s was asked for %d times", image.Name, len(scans))
				}
			}
		})
	}
}

// Of two companions one leads. When it goes, in whatever way, the other goes on, and nothing is scanned twice.
func TestAnotherCompanionLeads(t *testing.T) {
	cases := []struct {
		name   string
		leaves func(t *testing.T, leader string)
		// at most so long nobody leads.
		atMost time.Duration
	}{
		{"deleted", func(t *testing.T, leader string) {
			succeeds(t, cluster.Kubectl("delete", "pod", leader, "--namespace", harness.Namespace, "--wait=false"))
		}, 15 * time.Second},
		{"killed", func(t *testing.T, leader string) {
			succeeds(t, cluster.Kubectl("delete", "pod", leader, "--namespace", harness.Namespace, "--force", "--grace-period=0"))
			cluster.Companions()[leader].Kill()
		}, 50 * time.Second},
		{"frozen", func(t *testing.T, leader string) {
			frozen := cluster.Companions()[leader]
			frozen.Pause()
			time.AfterFunc(60*time.Second, frozen.Resume)
			t.Cleanup(frozen.Resume)
		}, 50 * time.Second},
	}
	for _, gone := range cases {
		t.Run(gone.name, func(t *testing.T) {
			const takes, images = 30 * time.Second, 20
			scanner := companion(t, "trivy-operator", harness.Scanning{Takes: takes, AtOnce: images}, harness.Companion{Replicas: 2, Settings: map[string]any{"scans": map[string]any{"atOnce": 10, "perMinute": 600}}})
			space := namespace(t)
			all := pushedMany(t, "companion/leads-"+gone.name, images)
			for number, image := range all {
				succeeds(t, apply(deployment(fmt.Sprintf("web-%d", number), 1, image.Name), space))
			}
			eventually(t, 30*time.Second, func() error {
				if asked := len(scanner.Scans()); asked < 10 {
					return fmt.Errorf("%d scans were asked for", asked)
				}
				return nil
			})
			leader, err := cluster.Leader()
			must(t, err)
			gone.leaves(t, leader)
			left := time.Now()
			eventually(t, 2*gone.atMost, func() error {
				now, err := cluster.Leader()
				if err == nil && now == leader {
					err = fmt.Errorf("%s leads still", leader)
				}
				return err
			})
			took := time.Since(left)
			t.Logf("another led after %v", took.Round(100*time.Millisecond))
			if took > gone.atMost {
				t.Errorf("nobody else led for %v", took)
			}
			eventually(t, 3*time.Minute, func() error {
				pods, err := cluster.Client.CoreV1().Pods(space).List(t.Context(), metav1.ListOptions{})
				if err == nil && len(pods.Items) < images {
					err = fmt.Errorf("%d Pods are there, not %d; the companions say:\n%s", len(pods.Items), images, cluster.CompanionLogs(6))
				}
				return err
			})
			t.Logf("all Pods were there %v after the leader left", time.Since(left).Round(time.Second))
			if gone.name == "frozen" {
				// The one that was frozen finds that it doesn't lead any more.
				time.Sleep(max(0, 70*time.Second-time.Since(left)))
			}
			scans := scanner.Scans()
			if twice := scans.Twice(); len(twice) > 0 || len(scans) != images {
				t.Errorf("%d scans were asked for %d images, twice for %v", len(scans), images, twice)
			}
			if scans.AtOnce() > 10 {
				t.Errorf("%d scans were asked for at once", scans.AtOnce())
			}
		})
	}
}

// What the companion costs in a large cluster, at rest and while much is rolled out.
func TestTheCompanionAtScale(t *testing.T) {
	images, pods, rolled := 100, 250, 20
	if os.Getenv("CLUSTER_SCALE") == "full" {
		images, pods, rolled = 2000, 5000, 200
	}
	for source := range scanners {
		t.Run(source, func(t *testing.T) {
			scanner := companion(t, source, harness.Scanning{Takes: time.Second, AtOnce: 100}, harness.Companion{Settings: map[string]any{"scans": map[string]any{"atOnce": 100, "perMinute": 6000}, "registries": map[string]any{"perMinute": 6000}}})
			space := namespace(t)
			all := pushedMany(t, "companion/scale-"+source, images)
			// Two images a Pod, as many Deployments as that makes.
			workloads := images / 2
			inParallel(t, workloads, func(number int) error {
				return applied(deployment(fmt.Sprintf("web-%d", number), pods/workloads, names(all[2*number:2*number+2])...), space)
			})
			began := time.Now()
			there := func(count int) {
				t.Helper()
				eventually(t, 20*time.Minute, func() error {
					listed, err := cluster.Client.CoreV1().Pods(space).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
					if err == nil && len(listed.Items) < count {
						time.Sleep(2 * time.Second)
						err = fmt.Errorf("%d Pods are there, not %d; %d scans; the companion says:\n%s", len(listed.Items), count, len(scanner.Scans()), cluster.CompanionLogs(4))
					}
					return err
				})
			}
			there(workloads * (pods / workloads))
			t.Logf("%d images were scanned, and %d Pods were there, after %v", images, pods, time.Since(began).Round(time.Second))
			// CronJobs go half a minute after their reports.
			time.Sleep(time.Minute)
			measured(t, "at rest", func() { time.Sleep(2 * time.Minute) })
			measured(t, fmt.Sprintf("a rollout of %d images", rolled), func() {
				newer := pushedMany(t, "companion/rolled-"+source, rolled)
				inParallel(t, rolled, func(number int) error {
					return applied(deployment(fmt.Sprintf("web-%d", number), pods/workloads, newer[number].Name), space)
				})
				eventually(t, 5*time.Minute, func() error {
					if scans := len(scanner.Scans()); scans < images+rolled {
						return fmt.Errorf("%d scans were asked for", scans)
					}
					return nil
				})
				time.Sleep(time.Minute)
			})
			must(t, cluster.ScaleCompanion(0))
			measured(t, "a start", func() {
				must(t, cluster.ScaleCompanion(1))
				time.Sleep(time.Minute)
			})
			if twice := scanner.Scans().Twice(); len(twice) > 0 {
				t.Errorf("%d images were scanned twice", len(twice))
			}
			for _, size := range megabytes(cluster.Companions()) {
				if size > 150 {
					t.Errorf("the companion has %d MB, and 150 are its bound", size)
				}
			}
		})
	}
}

// measured says what the companion asked of others while something was done, a minute, and the most memory that it had.
func measured(t *testing.T, name string, during func()) {
	t.Helper()
	before, err := cluster.Snapshot()
	must(t, err)
	ended := make(chan struct{})
	var looking sync.WaitGroup
	highest := 0
	looking.Add(1)
	go func() {
		defer looking.Done()
		for {
			highest = max(highest, slices.Max(append(megabytes(cluster.Companions()), 0)))
			select {
			case <-ended:
				return
			case <-time.After(250 * time.Millisecond):
			}
		}
	}()
	during()
	close(ended)
	looking.Wait()
	after, err := cluster.Snapshot()
	must(t, err)
	asked, err := cluster.Asked("image-admission-companion", before)
	must(t, err)
	minutes := after.Taken.Sub(before.Taken).Minutes()
	var rates []string
	total := 0
	for _, what := range slices.Sorted(maps.Keys(asked)) {
		total += asked[what]
		rates = append(rates, fmt.Sprintf("%s %.1f", what, float64(asked[what])/minutes))
	}
	t.Logf("%s, %.1f minutes: %.1f requests a minute to the API server (%s), %.1f a minute to the registry, the policy server's among them; at most %d MB",
		name, minutes, float64(total)/minutes, strings.Join(rates, ", "), float64(after.Registry-before.Registry)/minutes, highest)
}
