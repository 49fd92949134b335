package v1alpha1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

func TestSchemeKnowsFindings(t *testing.T) {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{v1alpha1.Kind, v1alpha1.Kind + "List"} {
		if !s.Recognizes(v1alpha1.GroupVersion().WithKind(kind)) {
			t.Errorf("%s is not known", kind)
		}
	}
}
