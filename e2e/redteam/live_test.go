package redteam

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/eventuallytrue/audit/audit"
	live "github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

// fewLiveSeeds is the default number of attacks on an API server.
const fewLiveSeeds = "12"

// TestLawsHoldOnAnAPIServer plays attacks on a real API server, by a user who has all rights
// in one namespace and none elsewhere. AUDIT_REDTEAM_LIVE_SEEDS is their number.
func TestLawsHoldOnAnAPIServer(t *testing.T) {
	k := control.ClusterWithCRDs(t)
	first := number(t, cmp.Or(os.Getenv("AUDIT_REDTEAM_SEED"), "1"))
	seeds := number(t, cmp.Or(os.Getenv("AUDIT_REDTEAM_LIVE_SEEDS"), fewLiveSeeds))
	refused := 0
	for seed := first; seed < first+seeds; seed++ {
		a := planned(seed, func(string) bool { return true })
		if err := k.Empty(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := newServer(t, k)
		if broken := a.playLive(t, s); len(broken) > 0 {
			t.Errorf("seed %d: %s:\n  %s", seed, a, strings.Join(broken, "\n  "))
		}
		refused += s.refused
	}
	t.Logf("%d attacks; the API server refused %d requests of the attacker", seeds, refused)
}

// playLive plays an attack on an API server, and returns how it breaks the laws. Objects are
// as old there as they really are, and the clock of the sweeps begins now. What the server
// refuses is no theft.
func (a *attack) playLive(t *testing.T, s *server) []string {
	t.Helper()
	s.apply(t, s.admin, a.estate.all)
	s.allow(t)
	c, now := newCluster(), time.Now()
	var broken []string
	var without *audit.Result
	for i, step := range a.steps {
		s.play(t, step)
		at := now.Add(step.at.Sub(start))
		res, _ := c.publish(t, s.source, at)
		if i == 0 {
			without = res
		}
		for _, f := range a.affects(without, res) {
			broken = append(broken, fmt.Sprintf("law B, sweep %d: %s", i+1, f))
		}
		if i > 0 {
			for _, f := range a.unseen(i, res, c) {
				broken = append(broken, fmt.Sprintf("law A, sweep %d: %s", i+1, f))
			}
		}
	}
	return broken
}

// server is an API server with an attacker.
type server struct {
	admin, attacker dynamic.Interface
	mapper          meta.RESTMapper
	source          *live.Source
	there           map[string]object // of the attacker's, by ID
	refused         int
}

func newServer(t *testing.T, k *kubetest.Cluster) *server {
	t.Helper()
	cfg := k.Config(kubetest.Admin)
	as := rest.CopyConfig(cfg)
	as.Impersonate = rest.ImpersonationConfig{UserName: mallory}
	c := settings()
	s := &server{there: map[string]object{}}
	found, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err == nil {
		var groups []*restmapper.APIGroupResources
		groups, err = restmapper.GetAPIGroupResources(found)
		s.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	}
	if err == nil {
		s.admin, err = dynamic.NewForConfig(cfg)
	}
	if err == nil {
		s.attacker, err = dynamic.NewForConfig(as)
	}
	if err == nil {
		s.source, err = live.New(cfg, live.Options{
			OwnerKeys: c.Owners.Keys, HostSources: c.KnownHostSources(), ExternalDNSPrefixes: c.Hosts.Prefixes(),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// allow gives the attacker all rights in their namespace.
func (s *server) allow(t *testing.T) {
	t.Helper()
	s.apply(t, s.admin, []object{
		parse("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: all, namespace: %s}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}", mallory),
		parse("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: all, namespace: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: all}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]}", mallory),
	})
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := s.attacker.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(mallory).List(t.Context(), metav1.ListOptions{})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// apply creates objects.
func (s *server) apply(t *testing.T, client dynamic.Interface, objects []object) {
	t.Helper()
	for _, o := range objects {
		if err := s.create(t.Context(), client, o); err != nil {
			t.Fatalf("create %s: %v", o.id(), err)
		}
	}
}

// of returns the client for the kind and the namespace of an object.
func (s *server) of(client dynamic.Interface, o object) (dynamic.ResourceInterface, error) {
	gv, err := schema.ParseGroupVersion(text(o, "apiVersion"))
	if err != nil {
		return nil, err
	}
	m, err := s.mapper.RESTMapping(gv.WithKind(o.kind()).GroupKind(), gv.Version)
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		return client.Resource(m.Resource), nil
	}
	return client.Resource(m.Resource).Namespace(o.namespace()), nil
}

// create creates an object, with its status if it has one.
func (s *server) create(ctx context.Context, client dynamic.Interface, o object) error {
	c, err := s.of(client, o)
	if err != nil {
		return err
	}
	o = o.clone()
	for _, key := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		delete(o.meta(), key)
	}
	made, err := c.Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
	if status, ok := o["status"]; err == nil && ok && o.kind() != "Namespace" {
		made.Object["status"] = status
		_, err = c.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	}
	return err
}

// play makes the attacker's objects those of a step. What is in the way of an object, and
// what the step does not have, is removed.
func (s *server) play(t *testing.T, step *step) {
	t.Helper()
	wanted := map[string]object{}
	for _, o := range step.objects {
		wanted[o.id()] = o
	}
	for id, o := range s.there {
		if w, ok := wanted[id]; !ok || documents([]object{w}) != documents([]object{o}) {
			s.remove(t, o)
			delete(s.there, id)
		}
	}
	for _, o := range step.objects {
		if _, ok := s.there[o.id()]; ok {
			continue
		}
		if err := s.create(t.Context(), s.attacker, o); err != nil {
			s.refused++
			for _, l := range step.loot {
				step.stolen = step.stolen && l.id() != o.id()
			}
			continue
		}
		s.there[o.id()] = o
		if _, deleted := o.meta()["deletionTimestamp"]; deleted {
			if err := s.remote(t, o).Delete(t.Context(), o.name(), metav1.DeleteOptions{}); err != nil {
				t.Fatalf("delete %s: %v", o.id(), err)
			}
		}
	}
	if !step.ending.IsZero() {
		namespace := parse("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", mallory)
		c, err := s.of(s.admin, namespace)
		if err == nil {
			err = c.Delete(t.Context(), mallory, metav1.DeleteOptions{})
		}
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatalf("delete the namespace: %v", err)
		}
	}
}

func (s *server) remote(t *testing.T, o object) dynamic.ResourceInterface {
	t.Helper()
	c, err := s.of(s.attacker, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// remove deletes an object and its finalizers.
func (s *server) remove(t *testing.T, o object) {
	t.Helper()
	c, none := s.remote(t, o), int64(0)
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	err := c.Delete(t.Context(), o.name(), metav1.DeleteOptions{GracePeriodSeconds: &none})
	if err == nil {
		_, err = c.Patch(t.Context(), o.name(), "application/merge-patch+json", patch, metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatalf("remove %s: %v", o.id(), err)
	}
}
