// Writes which entries of an index nodes take, and how platforms are read, by the code of the runtimes themselves: containerd's
// package of platforms in its newest version and its oldest in use, and containers/image, as CRI-O and podman have it.
//
//	go run -tags containers_image_openpgp ./platforms >../../../crates/judgement/tests/platforms/taken.json
//
// "names" has every pair of an architecture and a variant, and what the newest and the oldest make of it. A group has entries, and every index of
// up to four of them, in the order in which `indexes` makes them. For each platform that settings may list, "taken" has a hexadecimal
// digit for each of these indexes: its lowest bit is set if some node of the platform takes the index's first entry, and so on.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	oldest "containerd.test/platforms"
	newest "github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
	"go.podman.io/image/v5/manifest"
	"go.podman.io/image/v5/types"
)

const mostEntries = 4

type platform struct {
	Asked string `json:"asked"`
	Taken string `json:"taken"`
}

type group struct {
	// Platforms of entries; null for an entry that has none.
	Entries   []*specs.Platform `json:"entries"`
	Platforms []platform        `json:"platforms"`
}

type table struct {
	Names     []string `json:"names"`
	Questions int      `json:"questions"`
	Groups    []group  `json:"groups"`
}

// matcher is what both versions of containerd's package have.
type matcher interface {
	Match(specs.Platform) bool
	Less(specs.Platform, specs.Platform) bool
}

// node takes one of an index's entries: its place, or none.
type node func(index []*specs.Platform) (int, bool)

// containerd chooses as its image service does: an entry without a platform may be any, and comes last.
func containerd(m matcher) node {
	return func(index []*specs.Platform) (int, bool) {
		var places []int
		for place, entry := range index {
			if entry == nil || m.Match(*entry) {
				places = append(places, place)
			}
		}
		if len(places) == 0 {
			return 0, false
		}
		slices.SortStableFunc(places, func(a, b int) int {
			left, right := index[a], index[b]
			switch {
			case left == nil:
				return 0
			case right == nil || m.Less(*left, *right):
				return -1
			case m.Less(*right, *left):
				return 1
			}
			return 0
		})
		return places[0], true
	}
}

// digests of entries by their places.
var digests = []digest.Digest{digest.FromString("0"), digest.FromString("1"), digest.FromString("2"), digest.FromString("3")}

// containersImage chooses as CRI-O and podman do, in an OCI index or in Docker's list.
func containersImage(system *types.SystemContext, list, entry string) node {
	return func(index []*specs.Platform) (int, bool) {
		var entries []specs.Descriptor
		for place, platform := range index {
			entries = append(entries, specs.Descriptor{MediaType: entry, Digest: digests[place], Size: 1, Platform: platform})
		}
		raw, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": list, "manifests": entries})
		if err != nil {
			panic(err)
		}
		read, err := manifest.ListFromBlob(raw, list)
		if err != nil {
			panic(err)
		}
		chosen, err := read.ChooseInstance(system)
		return slices.Index(digests, chosen), err == nil
	}
}

// nodesOf are those that a platform of the settings stands for: with the variant that it names, or with any.
func nodesOf(asked string) []node {
	parts := append(strings.Split(asked, "/"), "")
	system, architecture, variants := parts[0], parts[1], []string{parts[2]}
	newer, versions := []string{}, []string{""}
	if parts[2] != "" && architecture != "arm" {
		// Those that aren't told: no runtime finds it out by itself.
		variants = append(variants, "")
	}
	if parts[2] == "" {
		switch architecture {
		case "amd64":
			variants = append(variants, "v2", "v3", "v4")
		case "arm":
			variants = []string{"v5", "v6", "v7", "v8"}
		case "arm64":
			// None finds out a newer variant by itself, and the newest containerd alone knows them.
			variants = append(variants, "v8")
			newer = append(newer, "v8.1", "v8.5", "v8.9", "v9", "v9.2", "v9.7")
		}
	}
	if system == "windows" {
		versions = append(versions, "10.0.17763.1", "10.0.20348.1", "10.0.26100.1")
	}
	var nodes []node
	for _, variant := range slices.Concat(variants, newer) {
		isKnown := !slices.Contains(newer, variant)
		for _, version := range versions {
			own := specs.Platform{OS: system, Architecture: architecture, Variant: variant, OSVersion: version}
			nodes = append(nodes, containerd(newest.Only(own)))
			if isKnown {
				nodes = append(nodes, containerd(oldest.Only(own)))
			}
		}
		if isKnown {
			choice := &types.SystemContext{OSChoice: system, ArchitectureChoice: architecture, VariantChoice: variant}
			nodes = append(nodes,
				containersImage(choice, specs.MediaTypeImageIndex, specs.MediaTypeImageManifest),
				containersImage(choice, manifest.DockerV2ListMediaType, manifest.DockerV2Schema2MediaType))
		}
	}
	return nodes
}

// indexes of one entry, of two, and so on; each with its entries in their order.
func indexes(entries int) [][]int {
	var made [][]int
	last := [][]int{nil}
	for range mostEntries {
		var next [][]int
		for _, index := range last {
			first := 0
			if len(index) > 0 {
				first = index[len(index)-1] + 1
			}
			for entry := first; entry < entries; entry++ {
				next = append(next, append(slices.Clone(index), entry))
			}
		}
		made, last = append(made, next...), next
	}
	return made
}

// orders of so many entries.
func orders(length int) [][]int {
	if length == 0 {
		return [][]int{nil}
	}
	var made [][]int
	for _, order := range orders(length - 1) {
		for place := range length {
			made = append(made, slices.Insert(slices.Clone(order), place, length-1))
		}
	}
	return made
}

func (t *table) add(asked []string, entries ...*specs.Platform) {
	made := group{Entries: entries}
	for _, platformAsked := range asked {
		var taken strings.Builder
		nodes := nodesOf(platformAsked)
		for _, index := range indexes(len(entries)) {
			bits := 0
			for _, order := range orders(len(index)) {
				var ordered []*specs.Platform
				for _, place := range order {
					ordered = append(ordered, entries[index[place]])
				}
				for _, node := range nodes {
					t.Questions++
					if place, found := node(ordered); found {
						bits |= 1 << order[place]
					}
				}
			}
			fmt.Fprintf(&taken, "%x", bits)
		}
		made.Platforms = append(made.Platforms, platform{platformAsked, taken.String()})
	}
	t.Groups = append(t.Groups, made)
}

func (t *table) addNames() {
	architectures := []string{
		"386", "i386", "amd64", "x86_64", "x86-64", "AMD64", "X86_64", "arm64", "aarch64", "ARM64", "arm", "armhf", "armel", "Armhf",
		"s390x", "ppc64le", "riscv64",
	}
	variants := []string{
		"", "v1", "1", "V1", "v2", "v3", "v4", "5", "6", "7", "8", "9", "v5", "v6", "v7", "v8", "v9", "V8", "8.0", "v8.0", "9.0", "v9.0",
		"8.1", "v8.1", "v9.7", "zzz",
	}
	for _, architecture := range architectures {
		for _, variant := range variants {
			read := newest.Normalize(specs.Platform{OS: "linux", Architecture: architecture, Variant: variant})
			before := oldest.Normalize(specs.Platform{OS: "linux", Architecture: architecture, Variant: variant})
			t.Names = append(t.Names, fmt.Sprintf("%s/%s %s/%s %s/%s", architecture, variant, read.Architecture, read.Variant, before.Architecture, before.Variant))
		}
	}
}

func linux(architecture, variant string) *specs.Platform {
	return &specs.Platform{OS: "linux", Architecture: architecture, Variant: variant}
}

func windows(architecture, version string, features ...string) *specs.Platform {
	return &specs.Platform{OS: "windows", Architecture: architecture, OSVersion: version, OSFeatures: features}
}

func main() {
	var t table
	t.addNames()
	t.add([]string{"linux/amd64", "linux/amd64/v1", "linux/amd64/v2", "linux/amd64/v3", "linux/386"},
		linux("amd64", ""), linux("amd64", "v1"), linux("amd64", "v2"), linux("amd64", "v3"), linux("amd64", "V3"), linux("amd64", "zzz"), linux("x86_64", ""),
		&specs.Platform{OS: "linux", Architecture: "amd64", OSFeatures: []string{"sgx"}},
		&specs.Platform{OS: "linux", Architecture: "amd64", OSVersion: "6.1"},
		linux("386", ""), linux("i386", "v3"), linux("arm64", ""), nil, &specs.Platform{})
	t.add([]string{"linux/arm64", "linux/arm64/v8", "linux/arm64/v9", "linux/arm64/v8.1", "linux/arm", "linux/arm/v5", "linux/arm/v6", "linux/arm/v7", "linux/arm/v8"},
		linux("arm64", ""), linux("arm64", "v8"), linux("arm64", "8"), linux("arm64", "9.0"), linux("arm64", "v8.1"), linux("aarch64", ""),
		linux("arm", ""), linux("arm", "v7"), linux("arm", "8"), linux("armhf", "v6"), linux("armel", ""), linux("arm", "v5"), linux("arm", "zzz"), nil)
	t.add([]string{"linux/s390x", "linux/s390x/z13", "linux/riscv64"},
		linux("s390x", ""), linux("s390x", "z13"), linux("S390X", ""), &specs.Platform{Architecture: "s390x"}, linux("riscv64", ""), linux("riscv64", "v1"), nil,
		&specs.Platform{OS: "Linux", Architecture: "s390x"})
	t.add([]string{"windows/amd64"},
		windows("amd64", ""), windows("amd64", "10.0.17763.1"), windows("amd64", "10.0.20348.9"), windows("amd64", "10.0.20348.1", "win32k"), windows("amd64", "", "sgx"),
		windows("386", ""), windows("386", "10.0.26100.1"), linux("amd64", ""), nil)

	written := json.NewEncoder(os.Stdout)
	written.SetIndent("", " ")
	if err := written.Encode(t); err != nil {
		panic(err)
	}
}
