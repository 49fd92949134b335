package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// limit is what an image may weigh on its way to a node, in bytes.
const limit = 40_000_000

// refName is the annotation by which ctr and skopeo find an image in a layout.
const refName = "org.opencontainers.image.ref.name"

// write writes an archive for each image, and one layout of all. It refuses to
// write an image that is too large.
func write(folder string, tag name.Tag, images []made, out io.Writer) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, img := range images {
		size, err := weight(img)
		if err != nil {
			return err
		}
		if size > limit {
			return fmt.Errorf("the image for %s weighs %d bytes, more than %d", img.platform, size, limit)
		}
		path := filepath.Join(folder, fmt.Sprintf("audit-%s-%s.tar", img.platform.OS, img.platform.Architecture))
		if err := tarball.WriteToFile(path, tag, img); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		digest, err := img.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %s %s %d bytes\n", img.platform, digest, path, size)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img.Image, Descriptor: v1.Descriptor{Platform: img.platform},
		})
	}
	return writeLayout(filepath.Join(folder, "oci"), tag, index, out)
}

// writeLayout writes the index in the place of a layout that is there.
func writeLayout(path string, tag name.Tag, index v1.ImageIndex, out io.Writer) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	l, err := layout.Write(path, empty.Index)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := l.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: tag.String()})); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "index %s %s\n", digest, path)
	return nil
}

// weight returns what the image's parts weigh, compressed.
func weight(img v1.Image) (int64, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return 0, err
	}
	size := manifest.Config.Size
	for _, l := range manifest.Layers {
		size += l.Size
	}
	return size, nil
}
