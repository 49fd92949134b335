package charts

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

func kubectl(t *testing.T, c *kubetest.Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mustHelm runs helm against the cluster.
func mustHelm(t *testing.T, c *kubetest.Cluster, args ...string) string {
	t.Helper()
	out, err := helm(t, c.Env(), args...)
	if err != nil {
		t.Fatalf("helm %v: %v\n%s", args, err, out)
	}
	return out
}

// installed installs the chart. There is nothing that would start its pods.
func installed(t *testing.T, c *kubetest.Cluster, text string) {
	t.Helper()
	mustHelm(t, c, "install", home, chart, "--namespace", home, "--create-namespace", values(t, text))
	kubectl(t, c, "wait", "--for=condition=Established", "crd/findings.eventuallytrue.dev", "--timeout=30s")
}

// account returns a config and a kubeconfig with which the account of the chart's
// pod logs in, by a token as the kubelet would ask for.
func account(t *testing.T, c *kubetest.Cluster) (*rest.Config, string) {
	t.Helper()
	admin := c.Config(kubetest.Admin)
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	request, err := client.CoreV1().ServiceAccounts(home).CreateToken(t.Context(), home, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := &rest.Config{Host: admin.Host, TLSClientConfig: admin.TLSClientConfig, BearerToken: request.Status.Token, QPS: -1}
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["pod"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	kubeconfig.AuthInfos["pod"] = &clientcmdapi.AuthInfo{Token: cfg.BearerToken}
	kubeconfig.Contexts["pod"] = &clientcmdapi.Context{Cluster: "pod", AuthInfo: "pod"}
	kubeconfig.CurrentContext = "pod"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		t.Fatal(err)
	}
	return cfg, path
}

// await waits until something is so, and not for ever.
func await(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !is(t.Context()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// can reports whether the API server would let somebody do something.
func can(ctx context.Context, t *testing.T, client kubernetes.Interface, verb, group, resource, namespace string) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace},
	}}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// build builds audit and returns its path.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, filepath.Join(moduleRoot, "cmd", "audit"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}
