package memapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

type tree = map[string]any

// one answers a request for one object.
func (s *Server) one(w http.ResponseWriter, r *http.Request, c call) {
	body, err := decode(r)
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{c.namespace, c.name}
	if r.Method == http.MethodPost {
		k.name, _ = meta(body)["name"].(string)
	}
	was := s.objects[c.resource.name][k]
	switch {
	case r.Method == http.MethodPost && was != nil:
		fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, fmt.Sprintf("%s %q already exists", c.resource.name, k.name))
	case r.Method == http.MethodPost:
		reply(w, http.StatusCreated, s.put(c, k, nil, body).json)
	case was == nil:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", c.resource.name, k.name))
	case r.Method == http.MethodGet:
		reply(w, http.StatusOK, was.json)
	case r.Method == http.MethodPut && conflicts(meta(body)["resourceVersion"], was),
		r.Method == http.MethodDelete && conflicts(precondition(body), was):
		fail(w, http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified")
	case r.Method == http.MethodPut:
		reply(w, http.StatusOK, s.put(c, k, was, body).json)
	case r.Method == http.MethodDelete:
		delete(s.objects[c.resource.name], k)
		s.version++
		reply(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
	default:
		fail(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, r.Method)
	}
}

// decode reads a body in any form that a client sends.
func decode(r *http.Request) (tree, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil || len(data) == 0 {
		return tree{}, err
	}
	if data[0] != '{' {
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			return nil, err
		}
		if data, err = json.Marshal(obj); err != nil {
			return nil, err
		}
	}
	var out tree
	err = json.Unmarshal(data, &out)
	return out, err
}

func meta(t tree) tree {
	m, _ := t["metadata"].(tree)
	return m
}

func precondition(options tree) any {
	p, _ := options["preconditions"].(tree)
	return p["resourceVersion"]
}

func conflicts(version any, was *object) bool {
	v, _ := version.(string)
	return v != "" && v != was.version
}

// put stores an object. A status is written only by a request for it, and no other part is
// written then. The caller holds s.mu.
func (s *Server) put(c call, k key, was *object, body tree) *object {
	old := tree{}
	if was != nil {
		// It was encoded by this package.
		_ = json.Unmarshal(was.json, &old)
	}
	next := body
	if c.resource.status {
		if c.part == "status" {
			next = maps.Clone(old)
			next["status"] = body["status"]
		} else if delete(next, "status"); old["status"] != nil {
			next["status"] = old["status"]
		}
		for _, path := range s.drop {
			prune(next, strings.Split(path, "."))
		}
	}
	m := tree{}
	maps.Copy(m, meta(next))
	m["name"] = k.name
	if k.namespace != "" {
		m["namespace"] = k.namespace
	}
	if old := meta(old); old != nil {
		m["uid"], m["creationTimestamp"] = old["uid"], old["creationTimestamp"]
	} else if m["creationTimestamp"] == nil {
		m["uid"], m["creationTimestamp"] = fmt.Sprintf("uid-%d", s.version+1), stamp()
	}
	next["metadata"], next["apiVersion"], next["kind"] = m, c.resource.apiVersion(), c.resource.kind
	// A write that changes nothing gets no new version.
	if was != nil {
		m["resourceVersion"] = was.version
		if reflect.DeepEqual(next, old) {
			return was
		}
	}
	s.version++
	o := &object{key: k, version: strconv.Itoa(s.version)}
	m["resourceVersion"] = o.version
	o.json, _ = json.Marshal(next) // it was decoded from JSON
	if s.objects == nil {
		s.objects = map[string]map[key]*object{}
	}
	if s.objects[c.resource.name] == nil {
		s.objects[c.resource.name] = map[key]*object{}
	}
	s.objects[c.resource.name][k] = o
	return o
}

// prune removes a field. A path goes through the items of lists.
func prune(t tree, path []string) {
	name, _ := strings.CutSuffix(path[0], "[]")
	if len(path) == 1 {
		delete(t, name)
		return
	}
	switch child := t[name].(type) {
	case []any:
		for _, item := range child {
			if m, ok := item.(tree); ok {
				prune(m, path[1:])
			}
		}
	case tree:
		prune(child, path[1:])
	}
}
