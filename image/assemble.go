package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// spec says what an image is made of. Equal specs make equal images, byte by
// byte.
type spec struct {
	platform string // such as linux/amd64
	binary   string // path
	licenses string // path of the page of licences
	version  string
	created  time.Time
}

// made is an image with the platform that it is for.
type made struct {
	v1.Image
	platform *v1.Platform
}

// What the image says of itself. The Dockerfile says the same.
const (
	user         = "65532:65532" // nobody's, and no number of a user of the node
	title        = "audit"
	licensesName = "THIRD_PARTY_LICENSES.md"
	source       = "https://github.com/eventuallytrue/audit"
)

// assemble makes the image: one layer with the binary and the licences of what it
// is made of.
func assemble(s spec) (made, error) {
	platform, err := v1.ParsePlatform(s.platform)
	if err != nil {
		return made{}, err
	}
	binary, err := os.ReadFile(s.binary)
	if err != nil {
		return made{}, err
	}
	if err := check(binary, platform); err != nil {
		return made{}, fmt.Errorf("%s: %w", s.binary, err)
	}
	licenses, err := os.ReadFile(s.licenses)
	if err != nil {
		return made{}, err
	}
	packed, err := pack(s.created, []file{{licensesName, 0o644, licenses}, {"audit", 0o755, binary}})
	if err != nil {
		return made{}, fmt.Errorf("pack %s: %w", s.binary, err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed)), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return made{}, err
	}
	img, err := mutate.ConfigFile(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		&v1.ConfigFile{
			OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
			Created: v1.Time{Time: s.created},
			RootFS:  v1.RootFS{Type: "layers"},
			Config:  v1.Config{User: user, Entrypoint: []string{"/audit"}, Labels: labels(s.version)},
		})
	if err != nil {
		return made{}, err
	}
	img, err = mutate.Append(img, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: s.created}, CreatedBy: "COPY /" + licensesName + " /audit"},
	})
	return made{img, platform}, err
}

func labels(version string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":   title,
		"org.opencontainers.image.source":  source,
		"org.opencontainers.image.version": version,
	}
}

// machines are the kinds of machine that images are made for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// check refuses a binary that would not start: one for another machine, or one
// that wants a loader and libraries, of which the image has none.
func check(binary []byte, p *v1.Platform) error {
	f, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return err
	}
	if want, ok := machines[p.Architecture]; p.OS != "linux" || !ok || f.Machine != want {
		return fmt.Errorf("a binary for %s is none for %s", f.Machine, p)
	}
	for _, prog := range f.Progs {
		if prog.Type == elf.PT_INTERP {
			return errors.New("the binary is not static: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// file is one of the image's.
type file struct {
	name    string
	mode    int64
	content []byte
}

// pack makes the layer's archive. Nothing of files on the disk but their content
// goes into it.
func pack(modified time.Time, files []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: modified, Format: tar.FormatUSTAR,
		})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}
