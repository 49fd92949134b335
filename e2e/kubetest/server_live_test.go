package kubetest

import (
	"context"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestServerStopsAndComesBack(t *testing.T) {
	c := control.Cluster(t)
	// Those who have the cluster after this test need it running.
	t.Cleanup(func() {
		if err := c.StartServer(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(c.Config(Guest))
	if err != nil {
		t.Fatal(err)
	}
	list := func() error {
		_, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := c.Allow(t.Context(), Guest, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		began := time.Now()
		if err := c.StopServer(); err != nil {
			t.Fatal(err)
		}
		t.Logf("stopped after %v", time.Since(began).Round(time.Millisecond))
		if err := list(); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("while it is stopped: %v", err)
		}
		if err := c.StopServer(); err != nil {
			t.Errorf("stopped again: %v", err)
		}
		began = time.Now()
		if err := c.StartServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("ready again after %v", time.Since(began).Round(time.Millisecond))
		// What was stored is, the right to list pods too, and clients need nothing new.
		if err := list(); err != nil {
			t.Errorf("after it came back: %v (forbidden: %t)", err, apierrors.IsForbidden(err))
		}
		if err := c.StartServer(t.Context()); err != nil {
			t.Errorf("started again: %v", err)
		}
	}
}
