package kubetest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns the path of a kubeconfig for the user. Its context is named
// "kubetest".
func (c *Cluster) Kubeconfig(user string) string { return c.path(user + ".kubeconfig") }

// Config returns a client config for the user. It panics if the cluster was started
// without that user.
func (c *Cluster) Config(user string) *rest.Config {
	return clientConfig(c.URL, c.cert.pem, c.user(user))
}

func (c *Cluster) user(name string) user {
	for _, u := range c.users {
		if u.name == name {
			return u
		}
	}
	panic(fmt.Sprintf("kubetest: no user %q: add it to Options.Users", name))
}

// Kubectl runs kubectl as Admin and returns its standard output.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.ToolDir, "kubectl"), args...)
	cmd.Env = append(os.Environ(), c.Env()...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Env returns the environment variables that give a program access to the cluster as
// Admin and put its kubectl first on the PATH.
func (c *Cluster) Env() []string {
	return []string{
		"KUBECONFIG=" + c.Kubeconfig(Admin),
		// Not the default cache: it may hold data of another cluster at the same port.
		"KUBECACHEDIR=" + c.path("kubecache"),
		// Personal preferences would change the output that scripts see.
		"KUBERC=off",
		"PATH=" + c.ToolDir + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
}

func clientConfig(url string, ca []byte, u user) *rest.Config {
	return &rest.Config{
		Host:            url,
		BearerToken:     u.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca},
		QPS:             -1,
		WarningHandler:  rest.NoWarnings{},
	}
}

func writeKubeconfig(path, url string, ca []byte, u user) error {
	const name = "kubetest"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: ca}
	cfg.AuthInfos[u.name] = &clientcmdapi.AuthInfo{Token: u.token}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: u.name}
	cfg.CurrentContext = name
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return fmt.Errorf("write kubeconfig of %s: %w", u.name, err)
	}
	return nil
}

// user is a user with a bearer token.
type user struct{ name, token string }

// certificate is the self-signed certificate of the API server.
type certificate struct {
	pem  []byte
	pair tls.Certificate
	pool *x509.CertPool
}

// client returns an HTTP client that trusts only this certificate.
func (c certificate) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: c.pool},
		DisableKeepAlives: true,
	}}
}

// writeCredentials creates the certificate and the tokens and writes them for the API
// server and, as a kubeconfig per user, for clients.
func (c *Cluster) writeCredentials(host string, names []string) error {
	cert, key, err := newCertificate(net.ParseIP(host))
	if err != nil {
		return fmt.Errorf("create the server certificate: %w", err)
	}
	c.cert = cert
	c.users = []user{{Admin, rand.Text()}}
	tokens := []string{c.users[0].token + `,` + Admin + `,` + Admin + `,"system:masters"`}
	for _, name := range names {
		u := user{name, rand.Text()}
		c.users = append(c.users, u)
		tokens = append(tokens, u.token+","+name+","+name)
	}
	for name, data := range map[string][]byte{
		"server.crt": cert.pem,
		"server.key": key,
		"tokens.csv": []byte(strings.Join(tokens, "\n") + "\n"),
	} {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return fmt.Errorf("write credentials: %w", err)
		}
	}
	for _, u := range c.users {
		if err := writeKubeconfig(c.Kubeconfig(u.name), c.URL, cert.pem, u); err != nil {
			return err
		}
	}
	return nil
}

// newCertificate creates a certificate for the API server's address, for a Proxy, and
// for the address and names that pods use.
func newCertificate(host net.IP) (certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "kubetest"},
		// Allow for clock skew.
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(30 * 24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.ParseIP(loopback), host, serviceIP},
		DNSNames:              []string{"localhost", "kubernetes.default.svc"},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate{}, nil, err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return certificate{}, nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certificate{pem: certPEM, pair: pair, pool: pool}, keyPEM, nil
}

// Allow grants a user rights in the whole cluster and returns when the API server
// applies them. Reset removes them.
func (c *Cluster) Allow(ctx context.Context, user string, rules ...rbacv1.PolicyRule) error {
	client, err := kubernetes.NewForConfig(c.Config(Admin))
	if err != nil {
		return fmt.Errorf("allow %s: %w", user, err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "kubetest-" + user + "-"}, Rules: rules}
	role, err = client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("allow %s: create role: %w", user, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("allow %s: bind role: %w", user, err)
	}
	err = c.awaitRights(ctx, user, func(have []authorizationv1.ResourceRule) bool {
		return !slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return len(rule.Resources) > 0 && !slices.ContainsFunc(have, same(rule))
		})
	})
	if err != nil {
		return fmt.Errorf("allow %s: %w", user, err)
	}
	return nil
}

func same(rule rbacv1.PolicyRule) func(authorizationv1.ResourceRule) bool {
	return func(have authorizationv1.ResourceRule) bool {
		return slices.Equal(have.Verbs, rule.Verbs) && slices.Equal(have.APIGroups, rule.APIGroups) &&
			slices.Equal(have.Resources, rule.Resources) && slices.Equal(have.ResourceNames, rule.ResourceNames)
	}
}

// awaitNoRights waits until no user but Admin can do more than query its own rights.
func (c *Cluster) awaitNoRights(ctx context.Context) error {
	for _, u := range c.users {
		if u.name == Admin {
			continue
		}
		err := c.awaitRights(ctx, u.name, func(have []authorizationv1.ResourceRule) bool {
			return !slices.ContainsFunc(have, func(r authorizationv1.ResourceRule) bool {
				return !slices.Equal(r.APIGroups, []string{"authorization.k8s.io"}) &&
					!slices.Equal(r.APIGroups, []string{"authentication.k8s.io"})
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitRights waits until a user's rights are as wanted. The authorizer uses a cache
// that lags behind the stored objects.
func (c *Cluster) awaitRights(ctx context.Context, user string, wanted func([]authorizationv1.ResourceRule) bool) error {
	client, err := kubernetes.NewForConfig(c.Config(user))
	if err != nil {
		return err
	}
	return eventually(ctx, "wait for the rights of "+user, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault},
		}
		review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return wanted(review.Status.ResourceRules), nil
	})
}

// eventually calls a condition until it is true, for at most ten seconds.
func eventually(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 10*time.Second, true, condition); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
