package charts

import (
	"context"
	"os"
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

// trailFile is the audit log of the API server, in the directory of the cluster.
const trailFile = "audit.log"

var control = &kubetest.Shared{Options: kubetest.Options{
	// The server runs in a different directory.
	APIServerFlags: []string{"--audit-policy-file", absolute(filepath.Join("testdata", "policy.yaml")), "--audit-log-path", trailFile},
}}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

func absolute(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

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

// installed installs the chart. No node runs its pods.
func installed(t *testing.T, c *kubetest.Cluster, text string) {
	t.Helper()
	mustHelm(t, c, "install", home, chart, "--namespace", home, "--create-namespace", values(t, text))
	kubectl(t, c, "wait", "--for=condition=Established", "crd/findings.eventuallytrue.dev", "--timeout=30s")
}

// account returns a client config and a kubeconfig for the pod's service account, with
// a token like the one that the kubelet requests.
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

// await waits for a condition, with a time limit.
func await(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !is(t.Context()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// can reports whether the API server allows a request.
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
