package cluster_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cluster-tests/harness"
)

// enforced is what failures are tried on: two replicas, each with two workers.
// enforced is what most failures meet: a policy server alone, which compiles the policy in half the time of two beside each other.
var enforced = harness.Deployment{Replicas: 1, Workers: 2}

// pair has somebody to go on when one is killed.
var pair = harness.Deployment{Replicas: 2, Workers: 2}

// busy is a policy server that judges one request after another.
var busy = harness.Deployment{Replicas: 1, Workers: 1}

// clients is how many create Pods at the same time.
const clients = 4

// underLoad has four users create Pods while something breaks, and until all is well again. Images are new, so that no answer
// about them is known; more of them come with fresh.
func underLoad(t *testing.T, during func(space string)) seen {
	t.Helper()
	space := namespace(t)
	var good, wrong []harness.Image
	for number := range 4 {
		good = append(good, scanned(t, fmt.Sprintf("%s/good-%d", space, number), clean))
		wrong = append(wrong, scanned(t, fmt.Sprintf("%s/bad-%d", space, number), broken), pushed(t, fmt.Sprintf("%s/unscanned-%d", space, number)))
	}
	running := startLoad(t, space, clients, 50*time.Millisecond, good, wrong)
	waitAdmitted(t, running, 20*time.Second)
	during(space)
	waitAdmitted(t, running, 60*time.Second)
	waitDenied(t, running, 60*time.Second)
	result := running.stop()
	t.Log(result)
	return result
}

// waitAdmitted waits until a Pod that may run was created from now on.
func waitAdmitted(t *testing.T, running *load, within time.Duration) {
	t.Helper()
	waitOutcome(t, running, within, true, admitted)
}

// waitDenied waits until a Pod that may not run was judged from now on.
func waitDenied(t *testing.T, running *load, within time.Duration) {
	t.Helper()
	waitOutcome(t, running, within, false, denied)
}

func waitOutcome(t *testing.T, running *load, within time.Duration, clean bool, wanted outcome) {
	t.Helper()
	from := time.Now()
	eventually(t, within, func() error {
		last := ""
		for _, made := range running.soFar().attempts {
			if made.clean == clean && made.started.After(from) {
				if made.outcome == wanted {
					return nil
				}
				last = made.message
			}
		}
		return fmt.Errorf("since %v no Pod was %s: %s", from.Format(time.TimeOnly), wanted, last)
	})
}

func TestTheAPIServerRestarts(t *testing.T) {
	deploy(t, enforced)
	result := underLoad(t, func(string) { must(t, cluster.RestartAPI(2*time.Second)) })
	if result.of(true)[unreached] > 0 {
		t.Errorf("the policy wasn't reached: %v", result.messages(unreached))
	}
	seenByDigest(t)
}

// seenByDigest: an image by digest alone takes a list, which the policy server watches. A report that is made now must be found.
func seenByDigest(t *testing.T) {
	t.Helper()
	space := namespace(t)
	image := pushed(t, space+"/by-digest")
	byDigest := cluster.Registry.Host + "/" + image.Repository + "@" + image.Digest
	rejected(t, apply(pod("app", byDigest), space), "scan report is pending")
	must(t, cluster.Report(image, amd64, clean))
	started := time.Now()
	eventually(t, 60*time.Second, func() error {
		if answer := apply(pod("app", byDigest), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	t.Logf("a new report of an image by digest counted after %v", time.Since(started).Round(100*time.Millisecond))
	// And a finding in it counts too.
	must(t, cluster.Report(image, amd64, broken))
	started = time.Now()
	eventually(t, 60*time.Second, func() error {
		if answer := apply(pod("again", byDigest), space, "--dry-run=server"); answer.Code == 0 {
			return fmt.Errorf("still admitted")
		}
		return nil
	})
	t.Logf("a finding in it counted after %v", time.Since(started).Round(100*time.Millisecond))
}

// A page in the place of a manifest isn't even an error: the host keeps it for a minute. So tests go on meanwhile, which leave the
// policy servers and their connections alone.
var page struct {
	image  harness.Image
	served time.Time
}

func TestTheRegistryServesAPage(t *testing.T) {
	deploy(t, enforced)
	space := namespace(t)
	page.image = scanned(t, space+"/app", clean)
	cluster.Registry.Fail(func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, "<html>") })
	t.Cleanup(func() { cluster.Registry.Fail(nil) })
	rejected(t, apply(pod("app", page.image.Name), space), "the registry's answer is no manifest")
	page.served = time.Now()
}

// The registry fails in five ways. Answers that the policy server has are good for a minute, so each way has images of its own.
func TestTheRegistryFails(t *testing.T) {
	deploy(t, enforced)
	for name, test := range map[string]struct {
		fault http.HandlerFunc
		words string
	}{
		"refuses":     {harness.Refuse, "scan failed"},
		"answers 429": {harness.Status(http.StatusTooManyRequests), "scan failed"},
		"answers 500": {harness.Status(http.StatusInternalServerError), "scan failed"},
		"answers 401": {harness.Status(http.StatusUnauthorized), "scan failed"},
		"answers 404": {harness.Status(http.StatusNotFound), "scan failed"},
	} {
		t.Run(name, func(t *testing.T) {
			space := namespace(t)
			image := scanned(t, space+"/app", clean)
			cluster.Registry.Fail(test.fault)
			t.Cleanup(func() { cluster.Registry.Fail(nil) })
			started := time.Now()
			answer := apply(pod("app", image.Name), space)
			rejected(t, answer, test.words)
			t.Logf("after %v: %s", time.Since(started).Round(10*time.Millisecond), answer.Err)
			cluster.Registry.Fail(nil)
			started = time.Now()
			eventually(t, 20*time.Second, func() error {
				if answer := apply(pod("app", image.Name), space); answer.Code != 0 {
					return fmt.Errorf("%s", answer.Text())
				}
				return nil
			})
			t.Logf("well again after %v", time.Since(started).Round(10*time.Millisecond))
		})
	}
}

func TestEtcdIsSlow(t *testing.T) {
	deploy(t, enforced)
	result := underLoad(t, func(string) {
		cluster.EtcdLink.Delay(150 * time.Millisecond)
		time.Sleep(8 * time.Second)
		cluster.EtcdLink.Delay(0)
	})
	if result.of(true)[denied] > 0 {
		t.Errorf("a slow disk made the policy reject: %v", result.messages(denied))
	}
	t.Logf("the slowest took %v", result.slowest().Round(10*time.Millisecond))
}

func TestAWatchIsCut(t *testing.T) {
	deploy(t, enforced)
	seenByDigest(t)
	cluster.APILink.Cut()
	seenByDigest(t)
	result := underLoad(t, func(string) { cluster.APILink.Cut() })
	if result.of(true)[denied] > 2 {
		t.Errorf("a cut connection made the policy reject more than what was under way: %v", result.messages(denied))
	}
}

// A right too few is said as such, and counts as a failed look-up: nothing gets in for want of it.
func TestRightsAreTakenAway(t *testing.T) {
	deploy(t, enforced)
	result := underLoad(t, func(space string) {
		must(t, cluster.TakeRights("sbomscanner"))
		// What was read before is good for five seconds.
		time.Sleep(6 * time.Second)
		image := scanned(t, space+"/without-rights", clean)
		rejected(t, apply(pod("without-rights", image.Name), space), "scan failed")
		byDigest := cluster.Registry.Host + "/" + image.Repository + "@" + image.Digest
		rejected(t, apply(pod("by-digest", byDigest), space), "scan failed")
		must(t, cluster.GiveRights("sbomscanner"))
	})
	if result.of(true)[denied] == 0 {
		t.Error("nothing was rejected while the policy server had no right to read reports")
	}
	t.Logf("users saw: %s", strings.Join(result.messages(denied), "\n"))
	seenByDigest(t)
}

// A registry that serves another digest than it says, or another image than was scanned, gets nothing in.
func TestTheRegistryServesAnotherDigest(t *testing.T) {
	deploy(t, enforced)
	space := namespace(t)
	good, bad := scanned(t, space+"/good", clean), scanned(t, space+"/bad", broken)
	pretend := func(digest string) http.HandlerFunc {
		return func(writer http.ResponseWriter, request *http.Request) {
			if strings.Contains(request.URL.Path, "/manifests/") {
				response, err := http.Get("http://" + cluster.Registry.Modules + "/v2/" + bad.Repository + "/manifests/" + bad.Digest)
				if err != nil {
					panic(http.ErrAbortHandler)
				}
				defer response.Body.Close()
				writer.Header().Set("Content-Type", response.Header.Get("Content-Type"))
				writer.Header().Set("Docker-Content-Digest", digest)
				if request.Method == http.MethodGet {
					_, _ = fmt.Fprint(writer, body(response))
				}
			}
		}
	}
	t.Cleanup(func() { cluster.Registry.Fail(nil) })
	// It says the digest of what was scanned, and has the bytes of another image.
	cluster.Registry.Fail(pretend(good.Digest))
	answer := apply(pod("lies", good.Name), space)
	rejected(t, answer)
	t.Logf("it says one digest and serves another: %s", answer.Err)
	// It serves another image under the tag, and says so. Then that one is judged.
	other := scanned(t, space+"/other", clean)
	cluster.Registry.Fail(pretend(bad.Digest))
	answer = apply(pod("other", other.Name), space)
	rejected(t, answer)
	t.Logf("it serves another image: %s", answer.Err)
}

func TestAPageIsForgotten(t *testing.T) {
	if page.served.IsZero() {
		t.Skip("it goes on from TestTheRegistryServesAPage: run both")
	}
	space := namespace(t)
	eventually(t, time.Until(page.served.Add(70*time.Second)), func() error {
		if answer := apply(pod("app", page.image.Name), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	t.Logf("a page instead of a manifest was forgotten after at most %v", time.Since(page.served).Round(time.Second))
}

// A right too few: the policy server may get reports, and may not list them. What takes a list never returns, and the rest goes on.
func TestARightTooFew(t *testing.T) {
	deploy(t, enforced)
	t.Cleanup(func() {
		must(t, cluster.GiveRights("sbomscanner"))
		// Where the test didn't see it, nobody knows whether lists are answered again.
		unusable = unusable || t.Failed()
	})
	succeeds(t, cluster.Kubectl("patch", "clusterrole", "image-admission-sbomscanner", "--type", "json", "--patch",
		`[{"op": "replace", "path": "/rules/0/verbs", "value": ["get"]}, {"op": "replace", "path": "/rules/1/verbs", "value": ["get"]}]`))
	must(t, cluster.RestartPolicyServers())
	space := namespace(t)
	image := scanned(t, space+"/app", clean)
	succeeds(t, apply(pod("by-tag", image.Name), space))
	byDigest := cluster.Registry.Host + "/" + image.Repository + "@" + image.Digest
	started := time.Now()
	answer := apply(pod("by-digest", byDigest), space)
	if answer.Code == 0 {
		t.Fatal("an image was admitted whose reports can't be listed")
	}
	contains(t, answer.Text(), "failed calling webhook")
	t.Logf("after %v: %s", time.Since(started).Round(100*time.Millisecond), answer.Text())
	// The right is given: is what waited well again?
	must(t, cluster.GiveRights("sbomscanner"))
	started = time.Now()
	eventually(t, 120*time.Second, func() error {
		if answer := apply(pod("by-digest", byDigest), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	t.Logf("well again %v after the right was given", time.Since(started).Round(100*time.Millisecond))
}

// A registry that takes connections and stays silent. Kubewarden looks up one image after another, and waits for ever: what is
// known is refused too, and a policy server that has waited doesn't recover by itself.
func TestTheRegistryIsSilent(t *testing.T) {
	deploy(t, enforced)
	space := namespace(t)
	known, silent := scanned(t, space+"/known", clean), scanned(t, space+"/silent", clean)
	accepted := scanned(t, space+"/accepted", clean)
	succeeds(t, apply(pod("known", known.Name), space))
	cluster.Registry.Fail(harness.Silent)
	t.Cleanup(func() { cluster.Registry.Fail(nil) })
	started := time.Now()
	waiting := make(chan harness.Answer, 1)
	go func() { waiting <- apply(pod("silent", silent.Name), space) }()
	time.Sleep(time.Second)
	// What users of known images see meanwhile.
	running := startLoad(t, space, 4, 50*time.Millisecond, []harness.Image{known}, []harness.Image{accepted})
	answer := <-waiting
	took := time.Since(started)
	result := running.stop()
	if answer.Code == 0 {
		t.Fatal("a Pod was admitted whose image nobody could look up")
	}
	t.Logf("after %v: %s", took.Round(100*time.Millisecond), answer.Err)
	t.Logf("with known images meanwhile: %v; the slowest took %v", result, result.slowest().Round(100*time.Millisecond))
	// The registry answers again, but not to what was asked before.
	cluster.Registry.Fail(nil)
	started = time.Now()
	if answer = apply(pod("again", known.Name), space); answer.Code == 0 {
		t.Error("the policy servers have recovered by themselves, which docs/operations.md says they don't")
	}
	must(t, cluster.RestartPolicyServers())
	eventually(t, 60*time.Second, func() error {
		for _, image := range []harness.Image{known, silent} {
			if answer := apply(pod("again", image.Name), space, "--dry-run=server"); answer.Code != 0 {
				return fmt.Errorf("%s", answer.Text())
			}
		}
		return nil
	})
	t.Logf("well again %v after the registry, by a restart", time.Since(started).Round(100*time.Millisecond))
}

// A policy server is killed in the middle of requests. The other one goes on.
func TestAPolicyServerIsKilled(t *testing.T) {
	deploy(t, pair)
	result := underLoad(t, func(string) {
		for _, process := range cluster.PolicyServers() {
			process.Kill()
			break
		}
		time.Sleep(5 * time.Second)
	})
	t.Logf("users saw: %s", strings.Join(result.messages(unreached), "\n"))
	if gap := result.gap(); gap > 5*time.Second {
		t.Errorf("with two replicas nothing was admitted for %v", gap)
	}
}

// The only policy server is killed: nothing is admitted until it is there again.
func TestTheOnlyPolicyServerIsKilled(t *testing.T) {
	deploy(t, busy)
	result := underLoad(t, func(string) {
		for _, process := range cluster.PolicyServers() {
			process.Kill()
		}
	})
	if result.of(true)[unreached] == 0 {
		t.Error("nobody noticed that the only policy server was killed")
	}
	t.Logf("users saw: %s", strings.Join(result.messages(unreached), "\n"))
}

// More requests than one worker gets done: who waits too long is refused, and nobody gets in unjudged.
func TestOutOfWorkers(t *testing.T) {
	deploy(t, busy)
	space := namespace(t)
	good, bad := scanned(t, space+"/good", clean), scanned(t, space+"/bad", broken)
	running := startLoad(t, space, 60, 0, []harness.Image{good}, []harness.Image{bad, pushed(t, space+"/unscanned")})
	time.Sleep(10 * time.Second)
	result := running.stop()
	t.Log(result)
	t.Logf("the slowest took %v; users saw: %s", result.slowest().Round(10*time.Millisecond), strings.Join(result.messages(unreached), "\n"))
	succeeds(t, apply(pod("after", good.Name), space))
}

// changed is busy with settings that decide the same.
var changed = harness.Deployment{Replicas: busy.Replicas, Workers: busy.Workers, Settings: map[string]any{"maxImages": 49}}

// Settings change under load: the old policy servers answer until the new ones are ready. What one of them has in hand when it is
// killed in the end is lost, and nothing else is.
func TestARolloutOfSettings(t *testing.T) {
	deploy(t, busy)
	result := underLoad(t, func(string) { deploy(t, changed) })
	if lost := result.of(true)[denied]; lost > 0 {
		t.Errorf("a rollout rejected %d Pods: %v", lost, result.messages(denied))
	}
	if lost := result.of(true)[unreached]; lost > busy.Replicas*clients {
		t.Errorf("a rollout lost %d Pods, more than the old policy servers had in hand", lost)
	}
	for _, message := range result.messages(unreached) {
		if !strings.Contains(message, "EOF") && !strings.Contains(message, "connection reset") {
			t.Errorf("a Pod was lost otherwise than by the end of a policy server: %s", message)
		}
	}
}

// A rollout that Kubernetes calls done isn't over: the API server keeps its connection to a policy server that was told to end,
// and that one decides by the old settings until it is killed. Kubewarden's condition waits for that.
func TestOldSettingsAfterARollout(t *testing.T) {
	deploy(t, changed)
	space := namespace(t)
	image := scanned(t, space+"/app", clean)
	succeeds(t, apply(pod("app", image.Name), space))
	cluster.Grace(30 * time.Second)
	t.Cleanup(func() { cluster.Grace(2 * time.Second) })
	rejecting := busy
	rejecting.Settings = map[string]any{"preScanPolicies": map[string]any{"defaultPolicy": "reject"}}
	deployed = &rejecting
	must(t, cluster.Apply(rejecting))
	// The controller writes the new configuration first.
	time.Sleep(3 * time.Second)
	succeeds(t, cluster.Kubectl("rollout", "status", "--namespace", harness.Namespace, "deployment/policy-server-image-admission"))
	done, old := time.Now(), time.Duration(0)
	unique := make(chan time.Duration, 1)
	go func() {
		_ = cluster.WaitDeployed(90 * time.Second)
		unique <- time.Since(done)
	}()
	var alone time.Duration
	for alone == 0 || time.Since(done) < alone+3*time.Second {
		if answer := apply(pod("app-2", image.Name), space, "--dry-run=server"); answer.Code == 0 {
			old = time.Since(done)
		}
		select {
		case alone = <-unique:
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Logf("after `kubectl rollout status` the old settings decided for %v; the condition PolicyUniquelyReachable was there after %v", old.Round(100*time.Millisecond), alone.Round(100*time.Millisecond))
	if old > alone+time.Second {
		t.Errorf("PolicyUniquelyReachable came before the new settings decided, which docs/operations.md says it doesn't")
	}
}

// Settings that the policy refuses never reach the Pods that answer.
func TestARolloutOfSettingsThatAreRefused(t *testing.T) {
	deploy(t, busy)
	wrong := busy
	wrong.Settings = map[string]any{"maxImages": "many"}
	result := underLoad(t, func(string) {
		deployed = &wrong
		rendered, err := cluster.Render(wrong)
		must(t, err)
		answer := cluster.KubectlWith(rendered, "apply", "--server-side", "--force-conflicts", "--filename", "-")
		succeeds(t, answer)
		eventually(t, 30*time.Second, func() error {
			if log := cluster.PolicyServerLog(); !strings.Contains(log, "maxImages") {
				return fmt.Errorf("no policy server says what is wrong with the settings")
			}
			return nil
		})
		time.Sleep(3 * time.Second)
	})
	if lost := result.of(true)[unreached] + result.of(true)[denied]; lost > 0 {
		t.Errorf("settings that are refused lost %d Pods: %v %v", lost, result.messages(unreached), result.messages(denied))
	}
	deploy(t, busy)
}

// The scanner's own API is away. That is no missing report.
func TestTheScannersAPIIsAway(t *testing.T) {
	deploy(t, busy)
	result := underLoad(t, func(space string) {
		image := scanned(t, space+"/away", clean)
		cluster.ScannerLink().Refuse(true)
		cluster.ScannerLink().Cut()
		time.Sleep(6 * time.Second)
		rejected(t, apply(pod("away", image.Name), space), "scan failed")
		byDigest := cluster.Registry.Host + "/" + image.Repository + "@" + image.Digest
		rejected(t, apply(pod("by-digest", byDigest), space), "scan failed")
		cluster.ScannerLink().Refuse(false)
	})
	t.Logf("users saw: %s", strings.Join(result.messages(denied), "\n"))
	seenByDigest(t)
}

// `kubectl rollout restart` restarts no policy server: Kubewarden's controller takes its annotation away again.
func TestRolloutRestart(t *testing.T) {
	deploy(t, busy)
	before := cluster.PolicyServers()
	succeeds(t, cluster.Kubectl("rollout", "restart", "--namespace", harness.Namespace, "deployment/policy-server-image-admission"))
	eventually(t, 60*time.Second, func() error {
		answer := cluster.Kubectl("get", "deployment", "policy-server-image-admission", "--namespace", harness.Namespace, "--output", "jsonpath={.spec.template.metadata.annotations}")
		if answer.Code != 0 || strings.Contains(answer.Out, "restartedAt") {
			return fmt.Errorf("the Deployment still has kubectl's annotation: %s", answer.Text())
		}
		return nil
	})
	must(t, cluster.WaitDeployed(90*time.Second))
	kept := 0
	for name := range cluster.PolicyServers() {
		if before[name] != nil {
			kept++
		}
	}
	t.Logf("of %d policy servers, %d were not restarted", len(before), kept)
	if kept == 0 {
		t.Error("all were restarted, which docs/operations.md says they aren't")
	}
}

// The policy server's certificate expires. Kubewarden's controller renews it in its Secret two months before, and policy servers
// that run take up the new one. They do so once in their lives.
func TestTheCertificateExpires(t *testing.T) {
	deploy(t, busy)
	t.Cleanup(func() { unusable = true })
	space := namespace(t)
	image := scanned(t, space+"/app", clean)
	expired := func() error {
		// Connections that are there go on: an expired certificate is noticed by the next one.
		cluster.PolicyServerLink().Cut()
		answer := apply(pod("app", image.Name), space, "--dry-run=server")
		if !strings.Contains(answer.Text(), "certificate has expired") {
			return fmt.Errorf("the certificate isn't noticed: %s", answer.Text())
		}
		t.Logf("users see: %s", answer.Text())
		return nil
	}
	must(t, cluster.ServePolicyServersWith(20*time.Second))
	must(t, cluster.RestartPolicyServers())
	eventually(t, 60*time.Second, expired)
	must(t, cluster.ServePolicyServersWith(15*time.Second))
	started := time.Now()
	eventually(t, 20*time.Second, func() error {
		if answer := apply(pod("app", image.Name), space); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	t.Logf("well again %v after the Secret had a good one", time.Since(started).Round(100*time.Millisecond))
	must(t, cluster.ServePolicyServersWith(24*time.Hour))
	eventually(t, 60*time.Second, expired)
}

// The policy server's clock is ten minutes behind the others', and then ten minutes ahead. Ages of reports are counted by the
// policy server's clock.
func TestClocksDiffer(t *testing.T) {
	aged := busy
	aged.Source = "trivy-operator"
	aged.Settings = map[string]any{"reports": map[string]any{
		"sources": []any{map[string]any{"trivyOperator": map[string]any{"namespaces": []string{"image-scans"}, "workloadNamespace": false}}}, "platforms": []string{amd64}, "maxAge": "5m",
	}}
	deploy(t, aged)
	t.Cleanup(func() {
		must(t, cluster.Clock(0))
		unusable = true
	})
	now := map[string]time.Duration{"made now": 0, "seven minutes old": -7 * time.Minute, "twelve minutes old": -12 * time.Minute}
	for _, clock := range []struct {
		name    string
		seconds int
		counts  map[string]bool
	}{
		{"right", 0, map[string]bool{"made now": true}},
		{"behind", -600, map[string]bool{"made now": true, "seven minutes old": true, "twelve minutes old": true}},
		{"ahead", 600, map[string]bool{}},
	} {
		t.Run(clock.name, func(t *testing.T) {
			if clock.seconds != 0 {
				must(t, cluster.Clock(clock.seconds))
				must(t, cluster.RestartPolicyServers())
			}
			space := namespace(t)
			bad := pushed(t, space+"/bad")
			must(t, cluster.TrivyReport(bad, broken, time.Now()))
			rejected(t, apply(pod("bad", bad.Name), space))
			for name, age := range now {
				image := pushed(t, space+"/"+strings.ReplaceAll(name, " ", "-"))
				must(t, cluster.TrivyReport(image, clean, time.Now().Add(age)))
				answer := apply(pod(strings.ReplaceAll(name, " ", "-"), image.Name), space)
				if (answer.Code == 0) != clock.counts[name] {
					t.Errorf("a report that is %s: %s", name, answer.Text())
				}
				t.Logf("a report that is %s: %s", name, answer.Text())
			}
		})
	}
}
