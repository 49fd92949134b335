package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gatewayModule has the definitions of the Gateway API, in the version that
// go.mod asks for.
const gatewayModule = "sigs.k8s.io/gateway-api"

// policyModules have the definitions of the network policy API: of the kind there
// is today, and the last version of the two that it was made of.
var policyModules = [...]string{"sigs.k8s.io/network-policy-api@v0.3.0", "sigs.k8s.io/network-policy-api@v0.1.7"}

// Definitions returns the folders of all definitions of custom kinds that tests
// use: those in testdata/crds, and those that come with Go modules. A module that
// is not in Go's cache is downloaded.
func Definitions(ctx context.Context) ([]string, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, fmt.Errorf("find definitions: %w", err)
	}
	folders := []string{filepath.Join(root, "testdata", "crds")}
	gateway, err := moduleFolder(ctx, root, "list", "-m", "-json", gatewayModule)
	if err != nil {
		return nil, err
	}
	folders = append(folders, filepath.Join(gateway, "config", "crd", "standard"))
	for _, module := range policyModules {
		// Outside of our own module, whose go.mod does not know it.
		dir, err := moduleFolder(ctx, os.TempDir(), "mod", "download", "-json", module)
		if err != nil {
			return nil, err
		}
		folders = append(folders, filepath.Join(dir, "config", "crd", "standard"))
	}
	return folders, nil
}

// moduleFolder runs the go command, which is to tell of a module, and returns the
// folder that the module is in.
func moduleFolder(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	// What there is to say of a module is said in its description, too.
	var module struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &module); err == nil {
		err = decodeErr
	}
	var exit *exec.ExitError
	switch {
	case module.Dir != "":
		return module.Dir, nil
	case module.Error != "":
		err = errors.New(module.Error)
	case errors.As(err, &exit):
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	case err == nil:
		err = errors.New("it is in no folder")
	}
	return "", fmt.Errorf("find definitions: go %s: %w", strings.Join(args, " "), err)
}
