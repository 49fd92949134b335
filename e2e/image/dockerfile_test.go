package main

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestDockerfileBuildsTheSame builds the last stage of the Dockerfile, with a
// folder in place of the build stage, and compares the containers that the two
// images describe. The digests differ: each builder records its own name and
// history.
func TestDockerfileBuildsTheSame(t *testing.T) {
	buildah, err := exec.LookPath("buildah")
	if err != nil {
		t.Skip("needs buildah")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root: rootless buildah depends on the setup of the machine")
	}
	folder := t.TempDir()
	binary := hello(t, "amd64")
	if err := os.Mkdir(filepath.Join(folder, "stage"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(binary, filepath.Join(folder, "stage", "audit")); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(folder, "stage", "audit")
	licenses, err := os.ReadFile(testLicenses)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "stage", licensesName), licenses, 0o644); err != nil {
		t.Fatal(err)
	}

	storage := []string{"--root", folder + "/root", "--runroot", folder + "/run", "--storage-driver", "vfs"}
	call := func(command string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), buildah, append(append([]string{command}, storage...), args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	call("build", "--platform", "linux/amd64", "--build-context", "build="+folder+"/stage",
		"--build-arg", "VERSION=v1.2.3", "--timestamp", "1700000000", "-t", testTag, "../..")
	call("push", testTag, "docker-archive:"+folder+"/built.tar")

	want := readImage(t, filepath.Join(folder, "built.tar"))
	got := readImage(t, filepath.Join(archive(t, "linux/amd64="+binary), "audit-linux-amd64.tar"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("containers (-Dockerfile +program):\n%s", diff)
	}
}

// container describes a container of an image.
type container struct {
	OS, Architecture string
	Created          string
	User             string
	Entrypoint, Cmd  []string
	Labels           map[string]string
	Files            []string
}

func readImage(t *testing.T, path string) container {
	t.Helper()
	img, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for name, value := range config.Config.Labels {
		if !strings.HasPrefix(name, "io.buildah.") {
			labels[name] = value
		}
	}
	return container{
		OS: config.OS, Architecture: config.Architecture, Created: config.Created.UTC().String(),
		User: config.Config.User, Entrypoint: config.Config.Entrypoint, Cmd: config.Config.Cmd,
		Labels: labels, Files: files(t, img),
	}
}

// files lists the files in the image.
func files(t *testing.T, img v1.Image) []string {
	t.Helper()
	extracted := mutate.Extract(img)
	defer extracted.Close()
	var list []string
	for r := tar.NewReader(extracted); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %d:%d %s %x",
			h.FileInfo().Mode(), strings.TrimPrefix(h.Name, "/"), h.Uid, h.Gid, h.ModTime.UTC(), sum.Sum(nil)))
	}
}
