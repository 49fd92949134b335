package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// probed is the variable that makes of the test binary a probe: it runs as the user
// of the process with this id and in its network, and tells what that could do.
const probed = "AUDIT_E2E_PROBED"

// tried is what a probe found out.
type tried struct {
	Writable []string       // files and folders, sorted
	Answers  map[string]int // of the API server, to "METHOD PATH"
}

// secrets is where a pod has the token of its ServiceAccount.
const secrets = "/var/run/secrets/kubernetes.io/serviceaccount"

func beProbe(out io.Writer) int {
	root := filepath.Join("/proc", os.Getenv(probed), "root")
	found, err := probe(root, os.Args[1:])
	if err == nil {
		err = json.NewEncoder(out).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func probe(root string, requests []string) (tried, error) {
	found := tried{Answers: map[string]int{}}
	var err error
	if found.Writable, err = writable(root); err != nil {
		return found, err
	}
	authority, err := os.ReadFile(filepath.Join(root, secrets, "ca.crt"))
	if err != nil {
		return found, err
	}
	token, err := os.ReadFile(filepath.Join(root, secrets, "token"))
	if err != nil {
		return found, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	for _, request := range requests {
		method, path, _ := strings.Cut(request, " ")
		// The address of the Service, as the pod is told it.
		r, err := http.NewRequest(method, "https://10.96.0.1"+path, strings.NewReader("{}"))
		if err != nil {
			return found, err
		}
		r.Header.Set("Authorization", "Bearer "+string(token))
		r.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			return found, err
		}
		answer.Body.Close()
		found.Answers[request] = answer.StatusCode
	}
	return found, nil
}

// writable returns what this user may write to, of all that a process sees as files
// but the kernel's own and devices.
func writable(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root+"/", func(path string, d fs.DirEntry, err error) error {
		name := "/" + strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		switch {
		case name == "/proc" || name == "/sys":
			return fs.SkipDir
		case err != nil:
			return fs.SkipDir // not even to be read
		case d.Type()&(fs.ModeSymlink|fs.ModeDevice) != 0:
			return nil
		}
		const write = 2
		if syscall.Access(path, write) == nil {
			found = append(found, name)
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}
