package kubetest

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestProxyDisturbsMatchingRequests(t *testing.T) {
	c := control.Cluster(t)
	p, err := c.Proxy(t.TempDir(), First(1, Page("pods", false), Fail(http.StatusForbidden, metav1.StatusReasonForbidden, "no")))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(p.Config(Admin))
	if err != nil {
		t.Fatal(err)
	}
	list := func(ctx context.Context) error {
		_, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		return err
	}
	if err := list(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("first list: %v, want forbidden", err)
	}
	if err := list(t.Context()); err != nil {
		t.Errorf("second list: %v", err)
	}
	kubectl := exec.CommandContext(t.Context(), filepath.Join(c.ToolDir, "kubectl"), "auth", "whoami", "--kubeconfig", p.Kubeconfig(Guest))
	if out, err := kubectl.CombinedOutput(); err != nil || !strings.Contains(string(out), Guest) {
		t.Errorf("kubectl through the proxy: %v\n%s", err, out)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := list(t.Context()); err == nil {
		t.Error("the proxy still answers")
	}
}
