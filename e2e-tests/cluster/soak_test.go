package cluster_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cluster-tests/harness"
)

// A soak: for as long as CLUSTER_SOAK says, everything changes while users create Pods, with all that policy and companion can do
// switched on. In each round a Deployment has a new image, whose scan, signature and VEX document only the companion brings. Memory,
// watches, outcomes and how long that Deployment waited are told once in a round.
func TestSoak(t *testing.T) {
	text := os.Getenv("CLUSTER_SOAK")
	if text == "" {
		t.Skip("set CLUSTER_SOAK to a time, like 2h: `make cluster-soak`")
	}
	length, err := time.ParseDuration(text)
	must(t, err)
	scanner, err := cluster.PlaySBOMScanner(vulnerable)
	must(t, err)
	t.Cleanup(scanner.Close)
	soaked := everything(t)
	deployCompanion(t, soaked)
	must(t, writeExploited(0))
	made := makeWorld(t, 400, 2000)
	t.Cleanup(func() { must(t, cluster.DeleteReports()) })
	all := slices.Concat(made.good, made.wrong)
	inParallel(t, len(all), func(number int) error { return cluster.SBOM(all[number], amd64) })
	space := namespace(t)
	running := startLoad(t, space, 8, 250*time.Millisecond, made.good, made.wrong)
	started, next, waits := time.Now(), time.Now(), []time.Duration(nil)
	for round := 1; time.Since(started) < length; round++ {
		before, err := cluster.Snapshot()
		must(t, err)
		change := soak(t, made, soaked, scanner, round)
		waits = append(waits, startsByItself(t, space, round))
		next = next.Add(min(time.Minute, length/10))
		time.Sleep(time.Until(next))
		after, err := cluster.Snapshot()
		must(t, err)
		watches, err := cluster.Watches(t.Context(), "vulnerabilityreports")
		must(t, err)
		companions := megabytes(cluster.Companions())
		slices.Sort(companions)
		t.Logf("%v: %s; %v; %d watches; memory in MB %v, companions %v; its Pod came after %v", time.Since(started).Round(time.Second), change, after.Since(before), watches, sorted(cluster.Megabytes()), companions, waits[len(waits)-1].Round(time.Second))
		// Those of two policy servers, and of the companion that leads.
		if watches > 10 {
			t.Errorf("%d watches are open", watches)
		}
	}
	waitAdmitted(t, running, time.Minute)
	t.Log(running.stop())
	slices.Sort(waits)
	t.Logf("%d new images: half of their Pods came within %v, the last after %v", len(waits), waits[len(waits)/2].Round(time.Second), waits[len(waits)-1].Round(time.Second))
	// Those whose scan failed.
	if twice := scanner.Scans().Twice(); len(twice) > (len(waits)+1)/13 {
		t.Errorf("%d images were scanned twice: %v", len(twice), twice)
	}
}

// vulnerable is a scanner whose every report has a critical finding: only a VEX document lets the image in.
var vulnerable = harness.Scanning{Takes: 5 * time.Second, Findings: broken}

// everything is a deployment in which all is switched on.
func everything(t *testing.T) harness.Deployment {
	public, err := cluster.PublicKey()
	must(t, err)
	team := map[string]any{"name": "team", "cosign": map[string]any{"key": map[string]any{"data": public}}}
	sbomscanner := []any{map[string]any{"sbomscanner": map[string]any{"namespaces": []string{harness.ScannerNamespace}}}}
	// Of the two, only trivy-operator says since when a finding is known, which `running` asks for.
	sources := append(sbomscanner, map[string]any{"trivyOperator": map[string]any{"namespaces": []string{harness.ScansNamespace}, "workloadNamespace": false}})
	curl := scanned(t, "tools/curl", clean)
	must(t, cluster.SBOM(curl, amd64))
	return harness.Deployment{
		Components: []string{"break-glass", "evidence", "exemptions", "known-exploited", "running", "sboms-sbomscanner", "sources/trivy-operator"},
		Replicas:   2,
		Workers:    2,
		Companion:  &harness.Companion{Replicas: 2},
		Images:     map[string]string{"docker.io/curlimages/curl": cluster.Registry.Host + "/" + curl.Repository + ":" + curl.Tag},
		Settings: map[string]any{
			"registries": []any{cluster.Registry.Host, map[string]any{"registry": "ghcr.io", "mirror": cluster.Registry.Host + "/ghcr"}},
			"reports": map[string]any{
				"sources": sources, "sboms": sbomscanner, "platforms": []string{amd64},
				"vex": []any{map[string]any{"predicateType": "https://openvex.dev/ns", "attestors": []any{team}}},
			},
			"acceptance": map[string]any{
				"maxSeverity":    map[string]any{"critical": map[string]any{"total": 0}},
				"knownExploited": map[string]any{"action": "reject", "maxAge": "7d", "from": map[string]any{"configMap": map[string]any{"namespace": "known-exploited", "name": "known-exploited"}}},
				"packages":       map[string]any{"deny": []any{map[string]any{"purl": "pkg:maven/org.apache.logging.log4j/log4j-core", "versions": "<2.17.1"}}},
				"running":        map[string]any{"grace": "7d"},
			},
			"imageVerification": []any{map[string]any{
				"name": "signed", "verifyPreScanAccepted": true, "attestors": []any{team},
				"matchConstraints": map[string]any{
					"resourceRules": []any{map[string]any{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"pods"}, "operations": []string{"CREATE", "UPDATE"}}},
					"imageRules":    map[string]any{"references": []string{cluster.Registry.Host + "/soak/*"}},
				},
				"verifications": []any{map[string]any{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)", "message": "the team must sign it"}},
			}},
		},
	}
}

// startsByItself is how long the Pod of a Deployment takes whose image nobody has scanned, with a signature and a VEX document in its
// registry.
func startsByItself(t *testing.T, space string, round int) time.Duration {
	name := fmt.Sprintf("round-%d", round)
	image := pushed(t, "soak/"+name)
	digest := cluster.Registry.Host + "/" + image.Repository + "@" + image.Digest
	must(t, cluster.Sign(digest))
	must(t, cluster.Attest(digest, "https://openvex.dev/ns", map[string]any{
		"@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://example.com/vex/" + name, "author": "team", "timestamp": time.Now().UTC().Format(time.RFC3339), "version": 1,
		"statements": []any{map[string]any{
			"vulnerability": map[string]any{"name": "CVE-2026-1000"}, "status": "not_affected", "justification": "vulnerable_code_not_in_execute_path",
			"products": []any{map[string]any{"@id": "pkg:oci/" + name + "@" + strings.Replace(image.Digest, ":", "%3A", 1) + "?repository_url=" + cluster.Registry.Host + "/" + image.Repository}},
		}},
	}))
	began := time.Now()
	must(t, applied(deployment(name, 1, image.Name), space))
	took := waitPods(t, space, name, 1, began, 5*time.Minute)
	succeeds(t, cluster.Kubectl("delete", "deployment", name, "--namespace", space, "--wait=false"))
	return took
}

// writeExploited writes a list of vulnerabilities that are exploited, none of which any report has.
func writeExploited(round int) error {
	list := "    count: 1500\n"
	for number := range 1500 {
		list += fmt.Sprintf("    CVE-2025-%05d 2026-12-01\n", 10_000+2_000*(round%20)+number)
	}
	manifest := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: known-exploited\n  annotations: {image-admission/refreshed-at: %q}\ndata:\n  known-exploited: |\n%s", time.Now().UTC().Format(time.RFC3339), list)
	return applied(manifest, "known-exploited")
}

// soak makes one change of the cluster, and says which.
func soak(t *testing.T, made world, deployment harness.Deployment, scanner playedScanner, round int) string {
	switch round % 13 {
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
		leader, err := cluster.Leader()
		must(t, err)
		if process := cluster.Companions()[leader]; process != nil {
			process.Kill()
		}
		return "the companion that leads was killed"
	case 5:
		inParallel(t, 100, func(number int) error {
			repository := fmt.Sprintf("soaked/app-%d-%d", round, number)
			image, err := cluster.Registry.Push(repository, "1.0", repository, amd64)
			if err != nil {
				return err
			}
			return cluster.Report(image, amd64, clean)
		})
		return "100 new images were scanned"
	case 6:
		changed := deployment
		changed.Settings = map[string]any{"maxImages": 40 + round%10}
		for name, value := range deployment.Settings {
			changed.Settings[name] = value
		}
		deploy(t, changed)
		return "the settings changed"
	case 7:
		must(t, cluster.TakeRights("sbomscanner"))
		time.Sleep(5 * time.Second)
		must(t, cluster.GiveRights("sbomscanner"))
		return "rights were away for 5 s"
	case 8:
		must(t, cluster.RestartAPI(time.Second))
		return "the API server restarted"
	case 9:
		exempted(t, made.wrong[0])
		return "an exemption was made, and taken back"
	case 10:
		brokenGlass(t, made.wrong[0])
		return "the glass was broken"
	case 11:
		must(t, writeExploited(round))
		return "another list of what is exploited was written"
	case 12:
		scanner.Now(harness.Scanning{Takes: time.Second, Fails: true})
		time.AfterFunc(20*time.Second, func() { scanner.Now(vulnerable) })
		return "scans failed for 20 s"
	default:
		cluster.Registry.Fail(harness.Status(500))
		time.Sleep(5 * time.Second)
		cluster.Registry.Fail(nil)
		return "the registry answered 500 for 5 s"
	}
}

// exempted makes an exemption of an image with a finding, which holds in its namespace until it is taken back.
func exempted(t *testing.T, image harness.Image) {
	space := namespace(t)
	manifest := exemption(t, image, space, time.Now().AddDate(0, 0, 10), "--approved-by", "alice")
	must(t, applied(manifest, space))
	runs := func() harness.Answer { return apply(pod("exempt", image.Name), space, "--dry-run=server") }
	eventually(t, time.Minute, func() error {
		if answer := runs(); answer.Code != 0 {
			return fmt.Errorf("%s", answer.Text())
		}
		return nil
	})
	succeeds(t, cluster.KubectlWith(manifest, "delete", "--filename", "-"))
	eventually(t, time.Minute, func() error { return wanted(runs().Text(), "CVE-2026-1000") })
}

// brokenGlass lets an image with a finding through for the one who may, and for nobody else.
func brokenGlass(t *testing.T, image harness.Image) {
	space := namespace(t)
	for _, user := range []string{"alice", "bob"} {
		succeeds(t, cluster.Kubectl("create", "rolebinding", user, "--clusterrole", "edit", "--user", user, "--namespace", space))
	}
	cluster.Kubectl("create", "clusterrolebinding", "alice-breaks-glass", "--clusterrole", "image-admission-break-glass", "--user", "alice")
	manifest := strings.Replace(pod("urgent", image.Name), "metadata: {name: urgent}", "metadata: {name: urgent, annotations: {image-admission/break-glass: TICKET-7}}", 1)
	as := func(user string) harness.Answer { return apply(manifest, space, "--as", user, "--dry-run=server") }
	eventually(t, time.Minute, func() error { return wanted(as("alice").Text(), "break glass: admitted unjudged for `alice`") })
	eventually(t, time.Minute, func() error {
		return wanted(as("bob").Text(), "break glass was asked for, and refused: `bob` may not `use`")
	})
}

func sorted(sizes map[string]int) []int {
	var all []int
	for _, size := range sizes {
		all = append(all, size)
	}
	slices.Sort(all)
	return all
}
