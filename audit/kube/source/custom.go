package source

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// custom returns how a kind that custom resources serve is taken in, and whether the
// kind is one.
func (s *Source) custom(ctx context.Context, kind snapshot.Kind) (ingest.Custom, bool) {
	c, ok := s.customs[kind]
	host, hosted := s.hosts[kind]
	switch {
	case ok && hosted:
		return c.WithHosts(ctx, host), true
	case hosted:
		return ingest.HostKind(ctx, host), true
	}
	return c, ok
}

// plan is how a custom kind is read, or the outcome of one that is not read.
type plan struct {
	read    func() outcome
	instead outcome
}

// planCustoms asks once what the server serves, and plans how each kind is read.
// Where policies are among the kinds, it also plans to read the unsupported kinds of
// policies, and where host sources are, to count the objects of kinds that probably
// carry hosts; the first outcome, of the kind discovered, names these. If there are no
// kinds it does not ask.
func (s *Source) planCustoms(ctx context.Context, customs []ingest.Custom) (plans []plan, first outcome) {
	first = outcome{read: snapshot.Read{Kind: discovered}}
	if len(customs) == 0 {
		return nil, first
	}
	served, err := s.client.Discover(ctx)
	if err != nil {
		for _, c := range customs {
			plans = append(plans, plan{instead: outcome{read: s.unread(ctx, c.Kind, err)}})
		}
		return plans, first
	}
	for _, c := range customs {
		switch version, instead := s.version(&served, &c); {
		case version == "":
			plans = append(plans, plan{instead: outcome{read: instead}})
		case len(c.Only) > 0:
			plans = append(plans, plan{read: func() outcome { return s.readOnly(ctx, &c, version) }})
		default:
			plans = append(plans, plan{read: func() outcome { return s.readCustom(ctx, &c, version) }})
		}
	}
	for _, k := range unsupportedPolicies(&served, customs) {
		// Where they are is not known, so they may apply to any namespace.
		first.more = append(first.more, extra{k.Kind, func(read snapshot.Read) (snapshot.Facts, []snapshot.Read) {
			return snapshot.Facts{Unsupported: []snapshot.Unsupported{ingest.Unsupported(k.Kind, k.Object, "")}}, []snapshot.Read{read}
		}})
		plans = append(plans, plan{read: func() outcome { return s.readUnsupported(ctx, k) }})
	}
	for _, k := range s.unreadHostKinds(&served, customs) {
		c := ingest.HostKind(ctx, &k)
		first.more = append(first.more, extra{k.Kind, func(read snapshot.Read) (snapshot.Facts, []snapshot.Read) {
			return uncounted(&k, read), nil
		}})
		plans = append(plans, plan{read: func() outcome { return s.readCustom(ctx, &c, c.Versions[0]) }})
	}
	return plans, first
}

// unsupportedPolicies returns the served kinds of policies that audit does not
// evaluate. There are none where the requested kinds have no policies, and none that
// is requested itself, as a source of hosts.
func unsupportedPolicies(served *kube.Served, customs []ingest.Custom) []kube.ServedKind {
	if !slices.ContainsFunc(customs, func(c ingest.Custom) bool { return c.Policy }) {
		return nil
	}
	var unsupported []kube.ServedKind
	for _, k := range served.Kinds {
		requested := slices.ContainsFunc(customs, func(c ingest.Custom) bool { return c.Kind == k.Kind })
		if ingest.UnsupportedPolicy(k.Kind.Group(), k.Object) && !requested {
			unsupported = append(unsupported, k)
		}
	}
	slices.SortFunc(unsupported, func(a, b kube.ServedKind) int { return compareKinds(a.Kind, b.Kind) })
	return unsupported
}

// unreadHostKinds returns a source for each served kind that probably carries hosts, if
// host sources are among the requested kinds and none of them is for it.
func (s *Source) unreadHostKinds(served *kube.Served, customs []ingest.Custom) []hostsource.Source {
	requested := map[snapshot.Kind]bool{}
	hosts := false
	for _, c := range customs {
		requested[c.Kind] = true
		hosts = hosts || s.hosts[c.Kind] != nil
	}
	if !hosts {
		return nil
	}
	var unread []hostsource.Source
	for _, k := range served.Kinds {
		if h, likely := hostsource.Likely(k.Kind, k.Object, k.Versions[0]); likely && k.Namespaced && !requested[k.Kind] {
			unread = append(unread, h)
		}
	}
	slices.SortFunc(unread, func(a, b hostsource.Source) int { return compareKinds(a.Kind, b.Kind) })
	return unread
}

// uncounted returns the fact that objects of a kind that carries hosts could not be counted.
func uncounted(host *hostsource.Source, read snapshot.Read) snapshot.Facts {
	why := string(read.Status)
	if read.Err != "" {
		why += ": " + read.Err
	}
	return snapshot.Facts{UnreadHosts: []snapshot.UnreadHosts{ingest.UnknownHosts(host, why)}}
}

// compareKinds orders kinds by group and resource.
func compareKinds(a, b snapshot.Kind) int {
	if c := strings.Compare(a.Group(), b.Group()); c != 0 {
		return c
	}
	return strings.Compare(a.Resource(), b.Resource())
}

// version returns the version in which a kind is read. For a kind that can't be read
// it is empty, and instead says why.
func (s *Source) version(served *kube.Served, c *ingest.Custom) (version string, instead snapshot.Read) {
	if why := s.mismatch(served, c); why != "" {
		return "", s.failed(c.Kind, why)
	}
	k, ok := served.Kinds[c.Kind]
	switch {
	// Without that group, the objects have no meaning.
	case c.With != "" && !served.Groups[c.With]:
		return "", snapshot.Read{Kind: c.Kind, Version: c.Versions[0], Status: snapshot.Absent}
	// Discovery leaves out the core group, which is always served.
	case c.Kind.Group() == "":
		return c.Versions[0], snapshot.Read{}
	case served.Stale[c.Kind.Group()]:
		return "", s.failed(c.Kind, "the API server cannot reach the server of this group")
	case !ok:
		return "", snapshot.Read{Kind: c.Kind, Version: c.Versions[0], Status: snapshot.Absent}
	}
	for _, v := range c.Versions {
		if slices.Contains(k.Versions, v) {
			return v, snapshot.Read{}
		}
	}
	return "", s.failed(c.Kind, fmt.Sprintf("served only in versions %v, which are not supported", k.Versions))
}

// mismatch describes how the kind of a host source differs from what the server has.
// It is empty if they match, and for all other kinds.
func (s *Source) mismatch(served *kube.Served, c *ingest.Custom) string {
	k, ok := served.Kinds[c.Kind]
	if _, host := s.hosts[c.Kind]; !ok || !host {
		return ""
	}
	switch {
	case !k.Namespaced:
		return "its objects are in no namespace, and so have no owner: they cannot be a source of hosts"
	case k.Object != c.Object:
		return fmt.Sprintf("its objects are of kind %s, not %s", k.Object, c.Object)
	}
	return ""
}

// readCustom reads a custom kind in the version that is served.
func (s *Source) readCustom(ctx context.Context, c *ingest.Custom, version string) outcome {
	in := s.ingester()
	return s.readRaw(ctx, c.Kind, version, func(item json.RawMessage, f *snapshot.Facts) error {
		return c.Take(in, item, f)
	})
}

// readUnsupported finds out which namespaces have policies of a kind that audit does
// not evaluate.
func (s *Source) readUnsupported(ctx context.Context, k kube.ServedKind) outcome {
	return s.readRaw(ctx, k.Kind, k.Versions[0], func(item json.RawMessage, f *snapshot.Facts) error {
		f.Unsupported = append(f.Unsupported, ingest.UnsupportedObject(k.Kind, k.Object, item))
		return nil
	})
}

// readRaw reads a kind in a version that discovery has named.
func (s *Source) readRaw(
	ctx context.Context, kind snapshot.Kind, version string, take func(json.RawMessage, *snapshot.Facts) error,
) outcome {
	facts, items, err := kube.ReadAll(ctx, s.client, s.raw(kind, version, take))
	read := snapshot.Read{Kind: kind, Version: version, Status: snapshot.Listed, Items: items}
	switch {
	// Discovery says nothing about the core group.
	case apierrors.IsNotFound(err) && kind.Group() != "":
		read = s.failed(kind, unreliable)
	case err != nil:
		read = s.unread(ctx, kind, err)
	}
	read.Version = version
	return outcome{facts: facts, read: read}
}

// raw lists a kind that custom resources serve. Its objects stay the JSON that the
// server sent until they become facts.
func (s *Source) raw(kind snapshot.Kind, version string, take func(json.RawMessage, *snapshot.Facts) error) kube.List[snapshot.Facts] {
	request := func(opts metav1.ListOptions) *rest.Request {
		return kube.Paged(s.client.Get(kind, version).Resource(kind.Resource()), opts)
	}
	return kube.List[snapshot.Facts]{Request: request, Read: func(body *bufio.Reader, p *kube.Page, f *snapshot.Facts) error {
		return kube.ReadJSON(body, p, func(item json.RawMessage) error {
			if err := take(item, f); err != nil {
				return &kube.ObjectError{Err: err}
			}
			return nil
		})
	}}
}

// takeOnly takes in an object that was requested by name.
func takeOnly(c *ingest.Custom, in *ingest.Ingester, name types.NamespacedName, body []byte, f *snapshot.Facts) error {
	if !json.Valid(body) {
		return errors.New("the response is not JSON")
	}
	before := len(f.Faults)
	err := c.Take(in, body, f)
	for i := range f.Faults[before:] {
		f.Faults[before+i].Namespace, f.Faults[before+i].Name = name.Namespace, name.Name
	}
	return err
}

// readOnly reads a kind of which only some objects matter, one by one. Those that do
// not exist are not an error.
func (s *Source) readOnly(ctx context.Context, c *ingest.Custom, version string) outcome {
	var facts snapshot.Facts
	in := s.ingester()
	read := snapshot.Read{Kind: c.Kind, Version: version, Status: snapshot.Listed}
	for _, name := range c.Only {
		var body []byte
		err := s.client.Retry(ctx, func(ctx context.Context) (err error) {
			request := s.client.Get(c.Kind, version).
				Namespace(name.Namespace).Resource(c.Kind.Resource()).Name(name.Name)
			body, err = kube.Body(ctx, request)
			return err
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			err = takeOnly(c, in, name, body, &facts)
		}
		if err != nil {
			return outcome{read: s.unread(ctx, c.Kind, err)}
		}
		read.Items++
	}
	return outcome{facts: facts, read: read}
}
