package kubetest

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestStartAndStop(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	began := time.Now()
	c, err := Start(t.Context(), Options{Users: []string{"carol"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %v", time.Since(began).Round(time.Millisecond))
	for _, user := range []string{Admin, Guest, "carol"} {
		client, err := kubernetes.NewForConfig(c.Config(user))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		if forbidden := apierrors.IsForbidden(err); forbidden == (user == Admin) {
			t.Errorf("list namespaces as %s: %v", user, err)
		}
	}
	out, err := c.Kubectl(t.Context(), "version")
	if err != nil || !strings.Contains(out, "Server Version: v1.") {
		t.Errorf("kubectl version: %v\n%s", err, out)
	}

	began = time.Now()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("stopped after %v", time.Since(began).Round(time.Millisecond))
	if err := c.Stop(); err != nil {
		t.Errorf("second stop: %v", err)
	}
	if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	for _, port := range append(c.etcd.ports, c.server.process.ports...) {
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			t.Errorf("port still in use: %v", err)
			continue
		}
		l.Close()
	}
}

func TestStartReportsWhyItFailed(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	_, err := Start(t.Context(), Options{APIServerFlags: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "run kube-apiserver") || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("error %v, want the program and the end of its log", err)
	}
}

func TestStartReportsMissingTools(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	_, err := Start(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "run make tools") {
		t.Errorf("error %v, want a hint", err)
	}
}

func TestAllowLastsUntilReset(t *testing.T) {
	c := control.Cluster(t)
	client, err := kubernetes.NewForConfig(c.Config(Guest))
	if err != nil {
		t.Fatal(err)
	}
	list := func() error {
		_, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	for range 3 {
		if err := list(); !apierrors.IsForbidden(err) {
			t.Fatalf("before: %v, want forbidden", err)
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}
		if err := c.Allow(t.Context(), Guest, rule); err != nil {
			t.Fatal(err)
		}
		if err := list(); err != nil {
			t.Fatalf("allowed: %v", err)
		}
		if err := c.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestServerRestarts(t *testing.T) {
	c := control.Cluster(t)
	// Later tests need the server.
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
		// The stored objects and rights are still there, and clients still work.
		if err := list(); err != nil {
			t.Errorf("after it came back: %v (forbidden: %t)", err, apierrors.IsForbidden(err))
		}
		if err := c.StartServer(t.Context()); err != nil {
			t.Errorf("started again: %v", err)
		}
	}
}
