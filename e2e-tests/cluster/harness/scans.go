package harness

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Scanning is how a scanner that is played does its work.
type Scanning struct {
	// Takes is how long a scan takes.
	Takes time.Duration
	// AtOnce is how many it does at once: 10 where it is zero.
	AtOnce int
	// Fails is that scans end without a report, Silent that none begins.
	Fails, Silent bool
	// Findings are what each report has.
	Findings Findings
}

// A Scan is one that somebody asked for, by the object that was made for it.
type Scan struct {
	// Object is the name of the CronJob or ScanJob, Image what it has scanned.
	Object, Image string
	// Asked is when the object was seen. Began and Ended are of the scan, Gone is when the object went: each zero where it didn't.
	Asked, Began, Ended, Gone time.Time
}

// waits is whether somebody waited for the scan at a time.
func (s Scan) waits(at time.Time) bool {
	return !s.Asked.After(at) && (s.Ended.IsZero() || s.Ended.After(at)) && (s.Gone.IsZero() || s.Gone.After(at))
}

// Scans are all that were asked for since a scanner is played, the oldest first.
type Scans []Scan

// AtOnce is the most that were waited for at one time.
func (s Scans) AtOnce() int {
	return s.most(func(scan, other Scan) bool { return other.waits(scan.Asked) })
}

// AMinute is the most that were asked for within any minute.
func (s Scans) AMinute() int {
	return s.most(func(scan, other Scan) bool {
		return !other.Asked.Before(scan.Asked) && other.Asked.Before(scan.Asked.Add(time.Minute))
	})
}

// most is the highest number of scans that count beside any one of them.
func (s Scans) most(counts func(scan, other Scan) bool) int {
	highest := 0
	for _, scan := range s {
		beside := 0
		for _, other := range s {
			if counts(scan, other) {
				beside++
			}
		}
		highest = max(highest, beside)
	}
	return highest
}

// Twice are the images that were asked for more than once.
func (s Scans) Twice() []string {
	var seen, twice []string
	for _, scan := range s {
		if slices.Contains(seen, scan.Image) && !slices.Contains(twice, scan.Image) {
			twice = append(twice, scan.Image)
		}
		seen = append(seen, scan.Image)
	}
	return twice
}

// Of are the scans of one image.
func (s Scans) Of(image string) Scans {
	return slices.DeleteFunc(slices.Clone(s), func(scan Scan) bool { return scan.Image != image })
}

// playedScanner is what all scanners that are played have: how they work now, and what they were asked for.
type playedScanner struct {
	cluster *Cluster
	client  dynamic.Interface
	ctx     context.Context
	cancel  context.CancelFunc

	mutex    sync.Mutex
	scanning Scanning
	scans    map[types.UID]*Scan
	running  int
}

func (c *Cluster) playScanner(scanning Scanning) (*playedScanner, error) {
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	return &playedScanner{cluster: c, client: client, ctx: ctx, cancel: cancel, scanning: scanning, scans: map[types.UID]*Scan{}}, nil
}

// Close ends it, also what it scans.
func (p *playedScanner) Close() { p.cancel() }

// Now changes how it works from now on.
func (p *playedScanner) Now(scanning Scanning) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.scanning = scanning
}

// Scans are those that it was asked for so far.
func (p *playedScanner) Scans() Scans {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var all Scans
	for _, scan := range p.scans {
		all = append(all, *scan)
	}
	slices.SortFunc(all, func(a, b Scan) int { return a.Asked.Compare(b.Asked) })
	return all
}

// watch scans for each object of a kind, once.
func (p *playedScanner) watch(resource schema.GroupVersionResource, namespace string, scan func(object *unstructured.Unstructured) error) error {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(p.client, 0, namespace, nil)
	_, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			object := added.(*unstructured.Unstructured)
			go func() {
				if err := scan(object); err != nil && p.ctx.Err() == nil {
					fmt.Fprintf(os.Stderr, "the scanner that is played: %s: %v\n", object.GetName(), err)
				}
			}()
		},
		DeleteFunc: func(deleted any) {
			if object, ok := deleted.(*unstructured.Unstructured); ok {
				p.note(object.GetUID(), func(scan *Scan) { scan.Gone = time.Now() })
			}
		},
	})
	if err != nil {
		return err
	}
	factory.Start(p.ctx.Done())
	return nil
}

// asked notes an object and what it has scanned.
func (p *playedScanner) asked(object *unstructured.Unstructured, image string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.scans[object.GetUID()] = &Scan{Object: object.GetName(), Image: image, Asked: time.Now()}
}

func (p *playedScanner) note(object types.UID, change func(*Scan)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if scan := p.scans[object]; scan != nil {
		change(scan)
	}
}

// scan waits for its turn, takes its time, and writes what comes of it.
func (p *playedScanner) scan(object types.UID, write func(Scanning) error) error {
	scanning, err := p.turn()
	if err != nil {
		return err
	}
	defer func() {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.running--
	}()
	p.note(object, func(scan *Scan) { scan.Began = time.Now() })
	select {
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-time.After(scanning.Takes):
	}
	err = write(scanning)
	p.note(object, func(scan *Scan) { scan.Ended = time.Now() })
	return err
}

// turn waits until one scan more may run.
func (p *playedScanner) turn() (Scanning, error) {
	for {
		p.mutex.Lock()
		scanning := p.scanning
		atOnce := scanning.AtOnce
		if atOnce == 0 {
			atOnce = 10
		}
		free := !scanning.Silent && p.running < atOnce
		if free {
			p.running++
		}
		p.mutex.Unlock()
		if free {
			return scanning, nil
		}
		select {
		case <-p.ctx.Done():
			return scanning, p.ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
