// Command image packs the audit binaries into container images without an image
// builder. The images are the same as those that the Dockerfile builds from the
// same binaries. It writes an archive per platform, in the format of docker save,
// which docker, podman, ctr and kind load, and one OCI layout with all platforms,
// which skopeo and crane copy to a registry.
//
// It is a separate module so that its container library does not become a
// dependency of audit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// run writes the images that the arguments describe, and prints a line for each to out.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image [flags] PLATFORM=BINARY...", flag.ContinueOnError)
	tag := flags.String("tag", "", "name and tag of the image, such as ghcr.io/eventuallytrue/audit:v1.0.0")
	created := flags.Int64("created", 0, "creation time of the image, in seconds since 1970")
	licenses := flags.String("licenses", licensesName, "the file with the third-party licenses (the command ./licenses writes it)")
	folder := flags.String("out", ".", "an existing folder to write to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ref, err := name.NewTag(*tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("read -tag: %w", err)
	}
	if flags.NArg() == 0 {
		return errors.New("no PLATFORM=BINARY given")
	}
	var images []made
	for _, arg := range flags.Args() {
		platform, binary, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not PLATFORM=BINARY", arg)
		}
		img, err := assemble(spec{
			platform: platform, binary: binary, licenses: *licenses,
			version: ref.TagStr(), created: time.Unix(*created, 0).UTC(),
		})
		if err != nil {
			return fmt.Errorf("assemble the image for %s: %w", platform, err)
		}
		images = append(images, img)
	}
	return write(*folder, ref, images, out)
}
