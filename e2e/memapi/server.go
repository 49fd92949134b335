// Package memapi is an API server in memory, for tests that need more clusters, or larger
// ones, than there is time to run real ones for. It knows what the program requests:
// discovery, lists in pages of one state, and reads and writes of single objects with the
// conflicts of a real server. It checks no rights and validates nothing: what it accepts, a
// real one may not, so whatever is tested with it is tested with a real one, too.
package memapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resource is a kind that is served.
type resource struct {
	group, version, name, kind string
	namespaced                 bool
	status                     bool // it has a status subresource
}

// served returns the kinds that the program reads and writes, as far as every cluster has
// them.
func served() []resource {
	return []resource{
		{"", "v1", "namespaces", "Namespace", false, false},
		{"", "v1", "pods", "Pod", true, false},
		{"", "v1", "replicationcontrollers", "ReplicationController", true, false},
		{"apps", "v1", "daemonsets", "DaemonSet", true, false},
		{"apps", "v1", "deployments", "Deployment", true, false},
		{"apps", "v1", "replicasets", "ReplicaSet", true, false},
		{"apps", "v1", "statefulsets", "StatefulSet", true, false},
		{"batch", "v1", "cronjobs", "CronJob", true, false},
		{"batch", "v1", "jobs", "Job", true, false},
		{"networking.k8s.io", "v1", "ingresses", "Ingress", true, false},
		{"networking.k8s.io", "v1", "ingressclasses", "IngressClass", false, false},
		{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true, false},
		{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false, false},
		{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false, false},
		{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", false, false},
		{"coordination.k8s.io", "v1", "leases", "Lease", true, false},
		{"eventuallytrue.dev", "v1alpha1", "findings", "Finding", true, true},
	}
}

func (r *resource) apiVersion() string {
	if r.group == "" {
		return r.version
	}
	return r.group + "/" + r.version
}

func (r *resource) prefix() string {
	if r.group == "" {
		return "/api/" + r.version
	}
	return "/apis/" + r.group + "/" + r.version
}

// Server is an API server. The zero value has no objects. It may be used by several
// goroutines at once.
type Server struct {
	mu      sync.Mutex
	version int
	objects map[string]map[key]*object // by the name of the resource
	pages   map[string]pending         // by continue token
	drop    []string
}

type key struct{ namespace, name string }

func (k key) compare(o key) int {
	return cmp.Or(strings.Compare(k.namespace, o.namespace), strings.Compare(k.name, o.name))
}

// object is an object as it is stored. It does not change.
type object struct {
	key
	version string
	json    []byte
}

// Drop makes the server drop fields of findings, as one does whose definition lacks them.
// They are named as in status.notifications[].attempts.
func (s *Server) Drop(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop = paths
}

// Remove deletes all objects of a resource.
func (s *Server) Remove(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, resource)
}

// call is what a request asks for.
type call struct {
	resource  *resource
	namespace string
	name      string
	part      string // such as status
}

// parse returns what the path of a request names.
func parse(path string) (call, bool) {
	for _, r := range served() {
		rest, ok := strings.CutPrefix(path, r.prefix()+"/")
		if !ok {
			continue
		}
		c := call{resource: &r}
		words := strings.Split(rest, "/")
		if r.namespaced && len(words) >= 3 && words[0] == "namespaces" {
			c.namespace, words = words[1], words[2:]
		}
		if words[0] != r.name || len(words) > 3 {
			continue
		}
		words = append(words, "", "")
		c.name, c.part = words[1], words[2]
		return c, true
	}
	return call{}, false
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, ok := parse(r.URL.Path)
	switch {
	case ok && r.Method == http.MethodGet && c.name == "":
		s.list(w, r, c)
	case ok:
		s.one(w, r, c)
	case !s.discover(w, r.URL.Path):
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}
}

// discover answers a request for what is served.
func (s *Server) discover(w http.ResponseWriter, path string) bool {
	if path == "/apis" {
		reply(w, http.StatusOK, groups())
		return true
	}
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}}
	for _, r := range served() {
		if r.prefix() == path {
			list.GroupVersion = r.apiVersion()
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.name, Kind: r.kind, Namespaced: r.namespaced, Verbs: metav1.Verbs{"get", "list"}})
		}
	}
	if list.GroupVersion == "" {
		return false
	}
	reply(w, http.StatusOK, list)
	return true
}

// groups returns the groups as aggregated discovery does.
func groups() any {
	type m = map[string]any
	var items []any
	versions := map[string][]any{}
	for _, r := range served() {
		if r.group != "" {
			scope := "Cluster"
			if r.namespaced {
				scope = "Namespaced"
			}
			versions[r.group] = append(versions[r.group], m{
				"resource": r.name, "responseKind": m{"kind": r.kind}, "scope": scope, "verbs": []string{"get", "list"},
			})
		}
	}
	for _, r := range served() {
		if all := versions[r.group]; all != nil {
			delete(versions, r.group)
			items = append(items, m{
				"metadata": m{"name": r.group},
				"versions": []any{m{"version": r.version, "freshness": "Current", "resources": all}},
			})
		}
	}
	return m{"apiVersion": "apidiscovery.k8s.io/v2", "kind": "APIGroupDiscoveryList", "items": items}
}

// pending is the rest of a list.
type pending struct {
	version string
	items   []*object
}

// list answers with a page. All pages of a list are of one state.
func (s *Server) list(w http.ResponseWriter, r *http.Request, c call) {
	query := r.URL.Query()
	s.mu.Lock()
	rest := pending{version: strconv.Itoa(s.version)}
	if token := query.Get("continue"); token != "" {
		var ok bool
		if rest, ok = s.pages[token]; !ok {
			s.mu.Unlock()
			fail(w, http.StatusGone, metav1.StatusReasonExpired, "the continue token is too old")
			return
		}
	} else {
		rest.items = s.selected(c, query.Get("fieldSelector"))
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	page, token := rest.items, ""
	if limit > 0 && len(page) > limit {
		page, rest.items = page[:limit], page[limit:]
		token = fmt.Sprintf("%s-%s-%d", rest.version, c.resource.name, len(s.pages))
		if s.pages == nil {
			s.pages = map[string]pending{}
		}
		s.pages[token] = rest
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q,"continue":%q},"items":[`,
		c.resource.kind+"List", c.resource.apiVersion(), rest.version, token)
	for i, o := range page {
		if i > 0 {
			_, _ = w.Write([]byte(","))
		}
		_, _ = w.Write(o.json) // the client may be gone
	}
	_, _ = w.Write([]byte("]}"))
}

// selected returns the objects of a list, by namespace and name. The caller holds s.mu.
func (s *Server) selected(c call, selector string) []*object {
	namespace, name := c.namespace, ""
	if field, value, ok := strings.Cut(selector, "="); ok {
		if field == "metadata.name" {
			name = value
		} else {
			namespace = value
		}
	}
	var out []*object
	for k, o := range s.objects[c.resource.name] {
		if (namespace == "" || k.namespace == namespace) && (name == "" || k.name == name) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *object) int { return a.compare(b.key) })
	return out
}

func reply(w http.ResponseWriter, code int, v any) {
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			panic(fmt.Sprintf("memapi: encode: %v", err))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data) // the client may be gone
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	reply(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

// stamp is a time as objects have it.
func stamp() string { return time.Now().UTC().Format(time.RFC3339) }
