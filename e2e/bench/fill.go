package main

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/e2e/bench/estate"
)

// writers is how many objects are written at once.
const writers = 32

// fill writes the objects of an estate from a number of Ingresses on: those below
// it, and all else where it is not zero, are there already.
func fill(ctx context.Context, client kubernetes.Interface, s estate.Size, ingresses int) error {
	opts := metav1.CreateOptions{FieldManager: "estate"}
	create := func(n int, kind string, one func(i int) error) error {
		return sideBySide(ctx, n, func(i int) error {
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

// sideBySide calls a function for each number below n, several at a time, until
// one fails.
func sideBySide(ctx context.Context, n int, one func(int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			for i := range numbers {
				if err := one(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		numbers <- i
	}
	close(numbers)
	wait.Wait()
	return context.Cause(ctx)
}
