// Command floor reads what a sweep reads and keeps nothing of it: what reading
// alone costs, with the typed client of Kubernetes and pages of 500.
//
//	floor [-parallel N]
//
// KUBECONFIG says where the cluster is. It prints the number of objects.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	parallel := flag.Int("parallel", 1, "how many kinds are read side by side")
	flag.Parse()
	items, err := run(context.Background(), os.Getenv("KUBECONFIG"), *parallel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
	fmt.Println(items)
}

// run reads every kind, and returns how many objects there are.
func run(ctx context.Context, kubeconfig string, parallel int) (int, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, err
	}
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var items atomic.Int64
	var wait sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, read := range lists(client) {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			n, err := read(ctx)
			items.Add(int64(n))
			if err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return int(items.Load()), context.Cause(ctx)
}

// drain returns what reads a list to its end, page by page.
func drain[L metav1.ListInterface](list func(context.Context, metav1.ListOptions) (L, error), count func(L) int) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		items := 0
		opts := metav1.ListOptions{Limit: 500}
		for {
			page, err := list(ctx, opts)
			if err != nil {
				return items, err
			}
			items += count(page)
			if opts.Continue = page.GetContinue(); opts.Continue == "" {
				return items, nil
			}
		}
	}
}
