package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cluster-tests/harness"
)

// How many images and Pods a measurement takes, with one client and with fifty.
const (
	newToOne, newToMany   = 40, 400
	known                 = 20
	seenByOne, seenByMany = 100, 1000
)

// peerImages are those that each engine judges. All but `unsigned` and `found` may run.
type peerImages struct {
	// plain are signed and attested as cosign does it. Beside attached are also copies of this that the policy can read.
	plain, attached []harness.Image
	// latest has that tag, unsigned no signature and no attestation, found a critical finding.
	latest, unsigned, found, foundAttached harness.Image
}

// A question is what an engine is asked to judge, and how it is told.
type question struct {
	letter, says string
	// setUp has the engine judge so, and answers with what takes it back.
	setUp func(t *testing.T) (end func())
	// good may run, and bad may not.
	good []harness.Image
	bad  []string
	// pins is whether what runs is named by its digest, looksUp whether an image that is new takes more than one that was seen.
	pins, looksUp bool
}

// An engine judges Pods, alone.
type engine struct {
	name      string
	begin     func(t *testing.T)
	processes func() []*harness.Process
	questions []question
}

// measurement is a line of the table in docs/benchmarks.md.
type measurement struct {
	engine, question, images string
	clients, pods, failed    int
	webhooks                 map[harness.Webhook]harness.Latency
	waited                   []time.Duration
	processor                time.Duration
	megabytes                int64
	requests                 int
	took                     time.Duration
}

func (m measurement) String() string {
	wait := func(mutates bool) string {
		waits := []string{}
		for webhook, latency := range m.webhooks {
			if webhook.Mutates == mutates {
				waits = append(waits, fmt.Sprintf("%s, %s, %s", milliseconds(latency.Quantile(0.5)), milliseconds(latency.Quantile(0.95)), milliseconds(latency.Quantile(0.99))))
			}
		}
		return strings.Join(append(waits, "–")[:max(1, len(waits))], " and ")
	}
	slices.Sort(m.waited)
	user := func(share float64) string { return milliseconds(m.waited[int(share*float64(len(m.waited)-1))]) }
	pods := float64(m.pods)
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %s | %s, %s, %s | %.0f | %.1f | %d | %.2f | %d |", m.question, m.images, m.engine, m.clients, wait(true), wait(false), user(0.5), user(0.95), user(0.99),
		pods/m.took.Seconds(), float64(m.processor.Microseconds())/1000/pods, m.megabytes, float64(m.requests)/pods, m.failed)
}

const measurementHeader = `| | images | engine | clients | changing webhook: p50, p95, p99 in ms | judging webhook | the user: p50, p95, p99 in ms | Pods/s | CPU ms a Pod | most memory in MB | registry requests a Pod | failed |
|---|---|---|---|---|---|---|---|---|---|---|---|`

func milliseconds(duration time.Duration) string {
	if duration < 10*time.Millisecond {
		return fmt.Sprintf("%.1f", float64(duration.Microseconds())/1000)
	}
	return fmt.Sprint(duration.Round(time.Millisecond).Milliseconds())
}

// Kyverno, policy-controller and this policy judge the same images, one engine after another, each alone.
func TestBesideOthers(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("CLUSTER_PEERS"))
	if err != nil {
		t.Skip("set CLUSTER_PEERS to how many rounds: `make cluster-peers`, then `CLUSTER_PEERS=3 make cluster-tests CLUSTER_TESTS='-v -timeout 60m -run TestBesideOthers'`")
	}
	must(t, cluster.PeersBuilt())
	images := makePeerImages(t)
	t.Cleanup(func() { must(t, cluster.DeleteReports()) })
	var measured []measurement
	for range rounds {
		for _, engine := range []engine{
			ours(t, images), kyvernoOf(t, images, "Kyverno", celPolicies), kyvernoOf(t, images, "Kyverno ClusterPolicy", clusterPolicies), policyControllerOf(t, images),
		} {
			t.Run(engine.name, func(t *testing.T) {
				engine.begin(t)
				for _, question := range engine.questions {
					t.Run(question.letter+" "+question.says, func(t *testing.T) { measured = append(measured, ask(t, engine, question)...) })
				}
			})
		}
	}
	fmt.Println(measurementHeader)
	for _, line := range measured {
		fmt.Println(line)
	}
}

// ask has an engine judge, looks whether it judges right, and measures.
func ask(t *testing.T, engine engine, question question) (measured []measurement) {
	end := question.setUp(t)
	defer end()
	space := namespace(t)
	succeeds(t, cluster.Kubectl("label", "namespace", space, "policy.sigstore.dev/include=true"))
	spare, seen := question.good[0], question.good[1:1+known]
	fresh := question.good[1+known:]
	eventually(t, 90*time.Second, func() error {
		for _, image := range question.bad {
			if answer := apply(pod("bad", image), space, "--dry-run=server"); answer.Code == 0 {
				return fmt.Errorf("%s was admitted", image)
			} else if !strings.Contains(answer.Text(), "denied the request") {
				return fmt.Errorf("%s wasn't judged: %s", image, answer.Text())
			}
		}
		answer := apply(pod("good", spare.Name), space, "--dry-run=server", "--output", "jsonpath={.spec.containers[0].image}")
		if answer.Code != 0 {
			return fmt.Errorf("%s was not admitted: %s", spare.Name, answer.Text())
		}
		if question.pins && !strings.HasSuffix(answer.Out, "@"+spare.Digest) {
			return fmt.Errorf("%s runs as %s", spare.Name, answer.Out)
		}
		return nil
	})
	for _, image := range question.bad {
		answer := apply(pod("bad", image), space)
		rejected(t, answer)
		t.Logf("denied: %s", strings.TrimSpace(answer.Text()))
	}
	run := func(images string, clients int, of []harness.Image, pods int) {
		line := measure(t, engine, space, clients, of, pods)
		line.question, line.images = "("+question.letter+") "+question.says, images
		t.Logf("%v %v", line, line.webhooks)
		measured = append(measured, line)
	}
	if question.looksUp {
		run("new", 1, fresh[:newToOne], newToOne)
		run("new", 50, fresh[newToOne:], newToMany)
	}
	// What a cache forgot since is looked up again before the next.
	measure(t, engine, space, 1, seen, len(seen))
	run("seen", 1, seen, seenByOne)
	measure(t, engine, space, 1, seen, len(seen))
	run("seen", 50, seen, seenByMany)
	return measured
}

// measure has clients create Pods of these images, in turn, and delete them.
func measure(t *testing.T, engine engine, space string, clients int, images []harness.Image, pods int) measurement {
	line := measurement{engine: engine.name, clients: clients, pods: pods, waited: make([]time.Duration, pods)}
	processes := engine.processes()
	if len(processes) == 0 {
		t.Fatalf("no process of %s runs", engine.name)
	}
	used := func() (total time.Duration) {
		for _, process := range processes {
			time, err := process.CPUTime()
			must(t, err)
			total += time
		}
		return total
	}
	before, err := cluster.Snapshot()
	must(t, err)
	processor := used()
	var next, failed atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := int(next.Add(1)) - 1; number < pods; number = int(next.Add(1)) - 1 {
				wanted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "peer-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c1", Image: images[number%len(images)].Name}}}}
				started := time.Now()
				created, err := cluster.Client.CoreV1().Pods(space).Create(t.Context(), wanted, metav1.CreateOptions{})
				line.waited[number] = time.Since(started)
				if err != nil {
					if failed.Add(1) == 1 {
						t.Logf("the first of those that failed: %v", err)
					}
					continue
				}
				zero := int64(0)
				_ = cluster.Client.CoreV1().Pods(space).Delete(t.Context(), created.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
			}
		}()
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-time.After(200 * time.Millisecond):
		}
		total := int64(0)
		for _, process := range processes {
			size, err := process.ResidentBytes()
			must(t, err)
			total += size
		}
		line.megabytes = max(line.megabytes, total/1e6)
	}
	line.took = time.Since(before.Taken)
	after, err := cluster.Snapshot()
	must(t, err)
	line.processor, line.requests, line.failed = used()-processor, after.Registry-before.Registry, int(failed.Load())
	line.webhooks = after.Webhooks(before)
	return line
}

// makePeerImages pushes, signs and attests. The policy reads what `attach` made beside copies in other repositories, so that nobody else
// finds it there.
func makePeerImages(t *testing.T) peerImages {
	t.Helper()
	push := func(repository, tag string, findings *harness.Findings, attach bool) (harness.Image, error) {
		image, err := cluster.Registry.Push(repository, tag, repository, amd64)
		if err != nil || findings == nil {
			return image, err
		}
		name := cluster.Registry.Host + "/" + repository + "@" + image.Digest
		if err := errors.Join(cluster.Sign(name), cluster.AttestScan(name, *findings)); err != nil {
			return image, err
		}
		if attach {
			return image, cluster.AttachEvidence(name)
		}
		return image, cluster.Report(image, amd64, *findings)
	}
	// As many findings as those of other benchmarks have.
	may, mayNot := harness.Findings{High: 20, Medium: 20}, harness.Findings{Critical: 1, High: 20, Medium: 20}
	count := 1 + known + newToOne + newToMany
	made := peerImages{plain: make([]harness.Image, count), attached: make([]harness.Image, count)}
	// A key that all wait for is made once.
	_, err := cluster.SigningKey()
	must(t, err)
	started := time.Now()
	inParallel(t, 2*count, func(number int) (err error) {
		if number < count {
			made.plain[number], err = push(fmt.Sprintf("peers/app-%d", number), "1.0", &may, false)
		} else {
			made.attached[number-count], err = push(fmt.Sprintf("peers-attached/app-%d", number-count), "1.0", &may, true)
		}
		return err
	})
	for _, other := range []struct {
		into       *harness.Image
		repository string
		tag        string
		findings   *harness.Findings
		attach     bool
	}{
		{&made.latest, "peers/latest", "latest", &may, false}, {&made.unsigned, "peers/unsigned", "1.0", nil, false},
		{&made.found, "peers/found", "1.0", &mayNot, false}, {&made.foundAttached, "peers-attached/found", "1.0", &mayNot, true},
	} {
		*other.into, err = push(other.repository, other.tag, other.findings, other.attach)
		must(t, err)
	}
	t.Logf("%d images were pushed, signed, attested and attached in %v", 2*count, time.Since(started).Round(time.Second))
	return made
}

// elsewhere is an image of a registry that nobody allows.
const elsewhere = "registry.example.com/app:1.0"

func ours(t *testing.T, images peerImages) engine {
	key, err := cluster.PublicKey()
	must(t, err)
	team := []any{map[string]any{"name": "team", "cosign": map[string]any{"key": map[string]any{"data": key}}}}
	limit := map[string]any{"maxSeverity": map[string]any{"critical": map[string]any{"total": 0}}}
	verified := func(name string, policy map[string]any) map[string]any {
		maps.Copy(policy, map[string]any{"name": name, "verifyPreScanAccepted": true})
		return map[string]any{"preScanPolicies": map[string]any{"defaultPolicy": "accept"}, "imageVerification": []any{policy}}
	}
	byName := verified("names", map[string]any{
		"verifications": []any{map[string]any{"expression": `images.all.all(i, image(i).containsDigest() || image(i).tag() != "latest")`}},
	})
	byName["preScanPolicies"] = map[string]any{"defaultPolicy": "reject", "customPolicies": []any{map[string]any{"prefix": cluster.Registry.Host + "/", "action": "accept"}}}
	signed := verified("signed", map[string]any{
		"attestors":     team,
		"verifications": []any{map[string]any{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}},
	})
	attested := map[string]any{
		"preScanPolicies": map[string]any{"defaultPolicy": "scan"}, "acceptance": limit,
		"reports": map[string]any{"platforms": []any{amd64}, "sources": []any{map[string]any{"attestation": map[string]any{"predicateType": "https://cosign.sigstore.dev/attestation/vuln/v1", "attestors": team}}}},
	}
	deployed := func(source string, settings map[string]any) func(*testing.T) func() {
		return func(t *testing.T) func() {
			// A worker waits for what it asks a registry. The others don't limit how many requests wait.
			deploy(t, harness.Deployment{Source: source, Workers: 8, Settings: settings})
			eventually(t, 20*time.Second, func() error {
				if running := len(cluster.PolicyServers()); running != 1 {
					return fmt.Errorf("%d policy servers run", running)
				}
				return nil
			})
			return func() {}
		}
	}
	return engine{
		name:  "image-admission",
		begin: func(t *testing.T) { t.Cleanup(func() { undeploy(t) }) },
		processes: func() []*harness.Process {
			return slices.Collect(maps.Values(cluster.PolicyServers()))
		},
		questions: []question{
			{letter: "a", says: "registry and tag", setUp: deployed("none", byName), good: images.plain, bad: []string{elsewhere, images.latest.Name}},
			{letter: "b", says: "signature", setUp: deployed("none", signed), good: images.plain, bad: []string{images.unsigned.Name}, pins: true, looksUp: true},
			{letter: "c", says: "attested report", setUp: deployed("none", attested), good: images.attached, bad: []string{images.unsigned.Name, images.foundAttached.Name}, pins: true, looksUp: true},
			{letter: "c", says: "report in the cluster", setUp: deployed("sbomscanner", nil), good: images.plain, bad: []string{images.unsigned.Name, images.found.Name}, pins: true, looksUp: true},
		},
	}
}

// undeploy takes the policy and its server away, so that no other test thinks that it is there. policy-controller has the server's port.
func undeploy(t *testing.T) {
	deployed = nil
	must(t, cluster.Undeploy())
	succeeds(t, cluster.Kubectl("delete", "policyservers", "--all"))
	eventually(t, 30*time.Second, func() error {
		if running := len(cluster.PolicyServers()); running != 0 {
			return fmt.Errorf("%d policy servers run", running)
		}
		return nil
	})
}

// judgesBy has a peer judge by a manifest.
func judgesBy(manifest string) func(*testing.T) func() {
	return func(t *testing.T) func() {
		// Its own webhooks judge what is applied, and may not be there yet.
		eventually(t, 60*time.Second, func() error {
			if answer := apply(manifest, "default"); answer.Code != 0 {
				return errors.New(answer.Text())
			}
			return nil
		})
		return func() { succeeds(t, cluster.KubectlWith(manifest, "delete", "--filename", "-")) }
	}
}

// policies of a peer, by the letter of what it is asked.
type policies func(host, key string) (names, signatures, reports string)

func kyvernoOf(t *testing.T, images peerImages, name string, policies policies) engine {
	key, err := cluster.PublicKey()
	must(t, err)
	names, signatures, reports := policies(cluster.Registry.Host, fmt.Sprintf("%q", key))
	var peer *harness.Peer
	made := engine{
		name: name,
		begin: func(t *testing.T) {
			peer, err = cluster.StartKyverno(kyvernoCache)
			must(t, err)
			t.Cleanup(func() { must(t, peer.Close()) })
			t.Logf("Kyverno %s", peer.Version)
		},
		processes: func() []*harness.Process { return []*harness.Process{peer.Process} },
		questions: []question{
			{letter: "a", says: "registry and tag", setUp: judgesBy(names), good: images.plain, bad: []string{elsewhere, images.latest.Name}},
			{letter: "b", says: "signature", setUp: judgesBy(signatures), good: images.plain, bad: []string{images.unsigned.Name}, pins: true, looksUp: true},
		},
	}
	if reports != "" {
		made.questions = append(made.questions, question{letter: "c", says: "attested report", setUp: judgesBy(reports), good: images.plain, bad: []string{images.unsigned.Name, images.found.Name}, pins: true, looksUp: true})
	}
	return made
}

// kyvernoCache is large: the size counts bytes of attestations, and by default, 1000, none of these is kept.
const kyvernoCache = "--imageVerifyCacheMaxSize=100000000"

// celPolicies have none for reports. Of attestations beside the image (`.att`), 1.19.1 takes those alone that are in a transparency log, whatever
// `ctlog` says: its verifier asks for the log's bundle. Signatures it takes without.
func celPolicies(host, key string) (names, signatures, reports string) {
	const pods = `
  failurePolicy: Fail
  validationActions: [Deny]
  evaluation: {background: {enabled: false}}
  webhookConfiguration: {timeoutSeconds: 15}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]
`
	attestors := `
  matchImageReferences: [{glob: "` + host + `/**"}]
  validationConfigurations: {mutateDigest: true, verifyDigest: true, required: true}
  attestors: [{name: team, cosign: {key: {data: ` + key + `}, ctlog: {insecureIgnoreTlog: true, insecureIgnoreSCT: true}}}]
`
	names = `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: names}
spec:` + pods + `
  validations:
    - expression: object.spec.containers.all(c, image(c.image).registry() == "` + host + `" && (image(c.image).containsDigest() || image(c.image).identifier() != "latest"))
      message: an image of a registry that isn't allowed, or of no tag of its own
`
	signatures = `apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: signed}
spec:` + pods + attestors + `
  validations:
    - expression: images.containers.map(image, verifyImageSignatures(image, [attestors.team])).all(e, e > 0)
      message: not signed
`
	return names, signatures, ""
}

func clusterPolicies(host, key string) (names, signatures, reports string) {
	rule := func(name, judges string) string {
		return `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: ` + name + `}
spec:
  background: false
  webhookConfiguration: {failurePolicy: Fail, timeoutSeconds: 15}
  rules:
    - name: ` + name + `
      match: {any: [{resources: {kinds: [Pod], operations: [CREATE, UPDATE]}}]}
` + judges
	}
	attestors := `[{entries: [{keys: {publicKeys: ` + key + `, rekor: {ignoreTlog: true, url: "https://rekor.invalid"}, ctlog: {ignoreSCT: true}}}]}]`
	names = rule("names", `
      validate:
        failureAction: Enforce
        message: an image of a registry that isn't allowed, or of no tag of its own
        pattern: {spec: {containers: [{image: "`+host+`/* & !*:latest"}]}}
`)
	verify := `
      verifyImages:
        - imageReferences: ["` + host + `/*"]
          failureAction: Enforce
          mutateDigest: true
          verifyDigest: true
          required: true
`
	signatures = rule("signed", verify+"          attestors: "+attestors+"\n")
	reports = rule("scanned", verify+`          attestations:
            - name: vuln
              type: https://cosign.sigstore.dev/attestation/vuln/v1
              attestors: `+attestors+`
              conditions: [{all: [{key: CRITICAL, operator: AnyNotIn, value: "{{ scanner.result.Results[].Vulnerabilities[].Severity }}"}]}]
`)
	return names, signatures, reports
}

func policyControllerOf(t *testing.T, images peerImages) engine {
	key, err := cluster.PublicKey()
	must(t, err)
	about := func(name, glob, judges string) string {
		return `
---
apiVersion: policy.sigstore.dev/v1beta1
kind: ClusterImagePolicy
metadata: {name: ` + name + `}
spec:
  images: [{glob: "` + cluster.Registry.Host + glob + `"}]
  authorities:
    - ` + judges + "\n"
	}
	// It has each tag replaced by the digest before it judges, so no policy of it can tell `latest`.
	names := about("registry", "/**", "static: {action: pass}")
	team := fmt.Sprintf(`{name: team, key: {data: %q, hashAlgorithm: sha256}`, key)
	signatures := about("signed", "/**", team+"}")
	reports := about("scanned", "/**", team+`, attestations: [{name: vuln, predicateType: vuln, policy: {type: rego, data: "package sigstore\n\ndefault isCompliant = false\n\ncritical { input.predicate.scanner.result.Results[_].Vulnerabilities[_].Severity == \"CRITICAL\" }\n\nisCompliant { not critical }\n"}}]}`)
	var peer *harness.Peer
	return engine{
		name: "policy-controller",
		begin: func(t *testing.T) {
			peer, err = cluster.StartPolicyController()
			must(t, err)
			t.Cleanup(func() { must(t, peer.Close()) })
			t.Logf("policy-controller %s", peer.Version)
		},
		processes: func() []*harness.Process { return []*harness.Process{peer.Process} },
		questions: []question{
			{letter: "a", says: "registry alone", setUp: judgesBy(names), good: images.plain, bad: []string{elsewhere}, pins: true, looksUp: true},
			{letter: "b", says: "signature", setUp: judgesBy(signatures), good: images.plain, bad: []string{images.unsigned.Name}, pins: true, looksUp: true},
			{letter: "c", says: "attested report", setUp: judgesBy(reports), good: images.plain, bad: []string{images.unsigned.Name, images.found.Name}, pins: true, looksUp: true},
		},
	}
}
