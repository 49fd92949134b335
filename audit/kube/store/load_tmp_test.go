package store_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/store"
)

// A page of findings that has to be read again is in the list once.
func TestLoadCountsNothingTwice(t *testing.T) {
	finding := func(host string) string {
		return fmt.Sprintf(`{"apiVersion":"eventuallytrue.dev/v1alpha1","kind":"Finding","metadata":{"name":%q,"resourceVersion":"5"},
			"spec":{"rule":"one-owner-per-host","subject":{"kind":"Host","name":%q}},"status":{"state":"Open"}}`, aRecord(host).ID, host)
	}
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		version, next, item := "7", "more", finding("a.example.com")
		if r.URL.Query().Get("continue") != "" {
			next, item = "", finding("b.example.com")
			if tries++; tries <= 2 {
				version = "" // which no list is without
			}
		}
		fmt.Fprintf(w, `{"kind":"FindingList","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`, version, next, item)
	}))
	defer server.Close()
	findings := newStore(t, &rest.Config{Host: server.URL}, store.Options{})
	if all, newer, err := findings.Load(t.Context()); err != nil || len(all) != 2 || len(newer) > 0 || tries != 3 {
		t.Errorf("after %d tries: %d findings, %v, %v", tries, len(all), newer, err)
	}
}
