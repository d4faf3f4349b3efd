package cluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"cluster-tests/harness"
)

// gitopsPage is the page that says what these tests find. What it tells users to write is read from there.
const gitopsPage = "../../docs/gitops.md"

// gitopsPrograms is where `make cluster-programs` has put those of gitops/.
const gitopsPrograms = "../../target/cluster/gitops"

// programs builds them where their sources have changed: to look through all that Argo CD links takes Go ten seconds. They have a
// module of their own: Argo CD and Flux want other versions of Kubernetes' libraries than the cluster is built from.
var programs = sync.OnceValues(func() (string, error) {
	folder, err := filepath.Abs(gitopsPrograms)
	if err != nil {
		return "", err
	}
	changed, err := newest("gitops")
	if err != nil {
		return "", err
	}
	oldest := time.Now()
	for _, name := range []string{"argocd-diff", "flux-apply"} {
		built, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			oldest = time.Time{}
			break
		}
		if built.ModTime().Before(oldest) {
			oldest = built.ModTime()
		}
	}
	if oldest.After(changed) {
		return folder, nil
	}
	if out, err := exec.Command("go", "build", "-C", "gitops", "-o", folder+"/", "./...").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build in gitops/: %w: %s", err, out)
	}
	return folder, nil
})

// newest is when something below a folder was changed last.
func newest(folder string) (time.Time, error) {
	last := time.Time{}
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := entry.Info()
		if err == nil && file.ModTime().After(last) {
			last = file.ModTime()
		}
		return err
	})
	return last, err
}

// A finding is what a tool says of one object: gitops/report has the same.
type finding struct {
	Kind, Name, Error string
	Drift, Applied    bool
	Fields            []string
}

func (f finding) String() string {
	return fmt.Sprintf("%s %s: drift %t in %v, applied %t, error %q", f.Kind, f.Name, f.Drift, f.Fields, f.Applied, f.Error)
}

// findings are those of all objects, by their kinds: each test has one of a kind.
type findings map[string]finding

// drift is where the tool sees a difference.
func (f findings) drift() map[string][]string {
	drift := map[string][]string{}
	for kind, finding := range f {
		if finding.Drift {
			drift[kind] = finding.Fields
		}
	}
	return drift
}

// A tool applies manifests from Git, and compares the cluster with them.
type tool struct {
	name, program string
	// settings are the tool's own object that its user writes: an Application, a Kustomization, a HelmRelease.
	settings string
	// compare and sync are the program's arguments. Without any, kubectl applies as Helm does.
	compare, sync []string
}

func (u tool) run(t *testing.T, space, manifests string, arguments ...string) findings {
	t.Helper()
	folder, err := programs()
	must(t, err)
	if u.settings != "" {
		file := filepath.Join(t.TempDir(), "settings.yaml")
		must(t, os.WriteFile(file, []byte(u.settings), 0o644))
		flag := "-settings"
		if u.program == "argocd-diff" {
			flag = "-application"
		}
		arguments = append(arguments, flag, file)
	}
	arguments = append([]string{"-kubeconfig", filepath.Join(cluster.Folder, "admin.kubeconfig"), "-namespace", space}, arguments...)
	command := exec.Command(filepath.Join(folder, u.program), arguments...)
	command.Stdin = strings.NewReader(manifests)
	out, err := command.Output()
	if err != nil {
		var failed *exec.ExitError
		errors.As(err, &failed)
		t.Fatalf("%s: %v: %s", u.program, err, failed.Stderr)
	}
	var list []finding
	must(t, json.Unmarshal(out, &list))
	found := findings{}
	for _, finding := range list {
		found[finding.Kind] = finding
	}
	return found
}

// compares asks the tool what it shows its user.
func (u tool) compares(t *testing.T, space, manifests string) findings {
	t.Helper()
	return u.run(t, space, manifests, u.compare...)
}

// syncs applies, and answers with what the tool saw before.
func (u tool) syncs(t *testing.T, space, manifests string) findings {
	t.Helper()
	if u.sync == nil {
		found := u.compares(t, space, manifests)
		succeeds(t, apply(manifests, space, "--server-side", "--force-conflicts", "--field-manager", "helm-controller"))
		return found
	}
	return u.run(t, space, manifests, u.sync...)
}

// works is a sync in which nothing goes wrong.
func (u tool) works(t *testing.T, space, manifests string) findings {
	t.Helper()
	found := u.syncs(t, space, manifests)
	for _, finding := range found {
		if finding.Error != "" {
			t.Fatalf("%s: %v", u.name, finding)
		}
	}
	return found
}

func argo(name, application string) tool {
	return tool{name: name, program: "argocd-diff", settings: application, sync: []string{"-sync"}}
}

var (
	argoClient = argo("Argo CD", "spec: {}")
	argoServer = argo("Argo CD, server-side apply", "spec: {syncPolicy: {syncOptions: [ServerSideApply=true]}}")
	flux       = tool{name: "Flux", program: "flux-apply", sync: []string{"-apply"}}
	helm       = tool{name: "Flux, HelmRelease", program: "flux-apply", compare: []string{"-helm"}}
)

// written is the manifest on the page that has these words.
func written(t *testing.T, words ...string) string {
	t.Helper()
	page, err := os.ReadFile(gitopsPage)
	must(t, err)
	for _, part := range strings.Split(string(page), "```yaml manifest\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		missing := false
		for _, word := range words {
			missing = missing || !strings.Contains(block, word)
		}
		if !missing {
			return block
		}
	}
	t.Fatalf("%s has no manifest with %q", gitopsPage, words)
	return ""
}

// withOption is an Application of the page with one more of its syncOptions.
func withOption(application, option string) string {
	return strings.Replace(application, "selfHeal: true}", "selfHeal: true}, syncOptions: ["+option+"]", 1)
}

// ifNotPresent is what has Flux create an object, and leave it alone after that.
const ifNotPresent = "kustomize.toolkit.fluxcd.io/ssa: IfNotPresent"

// annotated is a manifest of one object with an annotation.
func annotated(manifest, annotation string) string {
	return strings.Replace(manifest, "metadata: {name:", "metadata: {annotations: {"+annotation+"}, name:", 1)
}

// An app is what a team has in Git: a Deployment, a StatefulSet, a CronJob, a Job and a Pod, each with an image of its own.
type app struct {
	key    string
	images map[string]harness.Image
}

var kinds = []string{"Deployment", "StatefulSet", "CronJob", "Job", "Pod"}

// imagePath is where a kind has its image.
var imagePath = map[string]string{
	"Deployment": "/spec/template/spec/containers/0/image", "StatefulSet": "/spec/template/spec/containers/0/image", "Job": "/spec/template/spec/containers/0/image",
	"CronJob": "/spec/jobTemplate/spec/template/spec/containers/0/image", "Pod": "/spec/containers/0/image",
}

// drifted is drift in the images of these kinds, and nowhere else.
func drifted(kinds ...string) map[string][]string {
	drift := map[string][]string{}
	for _, kind := range kinds {
		drift[kind] = []string{imagePath[kind]}
	}
	return drift
}

// makeApp pushes its images under a tag, scanned, in another build for each salt.
func makeApp(t *testing.T, key, tag, salt string) app {
	t.Helper()
	made := app{key: key, images: map[string]harness.Image{}}
	for _, kind := range kinds {
		image, err := cluster.Registry.Push("gitops/"+key+"-"+strings.ToLower(kind), tag, salt+kind, amd64, "linux/arm64")
		must(t, err)
		must(t, cluster.Report(image, amd64, clean))
		made.images[kind] = image
	}
	return made
}

func tagged(image harness.Image) string { return image.Name }

// manifests are those of some kinds, with their images written in a way.
func (a app) manifests(write func(harness.Image) string, kinds ...string) string {
	var texts []string
	for _, kind := range kinds {
		name, image := strings.ToLower(kind), write(a.images[kind])
		template := func(indent, more string) string {
			return fmt.Sprintf("%[1]stemplate:\n%[1]s  metadata: {labels: {app: %[2]s}}\n%[1]s  spec:\n%[3]s%[4]s", indent, name, more, containers(indent+"    ", []string{image}))
		}
		texts = append(texts, map[string]string{
			"Deployment":  deployment(name, 1, image),
			"StatefulSet": "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: statefulset}\nspec:\n  serviceName: db\n  selector: {matchLabels: {app: statefulset}}\n" + template("  ", ""),
			"CronJob":     "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: cronjob}\nspec:\n  schedule: \"0 3 * * *\"\n  suspend: true\n  jobTemplate:\n    spec:\n" + template("      ", "          restartPolicy: Never\n"),
			"Job":         "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec:\n" + template("  ", "      restartPolicy: Never\n"),
			"Pod":         pod(name, image),
		}[kind])
	}
	return strings.Join(texts, "---\n")
}

// state is what the cluster has of the app: for each kind the version, which counts every write, and the image.
type state struct{ version, generation, image string }

func states(t *testing.T, space string, kinds ...string) map[string]state {
	t.Helper()
	found := map[string]state{}
	for _, kind := range kinds {
		answer := succeeds(t, cluster.Kubectl("get", kind, strings.ToLower(kind), "--namespace", space, "--output", "jsonpath={.metadata.resourceVersion}|{.metadata.generation}|{.spec.containers[*].image}{.spec.template.spec.containers[*].image}{.spec.jobTemplate.spec.template.spec.containers[*].image}"))
		fields := strings.Split(strings.TrimSpace(answer.Out), "|")
		// Pods have a generation since Kubernetes 1.33.
		if len(fields) != 3 || fields[0] == "" || fields[1] == "" && kind != "Pod" || fields[2] == "" {
			t.Fatalf("the %s is %q: no version, generation and image", kind, answer.Out)
		}
		found[kind] = state{fields[0], fields[1], fields[2]}
	}
	return found
}

func same(t *testing.T, what string, found, wanted map[string][]string) {
	t.Helper()
	if !reflect.DeepEqual(found, wanted) {
		t.Fatalf("%s: there is drift in %v, not in %v", what, found, wanted)
	}
}

// What Argo CD and Flux say of what the policy has pinned, whether they fight with it, and what becomes of a new tag and of one
// that moved: the table of docs/gitops.md.
func TestGitOps(t *testing.T) {
	argoDiff := argo("Argo CD, server-side diff", written(t, "kind: Application", "ServerSideDiff=true"))
	argoBoth := argo("Argo CD, server-side apply and diff", withOption(argoDiff.settings, "ServerSideApply=true"))
	for _, level := range []struct {
		name string
		// pinned are the kinds of `pin.kinds`: none where it is left out.
		pinned []string
		rows   []*gitOpsRow
	}{
		{"Pods alone", nil, []*gitOpsRow{
			{tool: argoClient, drift: []string{"Pod"}}, {tool: argoServer, drift: []string{"Pod"}},
			{tool: argoDiff}, {tool: argoBoth}, {tool: flux}, {tool: helm},
		}},
		{"all kinds", kinds, []*gitOpsRow{
			{tool: argoClient, drift: kinds}, {tool: argoServer, drift: kinds},
			{tool: argoDiff}, {tool: argoBoth}, {tool: flux}, {tool: helm},
		}},
	} {
		t.Run(level.name, func(t *testing.T) {
			deployPin(t, level.pinned)
			pinned := map[string]bool{"Pod": true}
			for _, kind := range level.pinned {
				pinned[kind] = true
			}
			for index, row := range level.rows {
				row.space, row.key = namespace(t), fmt.Sprintf("row-%d-%d", len(level.pinned), index)
			}
			together := func(name string, test func(*gitOpsRow, *testing.T, map[string]bool)) {
				t.Run(name, func(t *testing.T) {
					for _, row := range level.rows {
						t.Run(row.tool.name, func(t *testing.T) {
							t.Parallel()
							test(row, t, pinned)
						})
					}
				})
			}
			together("applied", (*gitOpsRow).isApplied)
			together("a new tag", (*gitOpsRow).hasANewTag)
			// Policy servers keep a tag's digest for a while; new ones ask the registry. All rows are done with the old ones.
			must(t, cluster.RestartPolicyServers())
			together("a tag moved", (*gitOpsRow).hasATagThatMoved)
		})
	}
}

// A gitOpsRow is a tool, and what it has applied.
type gitOpsRow struct {
	tool tool
	// drift are the kinds in which the tool sees drift for ever.
	drift           []string
	space, key, git string
	moved           app
	before          map[string]state
}

// movable are the kinds whose image may change: nobody may change a Job's, with or without a policy.
var movable = []string{"Deployment", "StatefulSet", "CronJob", "Pod"}

func (r *gitOpsRow) isApplied(t *testing.T, pinned map[string]bool) {
	first := makeApp(t, r.key, "1.0", "first build")
	r.git = first.manifests(tagged, kinds...)
	r.tool.works(t, r.space, r.git)
	for kind, now := range states(t, r.space, kinds...) {
		wanted := first.images[kind].Name
		if pinned[kind] {
			wanted = first.images[kind].Pinned()
		}
		if now.image != wanted {
			t.Errorf("the %s has %s, not %s", kind, now.image, wanted)
		}
	}
	same(t, "as applied", r.tool.compares(t, r.space, r.git).drift(), drifted(r.drift...))
	quietSyncs(t, r.tool, r.space, r.git, drifted(r.drift...))
}

// hasANewTag in Git, which somebody pushes again after that.
func (r *gitOpsRow) hasANewTag(t *testing.T, _ map[string]bool) {
	second := makeApp(t, r.key, "2.0", "second build")
	r.git = second.manifests(tagged, movable...)
	seen := r.tool.works(t, r.space, r.git)
	for _, kind := range movable {
		if !seen[kind].Drift {
			t.Errorf("a new tag in Git is no drift: %v", seen[kind])
		}
	}
	r.before = states(t, r.space, movable...)
	for kind, now := range r.before {
		if !strings.HasPrefix(now.image, second.images[kind].Name) {
			t.Errorf("the %s has %s after a sync of %s", kind, now.image, second.images[kind].Name)
		}
	}
	r.moved = makeApp(t, r.key, "2.0", "third build")
}

// hasATagThatMoved: a sync resolves it in what is pinned, and in nothing else.
func (r *gitOpsRow) hasATagThatMoved(t *testing.T, pinned map[string]bool) {
	seen := r.tool.works(t, r.space, r.git)
	for kind, now := range states(t, r.space, movable...) {
		before := r.before[kind]
		if seen[kind].Drift != pinned[kind] {
			t.Errorf("the tag moved under what is pinned: %t; the tool says %v", pinned[kind], seen[kind])
		}
		switch {
		case pinned[kind] && (now.image != r.moved.images[kind].Pinned() || now.generation != "" && now.generation == before.generation):
			t.Errorf("the %s has %s after its tag moved to %s", kind, now.image, r.moved.images[kind].Pinned())
		case !pinned[kind] && (now.image != before.image || now.generation != before.generation):
			t.Errorf("the %s went from %v to %v, with nothing new in Git", kind, before, now)
		}
	}
	same(t, "after the tag moved and a sync", r.tool.compares(t, r.space, r.git).drift(), drifted(intersect(r.drift, movable)...))
}

// intersect are those of a list that are in another.
func intersect(list, other []string) []string {
	var both []string
	for _, entry := range list {
		for _, same := range other {
			if entry == same {
				both = append(both, entry)
			}
		}
	}
	return both
}

func deployPin(t *testing.T, kinds []string) {
	t.Helper()
	if kinds == nil {
		deploy(t, harness.Deployment{})
		return
	}
	deploy(t, harness.Deployment{Settings: map[string]any{"pin": map[string]any{"kinds": kinds}}})
}

// quietSyncs sees the same drift in sync after sync, of which the cluster keeps no trace: once the controllers have written their
// statuses, three in a row leave every version as it is.
func quietSyncs(t *testing.T, tool tool, space, git string, drift map[string][]string) {
	t.Helper()
	quiet := 0
	eventually(t, 60*time.Second, func() error {
		for quiet < 3 {
			before := states(t, space, kinds...)
			same(t, fmt.Sprintf("sync after %d quiet ones", quiet), tool.works(t, space, git).drift(), drift)
			if after := states(t, space, kinds...); !reflect.DeepEqual(before, after) {
				quiet = 0
				return fmt.Errorf("a sync of what is there already changes it from %v to %v", before, after)
			}
			quiet++
		}
		return nil
	})
}

// What the page says of Flux's settings: which of them let a new tag through.
func TestGitOpsFluxSettings(t *testing.T) {
	deployPin(t, kinds)
	ignoring := flux
	ignoring.settings = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop}\nspec:\n  ignore: [{paths: [/spec/template/spec/containers/0/image], target: {kind: Deployment}}]\n"
	for index, row := range []struct {
		tool       tool
		annotation string
		through    bool
	}{
		{flux, "team: shop", true},
		{flux, "kustomize.toolkit.fluxcd.io/ssa: Merge", true},
		{flux, ifNotPresent, false},
		{ignoring, "team: shop", false},
	} {
		t.Run(fmt.Sprint(index), func(t *testing.T) {
			space, key := namespace(t), fmt.Sprintf("flux-%d", index)
			row.tool.works(t, space, annotated(makeApp(t, key, "1.0", "first build").manifests(tagged, "Deployment"), row.annotation))
			second := makeApp(t, key, "2.0", "second build")
			row.tool.works(t, space, annotated(second.manifests(tagged, "Deployment"), row.annotation))
			after := states(t, space, "Deployment")["Deployment"].image
			if through := after == second.images["Deployment"].Pinned(); through != row.through {
				t.Errorf("with %s and %q a new tag gets through: %t; the Deployment has %s", row.annotation, row.tool.settings, through, after)
			}
		})
	}
}

// Digests in Git are no drift for anybody, where they are what the policy pins: of the one platform that is listed. The digest of
// the index is another.
func TestGitOpsDigestsInGit(t *testing.T) {
	deployPin(t, kinds)
	rows := []*gitOpsRow{{tool: argoClient}, {tool: argoServer}, {tool: flux}}
	for index, row := range rows {
		row.space, row.key = namespace(t), fmt.Sprintf("digest-%d", index)
		t.Run(row.tool.name, func(t *testing.T) {
			row.git = makeApp(t, row.key, "1.0", "build").manifests(harness.Image.Pinned, kinds...)
			row.tool.works(t, row.space, row.git)
			same(t, "with digests in Git", row.tool.compares(t, row.space, row.git).drift(), drifted())
			quietSyncs(t, row.tool, row.space, row.git, drifted())
		})
	}
	// The tags may move: what is in Git decides.
	for _, row := range rows {
		makeApp(t, row.key, "1.0", "another build")
	}
	must(t, cluster.RestartPolicyServers())
	for _, row := range rows {
		t.Run(row.tool.name+", after the tag moved", func(t *testing.T) {
			quietSyncs(t, row.tool, row.space, row.git, drifted())
		})
	}
	space := namespace(t)
	git := makeApp(t, "digest-index", "1.0", "build").manifests(func(image harness.Image) string { return image.Name + "@" + image.Digest }, kinds...)
	argoClient.works(t, space, git)
	same(t, "with digests of indexes in Git", argoClient.compares(t, space, git).drift(), drifted(kinds...))
}

// A Job that is pinned can't be applied again after its tag has moved: nobody may change its image. Whatever else is in Git then
// waits with it, where the tool applies all or nothing.
func TestGitOpsOfAPinnedJobWhoseTagMoved(t *testing.T) {
	argoDiff := argo("Argo CD, server-side diff", written(t, "kind: Application", "ServerSideDiff=true"))
	written(t, "kind: Job", ifNotPresent)
	for _, level := range []struct {
		pinned []string
		rows   []jobRow
	}{
		{kinds, []jobRow{
			{tool: argoClient, fails: true}, {tool: argoDiff, fails: true, blocks: true}, {tool: flux, fails: true, blocks: true},
			{tool: flux, once: true},
		}},
		{nil, []jobRow{{tool: argoClient}, {tool: argoDiff}, {tool: flux}}},
	} {
		deployPin(t, level.pinned)
		for index := range level.rows {
			row := &level.rows[index]
			row.key, row.space = fmt.Sprintf("job-%d-%d", len(level.pinned), index), namespace(t)
			row.tool.works(t, row.space, row.git(makeApp(t, row.key, "1.0", "first build"), "1.0"))
			makeApp(t, row.key, "1.0", "second build")
		}
		must(t, cluster.RestartPolicyServers())
		for index, row := range level.rows {
			t.Run(fmt.Sprintf("%s, %d kinds, %d", row.tool.name, len(level.pinned), index), func(t *testing.T) {
				// The Deployment gets a new tag in the same commit.
				next := makeApp(t, row.key, "2.0", "third build")
				found := row.tool.syncs(t, row.space, row.git(next, "1.0"))["Job"]
				if row.fails != strings.Contains(found.Error, "field is immutable") || !row.fails && found.Error != "" {
					t.Errorf("a sync after the tag moved should fail: %t; it is %v", row.fails, found)
				}
				image := states(t, row.space, "Deployment")["Deployment"].image
				if through := strings.HasPrefix(image, next.images["Deployment"].Name); through == row.blocks {
					t.Errorf("the Job should keep the Deployment from its new tag: %t; it has %s", row.blocks, image)
				}
			})
		}
	}
}

// A jobRow is a tool that applies a Job and a Deployment.
type jobRow struct {
	tool tool
	// fails is whether the Job can't be applied again, blocks whether nothing else can then, once whether Flux is told to create
	// the Job once.
	fails, blocks, once bool
	key, space          string
}

// git has the Deployment of an app, and the Job with another tag.
func (r jobRow) git(made app, tag string) string {
	job := made.manifests(func(image harness.Image) string {
		return strings.TrimSuffix(image.Name, image.Tag) + tag
	}, "Job")
	if r.once {
		job = annotated(job, ifNotPresent)
	}
	return made.manifests(tagged, "Deployment") + "---\n" + job
}

// What Argo CD's users are told elsewhere to ignore: the image. It hides new tags too.
func TestGitOpsIgnoredImages(t *testing.T) {
	deployPin(t, nil)
	ignoring := written(t, "kind: Application", "jqPathExpressions")
	space := namespace(t)
	first := makeApp(t, "ignored", "1.0", "first build")
	tool := argo("Argo CD, image ignored", ignoring)
	tool.works(t, space, first.manifests(tagged, "Pod"))
	same(t, "with the image ignored", tool.compares(t, space, first.manifests(tagged, "Pod")).drift(), drifted())

	second := makeApp(t, "ignored", "2.0", "second build").manifests(tagged, "Pod")
	same(t, "with a new tag in Git, and the image ignored", tool.compares(t, space, second).drift(), drifted())
	before := states(t, space, "Pod")
	tool.sync = []string{"-heal"}
	tool.works(t, space, second)
	if after := states(t, space, "Pod"); !reflect.DeepEqual(before, after) {
		t.Errorf("an automatic sync applied the new tag, which the page says it doesn't: %v to %v", before, after)
	}
	// Somebody presses Sync: with RespectIgnoreDifferences it keeps the old image even then.
	respects := argo("Argo CD, image ignored and respected", withOption(ignoring, "RespectIgnoreDifferences=true"))
	respects.works(t, space, second)
	if after := states(t, space, "Pod"); after["Pod"].image != before["Pod"].image {
		t.Errorf("RespectIgnoreDifferences lets a new image through, which the page says it doesn't: %v to %v", before, after)
	}
	tool.sync = []string{"-sync"}
	tool.works(t, space, second)
	if after := states(t, space, "Pod"); !strings.Contains(after["Pod"].image, ":2.0@") {
		t.Errorf("a sync by hand doesn't apply the new tag, which the page says it does: %v", after)
	}
}

// No manager of fields stands for the policy, so that managedFieldsManagers has nobody to name but Argo CD itself.
func TestGitOpsManagersOfAPinnedImage(t *testing.T) {
	deployPin(t, nil)
	for name, tool := range map[string]tool{"client-side": argoClient, "server-side": argoServer, "flux": flux} {
		t.Run(name, func(t *testing.T) {
			space := namespace(t)
			tool.works(t, space, makeApp(t, "managers-"+name, "1.0", "build").manifests(tagged, "Pod"))
			answer := succeeds(t, cluster.Kubectl("get", "pod", "pod", "--namespace", space, "--show-managed-fields", "--output", "json"))
			var object struct {
				Metadata struct {
					ManagedFields []struct {
						Manager  string
						FieldsV1 json.RawMessage
					}
				}
			}
			must(t, json.Unmarshal([]byte(answer.Out), &object))
			wanted := "argocd-controller"
			if name == "flux" {
				wanted = "kustomize-controller"
			}
			var managers []string
			for _, entry := range object.Metadata.ManagedFields {
				if strings.Contains(string(entry.FieldsV1), `"f:image"`) {
					managers = append(managers, entry.Manager)
				}
			}
			if !reflect.DeepEqual(managers, []string{wanted}) {
				t.Errorf("the image belongs to %v, not to %s alone", managers, wanted)
			}
		})
	}
}

// A Pod that somebody else applied server-side, and that is pinned, is taken over without a word: kubectl needs --force-conflicts.
func TestGitOpsTakesAPinnedPodOver(t *testing.T) {
	deployPin(t, nil)
	for name, tool := range map[string]tool{"argo": argoServer, "flux": flux} {
		t.Run(name, func(t *testing.T) {
			space := namespace(t)
			made := makeApp(t, "taken-"+name, "1.0", "build")
			git := made.manifests(tagged, "Pod")
			succeeds(t, apply(git, space, "--server-side", "--field-manager", "first"))
			contains(t, apply(git, space, "--server-side", "--field-manager", "second").Err, `conflict with "first": .spec.containers[name="c1"].image`)
			tool.works(t, space, git)
			if after := states(t, space, "Pod")["Pod"].image; after != made.images["Pod"].Pinned() {
				t.Errorf("the Pod has %s, not %s", after, made.images["Pod"].Pinned())
			}
		})
	}
}
