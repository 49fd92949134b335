package hostsource_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/hostsource"
)

// Whatever an object looks like, reading it ends soon, with claims or one line
// that says why not, and in the same way when it is read again.
func FuzzReadyMade(f *testing.F) {
	for _, table := range [][]objectOf{openshiftObjects(), istioObjects(), traefikObjects(), contourObjects(), knativeObjects()} {
		for _, o := range table {
			f.Add([]byte(o.object))
		}
	}
	for _, seed := range []string{
		`{}`, `{"spec": 1}`, `{"spec": []}`, `{"spec": {"host": {"a": 1}, "wildcardPolicy": 5}}`, `{"spec": {"hosts": {"a.b": 1}, "gateways": {"a": 1}}}`,
		`{"spec": {"hosts": [1, null, "a", ["b.c"], {"d": 1}], "gateways": [null, 1]}}`, `{"spec": {"routes": [1, null, {"match": 1}, {"match": null}]}}`,
		`{"spec": {"routes": "x", "virtualhost": "x"}, "metadata": "x"}`, `{"metadata": {"labels": [], "ownerReferences": {"a": 1}, "name": ["a"]}}`,
		`{"spec": {"host": "", "wildcardPolicy": "Subdomain"}, "status": {"ingress": [{"host": 1}, 2]}}`, `{"spec": {"host": "\u202e\u001b[2J", "hosts": ["\u0000."]}}`, `{"spec": {"host": "\u0007"}}`,
	} {
		f.Add([]byte(seed))
	}
	sources := hostsource.BuiltIn()
	f.Fuzz(func(t *testing.T, data []byte) {
		var object map[string]any
		if len(data) > 64<<10 || kjson.UnmarshalCaseSensitivePreserveInts(data, &object) != nil {
			return
		}
		before, _ := json.Marshal(object)
		for _, s := range sources {
			start := time.Now()
			claims, err := s.Read(t.Context(), object)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%s: it took %s", s.Kind, took)
			}
			again, err2 := s.Read(t.Context(), object)
			if diff := cmp.Diff(claims, again); diff != "" || (err == nil) != (err2 == nil) {
				t.Errorf("%s: another result when it is read again: %v, %v\n%s", s.Kind, err, err2, diff)
			}
			checkFit(t, s, claims, err)
		}
		if after, _ := json.Marshal(object); string(before) != string(after) {
			t.Errorf("the object was changed from %s to %s", before, after)
		}
	})
}

// checkFit holds what was read to what others rely on.
func checkFit(t *testing.T, s hostsource.Source, claims hostsource.Claims, err error) {
	t.Helper()
	texts := claims.Invalid
	if err != nil {
		if len(claims.Hosts)+len(claims.Invalid) > 0 {
			t.Errorf("%s: claims beside an error: %+v", s.Kind, claims)
		}
		texts = append(texts, err.Error())
	}
	for _, text := range texts {
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || len([]rune(text)) > 200 {
			t.Errorf("%s: not fit to be shown: %q", s.Kind, text)
		}
	}
	for _, h := range claims.Hosts {
		if h.Host == "" || strings.TrimSpace(h.Host) != h.Host || strings.HasPrefix(h.Host, "**.") {
			t.Errorf("%s: no host: %q", s.Kind, h.Host)
		}
	}
}
