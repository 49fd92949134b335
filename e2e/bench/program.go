package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// cost is what one run of a program took, as launch prints it.
type cost struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes of memory
	Code      int   // with which it ended
}

// contender is what is measured against others.
type contender struct {
	name string
	run  func(ctx context.Context, kubeconfig string) (cost, error)
}

// program makes a contender of a program. It has to end with 0 or, where it finds
// something, with 1.
func program(launch, name string, args ...string) contender {
	return contender{name, func(ctx context.Context, kubeconfig string) (cost, error) {
		cmd := exec.CommandContext(ctx, launch, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return cost{}, fmt.Errorf("run %s: %w: %s", name, err, stderr.String())
		}
		var c cost
		if err := json.Unmarshal(out, &c); err != nil {
			return cost{}, fmt.Errorf("run %s: %w", name, err)
		}
		if c.Code != 0 && c.Code != 1 {
			return c, fmt.Errorf("run %s: it ended with %d: %s", name, c.Code, stderr.String())
		}
		return c, nil
	}}
}

// costs are what each round took.
type costs []cost

// measure runs the contenders one after the other, round after round. What else the
// machine does hits them alike. A round before the first is not counted: it fills
// caches.
func measure(ctx context.Context, kubeconfig string, rounds int, contenders []contender) ([]costs, error) {
	out := make([]costs, len(contenders))
	for round := range rounds + 1 {
		for i, c := range contenders {
			took, err := c.run(ctx, kubeconfig)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				out[i] = append(out[i], took)
			}
		}
	}
	return out, nil
}

// median is the median of what several rounds took, in each regard by itself.
func (c costs) median() cost {
	return cost{
		Wall: middle(c, func(c cost) time.Duration { return c.Wall }),
		CPU:  middle(c, func(c cost) time.Duration { return c.CPU }),
		Peak: middle(c, func(c cost) int64 { return c.Peak }),
	}
}

// walls are the shortest and the longest time.
func (c costs) walls() (shortest, longest time.Duration) {
	all := c.sorted(func(c cost) time.Duration { return c.Wall })
	return all[0], all[len(all)-1]
}

func (c costs) sorted(of func(cost) time.Duration) []time.Duration {
	var all []time.Duration
	for _, one := range c {
		all = append(all, of(one))
	}
	slices.Sort(all)
	return all
}

func middle[T ~int64](c costs, of func(cost) T) T {
	all := make([]T, len(c))
	for i, one := range c {
		all[i] = of(one)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
