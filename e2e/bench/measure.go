package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// cost is the cost of one run of a program, as launch prints it.
type cost struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes of memory
	Code      int   // exit code
}

// contender is a program that is compared with others.
type contender struct {
	name string
	run  func(ctx context.Context, kubeconfig string) (cost, error)
}

// program returns a contender that runs a program. The program must exit with 0 or,
// if it has findings, with 1.
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
			return c, fmt.Errorf("run %s: exit code %d: %s", name, c.Code, stderr.String())
		}
		return c, nil
	}}
}

// costs are the costs of each round.
type costs []cost

// measure runs the contenders in turn, round after round, so that other load on the
// machine affects them equally. An extra first round, which fills caches, is not
// counted.
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

// median returns the median of each figure on its own.
func (c costs) median() cost {
	return cost{
		Wall: medianOf(c, func(c cost) time.Duration { return c.Wall }),
		CPU:  medianOf(c, func(c cost) time.Duration { return c.CPU }),
		Peak: medianOf(c, func(c cost) int64 { return c.Peak }),
	}
}

// walls returns the shortest and the longest wall time.
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

func medianOf[T ~int64](c costs, of func(cost) T) T {
	all := make([]T, len(c))
	for i, one := range c {
		all[i] = of(one)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// evaluation is a contender that reads the cluster in this process and measures the
// time after the last page: it freezes the snapshot, evaluates the rules and
// reconciles with the findings of an earlier sweep.
func evaluation(now func() time.Time) contender {
	return contender{"evaluate and reconcile", func(ctx context.Context, kubeconfig string) (cost, error) {
		c := config.Default()
		b, err := readFacts(ctx, kubeconfig, &c)
		if err != nil {
			return cost{}, fmt.Errorf("evaluate: %w", err)
		}
		runtime.GC() // free the garbage of reading
		began := time.Now()
		ev := audit.Evaluate(b.Freeze(), catalog.All(), &c, now(), nil)
		first := time.Since(began)
		r := newReconciler(now())
		// All findings of this sweep are already stored.
		stored := records(r, &ev)
		again := time.Now()
		if n := len(r.Reconcile(stored, &ev)); n < len(ev.Findings) {
			return cost{}, fmt.Errorf("reconcile: %d transitions of %d findings", n, len(ev.Findings))
		}
		return cost{Wall: first + time.Since(again)}, nil
	}}
}

func readFacts(ctx context.Context, kubeconfig string, c *config.Config) (*snapshot.Builder, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	source, err := source.New(cfg, source.Options{OwnerKeys: c.Owners.Keys, HostSources: c.EnabledHostSources(), ExternalDNSPrefixes: c.Hosts.Prefixes()})
	if err != nil {
		return nil, err
	}
	b := &snapshot.Builder{}
	_, err = source.Read(ctx, audit.Needs(catalog.All()), b)
	return b, err
}

func newReconciler(now time.Time) audit.Reconciler {
	return audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }, MaxNew: 1 << 20}
}

// records returns the records that a store would hold after the sweep.
func records(r audit.Reconciler, ev *audit.Evaluation) []audit.Record {
	var out []audit.Record
	for _, t := range r.Reconcile(nil, ev) {
		out = append(out, t.Record)
	}
	return out
}

// traffic is the requests of a contender and the size of the responses.
type traffic struct {
	mu       sync.Mutex
	requests map[string]int // by method and path
	bytes    int64          // of response bodies, as sent
}

// watch counts the requests of a contender in a separate run, because the counting
// proxy takes time.
func watch(ctx context.Context, cluster *kubetest.Cluster, dir string, c contender) (*traffic, error) {
	t := &traffic{requests: map[string]int{}}
	proxy, err := cluster.Proxy(dir, func(r *http.Request) kubetest.Answer {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.requests[r.Method+" "+r.URL.Path]++
		return t.pass
	})
	if err != nil {
		return nil, err
	}
	defer proxy.Close() // an error does not affect the counts
	if _, err := c.run(ctx, proxy.Kubeconfig(kubetest.Admin)); err != nil {
		return nil, err
	}
	return t, nil
}

// pass forwards a request and counts the bytes of the response body.
func (t *traffic) pass(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&countingWriter{w, t}, r)
}

type countingWriter struct {
	http.ResponseWriter
	t *traffic
}

func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	w.t.bytes += int64(n)
	return n, err
}

// Unwrap lets the proxy flush the response.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (t *traffic) total() int {
	n := 0
	for _, count := range t.requests {
		n += count
	}
	return n
}

// difference returns the requests that t has more or less often than other, sorted,
// each with the difference.
func (t *traffic) difference(other *traffic) []string {
	all := maps.Clone(t.requests)
	maps.Copy(all, other.requests)
	var out []string
	for _, request := range slices.Sorted(maps.Keys(all)) {
		if n := t.requests[request] - other.requests[request]; n != 0 {
			out = append(out, fmt.Sprintf("%+d %s", n, request))
		}
	}
	return out
}
