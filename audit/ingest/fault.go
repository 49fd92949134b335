package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/ingest/budget"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Safely calls a function that makes facts of one object, and returns a panic as its
// error: what one object holds must not end the reading of the others.
func Safely(take func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return take()
}

// Limit bounds what is kept of objects, and returns the Ingester.
func (in *Ingester) Limit(l budget.Limits) *Ingester {
	in.budget = budget.New(l)
	return in
}

// CheckHosts returns an error for an object with more hosts than one may have, so that it
// need not be decoded.
func (in *Ingester) CheckHosts(n int) error { return in.budget.CheckHosts(n) }

// Add calls a function that adds the facts of one object, and holds them against the
// limits. After an error, which may be a panic, there are no facts of the object.
func (in *Ingester) Add(f *snapshot.Facts, take func() error) error {
	before := *f
	in.fresh = 0
	err := Safely(take)
	if err == nil {
		err = in.budget.Charge(f, &before, in.fresh)
	}
	if err != nil {
		*f = before
		// Labels that were not charged must not be free for the next object.
		clear(in.labels)
	}
	return err
}

// NewFault returns the fault of an object whose name was read by other means.
func NewFault(kind snapshot.Kind, object, namespace, name string, err error) snapshot.Fault {
	if snapshot.ClusterWide(kind) {
		namespace = ""
	}
	return snapshot.Fault{
		Ref:      snapshot.Ref{Group: kind.Group(), Kind: object, Namespace: strings.Clone(namespace), Name: strings.Clone(name)},
		Resource: kind, Reason: reasonOf(err),
	}
}

// FaultOf returns the fault of an object, given as JSON. It is read as far as that goes:
// its name, and of a policy the directions that it may affect.
func FaultOf(kind snapshot.Kind, object string, data []byte, err error) snapshot.Fault {
	whole := membersOf(data)
	meta := membersOf(whole["metadata"])
	f := NewFault(kind, object, textOf(meta["namespace"]), textOf(meta["name"]), err)
	if slices.Contains(snapshot.PolicyKinds(), kind) {
		f.Spares = spares(kind, whole)
	}
	return f
}

// Unreadable returns the facts of an object that can't be read: its fault, and of a
// Namespace what can be read of its labels and annotations, since that says who owns
// what is in it.
func (in *Ingester) Unreadable(kind snapshot.Kind, object string, data []byte, err error) snapshot.Facts {
	facts := snapshot.Facts{Faults: []snapshot.Fault{FaultOf(kind, object, data, err)}}
	if kind == snapshot.Namespaces {
		meta := membersOf(membersOf(data)["metadata"])
		facts.Namespaces = []snapshot.Namespace{in.Namespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: textOf(meta["name"]), Labels: textsOf(meta["labels"]), Annotations: textsOf(meta["annotations"]),
		}})}
	}
	return facts
}

// textsOf returns the members of an object that are strings.
func textsOf(data []byte) map[string]string {
	out := map[string]string{}
	for key, value := range membersOf(data) {
		if text := textOf(value); text != "" || string(value) == `""` {
			out[key] = text
		}
	}
	return out
}

// maxReason bounds a reason in bytes: an error may quote a value of any length.
const maxReason = 240

func reasonOf(err error) string {
	reason := strings.ToValidUTF8(err.Error(), "?")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return strings.Clone(reason)
}

// AddFault adds a fault. One of an object whose name is unknown gets one that no object
// has, so that each has its own.
func AddFault(f *snapshot.Facts, fault snapshot.Fault) {
	if fault.Name == "" {
		fault.Name = fmt.Sprintf("(unnamed %d)", len(f.Faults)+1)
	}
	f.Faults = append(f.Faults, fault)
}

// membersOf returns the members of an object, none if it is not one.
func membersOf(data []byte) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if len(data) == 0 || kjson.UnmarshalCaseSensitivePreserveInts(data, &members) != nil {
		return nil
	}
	return members
}

// textOf returns a string, empty if the value is not one.
func textOf(data []byte) string {
	var text string
	if len(data) == 0 || json.Unmarshal(data, &text) != nil {
		return ""
	}
	return text
}

func isSet(value json.RawMessage) bool {
	return len(value) > 0 && string(bytes.TrimSpace(value)) != "null"
}

// spares returns the directions that a policy that could not be read can't affect.
func spares(kind snapshot.Kind, whole map[string]json.RawMessage) (out [2]bool) {
	switch kind {
	case snapshot.NetworkPolicies:
		return othersThan(membersOf(whole["spec"])["policyTypes"])
	case snapshot.CalicoNetworkPolicies, snapshot.CalicoGlobalNetworkPolicies,
		snapshot.StoredCalicoNetworkPolicies, snapshot.StoredCalicoGlobalPolicies:
		return othersThan(membersOf(whole["spec"])["types"])
	case snapshot.CiliumConfigs, snapshot.CalicoTiers, snapshot.StoredCalicoTiers:
		return out
	}
	// Those of the other kinds affect the directions that they have sections for.
	if isSet(whole["specs"]) {
		return out
	}
	spec := membersOf(whole["spec"])
	for _, d := range snapshot.Directions() {
		section := strings.ToLower(d.String())
		out[d] = !isSet(spec[section]) && !isSet(spec[section+"Deny"])
	}
	if out[0] && out[1] {
		return [2]bool{}
	}
	return out
}

// othersThan returns the directions that a list of them leaves out, none if it can't be
// read or is empty.
func othersThan(list json.RawMessage) [2]bool {
	var types []string
	if json.Unmarshal(list, &types) != nil || len(types) == 0 {
		return [2]bool{}
	}
	out := [2]bool{true, true}
	for _, t := range types {
		switch {
		case strings.EqualFold(t, snapshot.DirectionIngress.String()):
			out[snapshot.DirectionIngress] = false
		case strings.EqualFold(t, snapshot.DirectionEgress.String()):
			out[snapshot.DirectionEgress] = false
		default:
			return [2]bool{}
		}
	}
	return out
}

// fault returns the fault of an object of the kind, and the facts that it has all the
// same: those that only name it.
func (c *Custom) fault(in *Ingester, data []byte, err error) (snapshot.Fault, snapshot.Facts) {
	f := FaultOf(c.Kind, c.Object, data, fmt.Errorf("decode %s: %w", c.Object, err))
	var facts snapshot.Facts
	switch {
	case slices.Contains(snapshot.AddressSetKinds(), c.Kind):
		// Whether a selector matches a set depends on labels that can be read.
		if bare := c.reduced(in, data, "labels"); len(bare.AddressSets) == 1 {
			bare.AddressSets[0].Unread = true
			facts.AddressSets = bare.AddressSets
		}
	case c.Policy && !c.Namespaced:
		for _, p := range c.reduced(in, data, "").Policies {
			f.Subject = append(f.Subject, p.Subject...)
			if len(p.Subject) == 0 {
				f.Subject = nil
				break
			}
		}
	}
	return f, facts
}

// subjectFields are the fields of a policy that say which pods it selects, or have no
// part in that but are needed.
func subjectFields() []string {
	return []string{"selector", "namespaceSelector", "serviceAccountSelector", "endpointSelector", "nodeSelector", "subject"}
}

// reduced returns the facts of an object without everything but its name, one field of
// its metadata, and which pods it selects, none if even that can't be read.
func (c *Custom) reduced(in *Ingester, data []byte, field string) snapshot.Facts {
	whole := membersOf(data)
	meta, spec := membersOf(whole["metadata"]), membersOf(whole["spec"])
	if c.Policy && (isSet(whole["specs"]) || !isSet(whole["spec"])) {
		return snapshot.Facts{}
	}
	less := map[string]map[string]json.RawMessage{"metadata": {}, "spec": {}}
	for _, key := range []string{"name", "namespace", field} {
		if value, ok := meta[key]; ok {
			less["metadata"][key] = value
		}
	}
	for _, key := range subjectFields() {
		if value, ok := spec[key]; ok {
			less["spec"][key] = value
		}
	}
	text, err := json.Marshal(less)
	var facts snapshot.Facts
	if err != nil || Safely(func() error { return c.take(in, text, &facts) }) != nil {
		return snapshot.Facts{}
	}
	return facts
}
