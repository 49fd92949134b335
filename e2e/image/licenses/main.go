// Command licenses writes a Markdown document with the licenses of everything in the
// audit binary: every module with a package in it, the Go standard library, and audit
// itself. Anyone who distributes the binary must distribute these texts with it, so
// images and releases include the document.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "../..", "folder of the audit module")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintf(os.Stderr, "licenses: %v\n", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	parts, err := partsOf(root)
	if err != nil {
		return err
	}
	for i := range parts {
		if err := parts[i].read(); err != nil {
			return fmt.Errorf("read the license of %s: %w", parts[i].name, err)
		}
	}
	return os.WriteFile(out, format(parts), 0o644)
}
