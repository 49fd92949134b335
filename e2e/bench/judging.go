package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// judging is a contender that reads the cluster in this process and takes the time
// from the last page on: facts are sorted, judged and held against what is stored
// of an earlier sweep. Reading is not counted.
func judging(now func() time.Time) contender {
	return contender{"judging and reconcile", func(ctx context.Context, kubeconfig string) (cost, error) {
		c := config.Default()
		b, err := readFacts(ctx, kubeconfig, &c)
		if err != nil {
			return cost{}, fmt.Errorf("judge: %w", err)
		}
		runtime.GC() // what reading left behind
		began := time.Now()
		ev := audit.Evaluate(b.Freeze(), catalog.All(), &c, now(), nil)
		first := time.Since(began)
		r := reconciliation(now())
		// Of what this sweep finds, everything is stored already.
		stored := records(r, &ev)
		again := time.Now()
		if n := len(r.Reconcile(stored, &ev)); n < len(ev.Findings) {
			return cost{}, fmt.Errorf("judge: %d transitions of %d findings", n, len(ev.Findings))
		}
		return cost{Wall: first + time.Since(again)}, nil
	}}
}

func readFacts(ctx context.Context, kubeconfig string, c *config.Config) (*snapshot.Builder, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	source, err := source.New(cfg, source.Options{OwnerKeys: c.Owners.Keys, HostSources: c.EnabledHostSources()})
	if err != nil {
		return nil, err
	}
	b := &snapshot.Builder{}
	_, err = source.Read(ctx, audit.Needs(catalog.All()), b)
	return b, err
}

func reconciliation(now time.Time) audit.Reconciler {
	return audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }, MaxNew: 1 << 20}
}

// records are what is stored of all that was found.
func records(r audit.Reconciler, ev *audit.Evaluation) []audit.Record {
	var out []audit.Record
	for _, t := range r.Reconcile(nil, ev) {
		out = append(out, t.Record)
	}
	return out
}
