package harness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errStop ends a wait that can't succeed any more.
type errStop struct{ error }

func stop(err error) error { return errStop{err} }

// eventually tries until there is no error; after a time it answers with the last one.
func eventually(ctx context.Context, within time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		var final errStop
		if errors.As(err, &final) {
			return final.error
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %w", within, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Eventually is for tests: it tries until there is no error.
func (c *Cluster) Eventually(within time.Duration, try func() error) error {
	return eventually(c.ctx, within, try)
}
