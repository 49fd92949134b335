package source_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// readRoutes reads HTTPRoutes from a server that answers every request for them with
// the body.
func readRoutes(t *testing.T, body string) *snapshot.Snapshot {
	t.Helper()
	decide := kubetest.First(always, kubetest.Page("httproutes", false), ok(body))
	return read(t, newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{}), routes)
}

func TestFormsOfAListInJSON(t *testing.T) {
	const a, b = `{"metadata":{"name":"a","namespace":"x"}}`, `{"metadata":{"name":"b","namespace":"x"}}`
	for _, c := range []struct {
		says, body string
		names      []string
		listed     bool
	}{
		{"metadata may stand before the objects", `{"metadata":{"resourceVersion":"7"},"items":[` + a + `,` + b + `]}`, []string{"a", "b"}, true},
		{"and behind them", `{"apiVersion":"v1","items":[` + a + `,` + b + `],"kind":"List","metadata":{"resourceVersion":"7"}}`, []string{"a", "b"}, true},
		{"null is no objects", `{"items":null,"metadata":{"resourceVersion":"7"}}`, nil, true},
		{"nothing at all is no list", `{"metadata":{"resourceVersion":"7"}}`, nil, false},
		{"blanks do not matter", " {\n\t\"metadata\" : {\"resourceVersion\": \"7\"}, \"items\": [ ] }\n ", nil, true},
		{"an object is no list of objects", `{"items":{},"metadata":{"resourceVersion":"7"}}`, nil, false},
		{"a list alone is no list of the API", `[` + a + `]`, nil, false},
		{"nor is null", `null`, nil, false},
		{"nor are objects without a version", `{"items":[` + a + `],"metadata":{}}`, nil, false},
		{"nor is a list with objects in two places", `{"items":[` + a + `],"metadata":{"resourceVersion":"7"},"items":[]}`, nil, false},
		{"nor is an object", `{"kind":"HTTPRoute","metadata":{"name":"a","resourceVersion":"7"}}`, nil, false},
		{"nor is an object with items", `{"kind":"HTTPRoute","metadata":{"resourceVersion":"7"},"items":[]}`, nil, false},
		{"nor is a failure", `{"kind":"Status","status":"Failure","metadata":{"resourceVersion":"7"},"message":"no"}`, nil, false},
		{"nor is a list that hides where it goes on", `{"items":[` + a + `],"metadata":{"resourceVersion":"7","continue":"x","continue":""}}`, nil, false},
		{"nor is one with a null among the objects", `{"items":[` + a + `,null],"metadata":{"resourceVersion":"7"}}`, nil, false},
		{"what is not known is passed over", `{"later":{"a":[1,{"b":null}],"c":"}"},"items":[` + a + `],"metadata":{"resourceVersion":"7","x":[]}}`, []string{"a"}, true},
		{"nor is a list with something behind it", `{"items":[` + a + `],"metadata":{"resourceVersion":"7"}}{}`, nil, false},
		{"nor one that is closed twice", `{"items":[` + a + `]],"metadata":{"resourceVersion":"7"}}`, nil, false},
		{"nor what is no text", "\xff\xfe", nil, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			s := readRoutes(t, c.body)
			status := s.Status(snapshot.HTTPRoutes)
			if names := routeNames(s); (status == snapshot.Listed) != c.listed || !slices.Equal(names, c.names) {
				t.Errorf("%s, with %v: %v", status, names, s.Reads())
			}
		})
	}
}

// Wherever an answer ends before its end, nothing of it counts.
func TestJSONThatEndsAnywhereIsNoList(t *testing.T) {
	const whole = `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"}}`
	for n := range whole {
		s := readRoutes(t, whole[:n])
		if names := routeNames(s); s.Status(snapshot.HTTPRoutes) != snapshot.Failed || len(names) > 0 {
			t.Errorf("%q: %v with %v", whole[:n], s.Reads(), names)
		}
	}
}

// What fails in the midst of a page is read again, and nothing of it counts twice.
func TestJSONThatBreaksOffIsReadAgain(t *testing.T) {
	decide := kubetest.First(2, kubetest.Page("httproutes", true), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		kubetest.Cut(60)(w, r, next)
	})
	s := read(t, newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{}), routes)
	if r := s.Reads()[0]; r.Items != 5 || len(routeNames(s)) != 5 {
		t.Errorf("read %+v with %v", r, routeNames(s))
	}
}
