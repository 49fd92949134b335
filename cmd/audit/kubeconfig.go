package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
)

// withMissingKubeconfig adds to an error which of the files that KUBECONFIG names
// are not there. As kubectl does, client-go passes over them without a word, and a
// mistyped path looks like no cluster or no context.
func withMissingKubeconfig(err error, access clientcmd.ConfigAccess) error {
	files := access.GetLoadingPrecedence()
	if access.IsExplicitFile() || slices.Equal(files, []string{clientcmd.RecommendedHomeFile}) {
		return err // a flag's file is named already, and nobody named the other
	}
	files = slices.DeleteFunc(files, func(name string) bool {
		_, statErr := os.Stat(name)
		return !errors.Is(statErr, fs.ErrNotExist)
	})
	if len(files) == 0 {
		return err
	}
	return fmt.Errorf("%w; KUBECONFIG names what is not there: %s", err, strings.Join(files, ", "))
}
