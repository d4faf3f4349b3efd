package harness

import (
	"slices"
	"testing"
	"time"
)

func TestScans(t *testing.T) {
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	scans := Scans{
		{Image: "a", Asked: at(0), Ended: at(10)},
		{Image: "b", Asked: at(5), Gone: at(20)},
		{Image: "c", Asked: at(10), Ended: at(90)},
		{Image: "a", Asked: at(61), Ended: at(70)},
		{Image: "d", Asked: at(64)},
	}
	if found := scans.AtOnce(); found != 3 {
		t.Errorf("%d were waited for at once, not 3: c, a and d", found)
	}
	if found := scans.AMinute(); found != 4 {
		t.Errorf("%d were asked for in a minute, not 4: from b to d", found)
	}
	if found := scans.Twice(); !slices.Equal(found, []string{"a"}) {
		t.Errorf("%v were asked for twice, not a", found)
	}
	if found := scans.Of("a"); len(found) != 2 {
		t.Errorf("a was asked for %d times, not twice", len(found))
	}
}
