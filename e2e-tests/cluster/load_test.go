package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cluster-tests/harness"
)

// What an attempt to create a Pod came to, as its user sees it.
type outcome string

const (
	admitted  outcome = "admitted"
	denied    outcome = "rejected by the policy"
	unreached outcome = "refused, the policy wasn't reached"
	apiAway   outcome = "the API server didn't answer"
)

// An attempt is one Pod that somebody wanted to create.
type attempt struct {
	started time.Time
	took    time.Duration
	// clean is whether its image may run.
	clean   bool
	outcome outcome
	message string
}

// A load is clients that create Pods, one after another, and delete what was admitted. Of three Pods, one may run, one has a
// finding, and one was not scanned.
type load struct {
	t        *testing.T
	space    string
	good     []harness.Image
	wrong    []harness.Image
	cancel   context.CancelFunc
	clients  sync.WaitGroup
	number   atomic.Int64
	mutex    sync.Mutex
	attempts []attempt
}

// startLoad has each client wait between its Pods.
func startLoad(t *testing.T, space string, clients int, pause time.Duration, good, wrong []harness.Image) *load {
	ctx, cancel := context.WithCancel(context.Background())
	running := &load{t: t, space: space, good: good, wrong: wrong, cancel: cancel}
	for range clients {
		running.clients.Add(1)
		go func() {
			defer running.clients.Done()
			for ctx.Err() == nil {
				running.create(ctx)
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		}()
	}
	t.Cleanup(cancel)
	return running
}

func (l *load) create(ctx context.Context) {
	number := int(l.number.Add(1))
	may, image := number%3 == 0, harness.Image{}
	if may {
		image = l.good[number/3%len(l.good)]
	} else {
		image = l.wrong[number%len(l.wrong)]
	}
	wanted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("load-%d", number)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c1", Image: image.Name}}}}
	// A client that is told to stop still hears what its Pod came to.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
	defer cancel()
	started := time.Now()
	created, err := cluster.Client.CoreV1().Pods(l.space).Create(limited, wanted, metav1.CreateOptions{})
	made := attempt{started: started, took: time.Since(started), clean: may, outcome: admitted}
	switch {
	case err == nil && created.Spec.Containers[0].Image != image.Pinned():
		l.t.Errorf("%s was admitted as %s, which isn't what was judged", image.Name, created.Spec.Containers[0].Image)
	case err == nil:
		zero := int64(0)
		_ = cluster.Client.CoreV1().Pods(l.space).Delete(limited, created.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	case strings.Contains(err.Error(), "denied the request"):
		made.outcome = denied
	case strings.Contains(err.Error(), "failed calling webhook"):
		made.outcome = unreached
	default:
		made.outcome = apiAway
	}
	if err != nil {
		made.message = err.Error()
	}
	if made.outcome == admitted && !may {
		l.t.Errorf("%s was admitted, and must never be", image.Name)
	}
	l.mutex.Lock()
	l.attempts = append(l.attempts, made)
	l.mutex.Unlock()
}

// stop ends the load, and says what its users saw.
func (l *load) stop() seen {
	l.cancel()
	l.clients.Wait()
	return l.soFar()
}

func (l *load) soFar() seen {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return seen{slices.Clone(l.attempts)}
}

// seen is what the users of a load saw.
type seen struct{ attempts []attempt }

// of counts the Pods that may run, or those that may not, by what they came to.
func (s seen) of(clean bool) map[outcome]int {
	counts := map[outcome]int{}
	for _, made := range s.attempts {
		if made.clean == clean {
			counts[made.outcome]++
		}
	}
	return counts
}

// gap is the longest time in which no Pod that may run was admitted.
func (s seen) gap() time.Duration {
	var ends []time.Time
	for _, made := range s.attempts {
		if made.clean && made.outcome == admitted {
			ends = append(ends, made.started.Add(made.took))
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	longest := time.Duration(0)
	for index := 1; index < len(ends); index++ {
		longest = max(longest, ends[index].Sub(ends[index-1]))
	}
	return longest
}

// messages are the different words that users saw for an outcome, without what differs from Pod to Pod.
func (s seen) messages(wanted outcome) []string {
	var all []string
	for _, made := range s.attempts {
		if made.outcome == wanted && !slices.Contains(all, made.message) && len(all) < 6 {
			all = append(all, made.message)
		}
	}
	return all
}

func (s seen) String() string {
	return fmt.Sprintf("Pods that may run: %v, longest time without one: %v; Pods that may not: %v", s.of(true), s.gap().Round(10*time.Millisecond), s.of(false))
}

// slowest is the longest that a user waited.
func (s seen) slowest() time.Duration {
	longest := time.Duration(0)
	for _, made := range s.attempts {
		longest = max(longest, made.took)
	}
	return longest
}
