package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/e2e/bench/estate"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// bench measures each estate, prints the report and writes it to a file.
func (o *options) bench(ctx context.Context, out, progress io.Writer, now func() time.Time) error {
	p := report{at: now().UTC(), machine: describeMachine(), rounds: o.rounds}
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
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// measureEstate starts a cluster, fills it and measures there.
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
		program(o.launch, "floor, six kinds in parallel", o.floor, "-parallel", "6"),
		program(o.launch, "sweep", o.audit, "--once", "-o", "json"),
		evaluation(now),
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

// run measures the contenders and counts their requests.
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

// openFindings creates objects until there are as many findings as wanted, publishes
// the findings, and returns their number.
func (o *options) openFindings(ctx context.Context, cluster *kubetest.Cluster, client kubernetes.Interface, size estate.Size) (int, error) {
	if err := cluster.InstallCRDs(ctx, o.definitions); err != nil {
		return 0, err
	}
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "audit"}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, own, metav1.CreateOptions{}); err != nil {
		return 0, fmt.Errorf("create namespace: %w", err)
	}
	existing, err := o.countFindings(ctx, cluster)
	if err != nil {
		return 0, err
	}
	if more := o.open - existing; more > 0 {
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

// writers is the number of concurrent writes.
const writers = 32

// fill creates the objects of an estate. If ingresses is not zero, that many Ingresses
// and all other objects exist already.
func fill(ctx context.Context, client kubernetes.Interface, s estate.Size, ingresses int) error {
	opts := metav1.CreateOptions{FieldManager: "estate"}
	create := func(n int, kind string, one func(i int) error) error {
		return inParallel(ctx, n, func(i int) error {
			if err := one(i); err != nil {
				return fmt.Errorf("create %s %d: %w", kind, i, err)
			}
			return nil
		})
	}
	if ingresses == 0 {
		err := create(s.Namespaces, "Namespace", func(i int) error {
			_, err := client.CoreV1().Namespaces().Create(ctx, s.Namespace(i), opts)
			return err
		})
		if err != nil {
			return err
		}
		if err := fillWorkloads(ctx, client, s, create); err != nil {
			return err
		}
	}
	return create(s.Ingresses-ingresses, "Ingress", func(i int) error {
		o := s.Ingress(ingresses + i)
		_, err := client.NetworkingV1().Ingresses(o.Namespace).Create(ctx, o, opts)
		return err
	})
}

func fillWorkloads(ctx context.Context, client kubernetes.Interface, s estate.Size, create func(int, string, func(int) error) error) error {
	opts := metav1.CreateOptions{FieldManager: "estate"}
	err := create(s.Policies, "NetworkPolicy", func(i int) error {
		o := s.Policy(i)
		_, err := client.NetworkingV1().NetworkPolicies(o.Namespace).Create(ctx, o, opts)
		return err
	})
	if err != nil {
		return err
	}
	err = create(s.Deployments, "Deployment", func(i int) error {
		o := s.Deployment(i)
		_, err := client.AppsV1().Deployments(o.Namespace).Create(ctx, o, opts)
		return err
	})
	if err != nil {
		return err
	}
	return create(s.Pods, "Pod", func(i int) error {
		o := s.Pod(i)
		_, err := client.CoreV1().Pods(o.Namespace).Create(ctx, o, opts)
		return err
	})
}

// inParallel calls a function for each number below n, until one call fails.
func inParallel(ctx context.Context, n int, one func(int) error) error {
	group, stopped := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := 0; i < n && stopped.Err() == nil; i++ {
		group.Go(func() error { return one(i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// countFindings sweeps once and returns the number of findings.
func (o *options) countFindings(ctx context.Context, cluster *kubetest.Cluster) (int, error) {
	cmd := exec.CommandContext(ctx, o.audit, "--once", "-o", "json", "--kubeconfig", cluster.Kubeconfig(kubetest.Admin))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return 0, fmt.Errorf("count findings: %w", err)
	}
	var report struct{ Findings []struct{} }
	if err := json.Unmarshal(out, &report); err != nil {
		return 0, fmt.Errorf("count findings: %w", err)
	}
	return len(report.Findings), nil
}
