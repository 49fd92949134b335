package kubetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns the path of a kubeconfig with which the user logs in. Its
// context is called "kubetest".
func (c *Cluster) Kubeconfig(user string) string { return c.path(user + ".kubeconfig") }

// Config returns a client config with which the user logs in. It panics where
// the cluster was started without that user.
func (c *Cluster) Config(user string) *rest.Config {
	return clientConfig(c.URL, c.cert.pem, c.user(user))
}

func (c *Cluster) user(name string) user {
	for _, u := range c.users {
		if u.name == name {
			return u
		}
	}
	panic(fmt.Sprintf("kubetest: no user %q: name it in Options.Users", name))
}

// Kubectl runs kubectl as Admin and returns what it prints.
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

// Env returns the variables with which a program talks to this cluster as
// Admin and finds its kubectl first on the PATH.
func (c *Cluster) Env() []string {
	return []string{
		"KUBECONFIG=" + c.Kubeconfig(Admin),
		// What kubectl remembers of another cluster at the same port is wrong.
		"KUBECACHEDIR=" + c.path("kubecache"),
		// A person's preferences would change what scripts see.
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
