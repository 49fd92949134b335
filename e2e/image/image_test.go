package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const testTag = "ghcr.io/eventuallytrue/audit:v1.2.3"

// testLicenses is the file that test images hold as the third-party licenses.
const testLicenses = "../../LICENSE"

// hello builds a small static binary.
func hello(t *testing.T, arch string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hello")
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build"}, flags...), "-o", path, "./testdata/hello")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return path
}

// archive runs the program and returns the folder that it wrote.
func archive(t *testing.T, args ...string) string {
	t.Helper()
	folder := t.TempDir()
	if err := run(append([]string{"-tag", testTag, "-created", "1700000000", "-licenses", testLicenses, "-out", folder}, args...), t.Output()); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestEqualBinariesMakeEqualArchives(t *testing.T) {
	amd, arm := hello(t, "amd64"), hello(t, "arm64")
	first := readTree(t, archive(t, "linux/amd64="+amd, "linux/arm64="+arm))

	copied := filepath.Join(t.TempDir(), "other-name")
	content, err := os.ReadFile(amd)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, content, 0o600); err != nil {
		t.Fatal(err)
	}
	second := readTree(t, archive(t, "linux/amd64="+copied, "linux/arm64="+arm))
	if len(first) < 8 {
		t.Fatalf("wrote only %d files", len(first))
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

// readTree returns the content of every file under a folder.
func readTree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, folder)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestLayoutHoldsEveryPlatform(t *testing.T) {
	folder := archive(t, "linux/amd64="+hello(t, "amd64"), "linux/arm64="+hello(t, "arm64"))
	outer, err := layout.ImageIndexFromPath(filepath.Join(folder, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Manifests) != 1 || list.Manifests[0].Annotations[refName] != testTag {
		t.Fatalf("the layout names %+v", list.Manifests)
	}
	index, err := outer.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	list, err = index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range list.Manifests {
		platforms = append(platforms, m.Platform.String())
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		archived, err := tarball.ImageFromPath(filepath.Join(folder, "audit-linux-"+m.Platform.Architecture+".tar"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := configName(t, archived), configName(t, img); got != want {
			t.Errorf("%s: the archive holds %s and the layout %s", m.Platform, got, want)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Error(diff)
	}
}

// configName returns what docker and containerd call the image's ID.
func configName(t *testing.T, img v1.Image) v1.Hash {
	t.Helper()
	h, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestUnusableBinariesAreRejected(t *testing.T) {
	static := hello(t, "amd64")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho this is not a binary\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"a binary for another architecture", []string{"-tag", testTag, "linux/arm64=" + static}, "the binary is for EM_X86_64, not for linux/arm64"},
		{"a dynamically linked binary", []string{"-tag", testTag, "linux/amd64=" + hello(t, "amd64", "-buildmode=pie")}, "is not static"},
		{"a script", []string{"-tag", testTag, "linux/amd64=" + script}, "bad magic number"},
		{"another system", []string{"-tag", testTag, "windows/amd64=" + static}, "not for windows/amd64"},
		{"no binary", []string{"-tag", testTag}, "no PLATFORM=BINARY"},
		{"no licenses", []string{"-tag", testTag, "-licenses", "testdata/none.md", "linux/amd64=" + static}, "open testdata/none.md"},
		{"no platform", []string{"-tag", testTag, static}, "is not PLATFORM=BINARY"},
		{"no tag", []string{"linux/amd64=" + static}, "read -tag"},
		{"a name without a tag", []string{"-tag", "ghcr.io/eventuallytrue/audit", "linux/amd64=" + static}, "read -tag"},
		{"an image that is too large", []string{"-tag", testTag, "linux/amd64=" + fatten(t, static)}, "more than 40000000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			err := run(append([]string{"-out", folder, "-licenses", testLicenses}, tc.args...), t.Output())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
			if wrote := readTree(t, folder); len(wrote) > 0 {
				t.Errorf("wrote %d files", len(wrote))
			}
		})
	}
}

// fatten returns a copy of a binary with incompressible data appended.
func fatten(t *testing.T, binary string) string {
	t.Helper()
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, limit)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fat")
	if err := os.WriteFile(path, bytes.Join([][]byte{content, noise}, nil), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestImageHoldsTheLicenses(t *testing.T) {
	got := readImage(t, filepath.Join(archive(t, "linux/amd64="+hello(t, "amd64")), "audit-linux-amd64.tar"))
	licenses, err := os.ReadFile(testLicenses)
	if err != nil {
		t.Fatal(err)
	}
	const attributes = "-rw-r--r-- THIRD_PARTY_LICENSES.md 0:0 2023-11-14 22:13:20 +0000 UTC"
	want := fmt.Sprintf("%s %x", attributes, sha256.Sum256(licenses))
	if len(got.Files) != 2 || got.Files[0] != want {
		t.Errorf("the image holds %q, want %q and the binary", got.Files, want)
	}
}
