package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/e2e/bench/estate"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// bench measures on each estate, prints what comes of it, and writes the page.
func (o *options) bench(ctx context.Context, out, progress io.Writer, now func() time.Time) error {
	p := page{at: now().UTC(), machine: describeMachine(), rounds: o.rounds}
	for _, size := range o.sizes {
		r, err := o.measureEstate(ctx, size, progress, now)
		if err != nil {
			return err
		}
		p.results = append(p.results, r)
	}
	text := p.text()
	if _, err := io.WriteString(out, text); err != nil || o.page == "" {
		return err
	}
	if err := os.WriteFile(o.page, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// measureEstate fills a cluster of its own and measures there.
func (o *options) measureEstate(ctx context.Context, size estate.Size, progress io.Writer, now func() time.Time) (r *result, err error) {
	cluster, err := kubetest.Start(ctx, kubetest.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	client, err := kubernetes.NewForConfig(cluster.Config(kubetest.Admin))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "writing %d objects\n", size.Objects())
	if err := fill(ctx, client, size, 0); err != nil {
		return nil, err
	}
	r = &result{size: size}
	fmt.Fprintf(progress, "measuring %d rounds\n", o.rounds)
	readers := []contender{
		program(o.launch, "floor", o.floor),
		program(o.launch, "floor, six kinds side by side", o.floor, "-parallel", "6"),
		program(o.launch, "sweep", o.audit, "--once", "-o", "json"),
		judging(now),
	}
	if err := r.run(ctx, cluster, o.rounds, &r.reading, readers); err != nil {
		return nil, err
	}
	if o.open == 0 || size != o.sizes[0] {
		return r, nil
	}
	r.open, err = o.openFindings(ctx, cluster, client, size)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "measuring %d rounds with %d open findings\n", o.rounds, r.open)
	return r, r.run(ctx, cluster, o.rounds, &r.publishing, []contender{
		program(o.launch, "sweep", o.audit, "--once", "-o", "json"),
		program(o.launch, "publishing sweep", o.audit, "--once", "-o", "json", "--publish"),
	})
}

// run counts what each contender asks for, and measures.
func (r *result) run(ctx context.Context, cluster *kubetest.Cluster, rounds int, into *[]row, contenders []contender) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	measured, err := measure(ctx, cluster.Kubeconfig(kubetest.Admin), rounds, contenders)
	if err != nil {
		return err
	}
	for i, c := range contenders {
		t, err := watch(ctx, cluster, dir, c)
		if err != nil {
			return err
		}
		*into = append(*into, row{c.name, measured[i], t})
	}
	return nil
}

// openFindings makes as many findings as are wanted, lets them be published, and
// returns how many are open.
func (o *options) openFindings(ctx context.Context, cluster *kubetest.Cluster, client kubernetes.Interface, size estate.Size) (int, error) {
	if err := cluster.InstallCRDs(ctx, o.definitions); err != nil {
		return 0, err
	}
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "audit"}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, own, metav1.CreateOptions{}); err != nil {
		return 0, fmt.Errorf("create namespace: %w", err)
	}
	there, err := o.countFindings(ctx, cluster)
	if err != nil {
		return 0, err
	}
	if more := o.open - there; more > 0 {
		larger := size
		larger.Ingresses += more
		larger.Contested += more
		if err := fill(ctx, client, larger, size.Ingresses); err != nil {
			return 0, err
		}
	}
	first := program(o.launch, "the first publishing sweep", o.audit, "--once", "-o", "json", "--publish")
	if _, err := first.run(ctx, cluster.Kubeconfig(kubetest.Admin)); err != nil {
		return 0, err
	}
	return o.countFindings(ctx, cluster)
}
