package ingest

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Custom is a kind that custom resources serve: one that a cluster may or may
// not have, in versions that come and go. Its objects are taken in as JSON, just
// as they are stored, since a typed client would drop the difference between a
// list that is empty and one that is not there.
type Custom struct {
	Kind snapshot.Kind
	// Object is the kind as its objects spell it, such as "HTTPRoute".
	Object string
	// Versions are those that can be taken in, the most preferred first.
	Versions []string
	// Policy is true of the kinds in snapshot.PolicyKinds.
	Policy bool
	// Namespaced is false for kinds that stand beside all namespaces.
	Namespaced bool
	// Only are the objects that matter, where it is not all of the kind. They
	// are to be asked for one by one: the others are none of the program's
	// business, and it may not have the right to list them. One that is not
	// there is no error.
	Only []types.NamespacedName
	// With is the group that a kind of Only belongs to in truth: where nothing
	// of that group is served, there is nothing to ask for.
	With string

	take func(in *Ingester, data []byte, f *snapshot.Facts) error
}

// ErrOther is an object that is none of those that matter of its kind.
var ErrOther = errors.New("none of the objects that matter of its kind")

// Take adds the facts of an object, given as JSON. It returns ErrOther where
// Only leaves the object out.
func (c *Custom) Take(in *Ingester, data []byte, f *snapshot.Facts) error {
	err := c.take(in, data, f)
	if errors.Is(err, ErrOther) {
		return err
	}
	if err != nil {
		return fmt.Errorf("decode %s: %w", c.Object, err)
	}
	return nil
}

// Customs returns every custom kind that can be taken in, in the order of the
// groups of this package.
func Customs() []Custom {
	var all []Custom
	all = append(all, ciliumKinds()...)
	all = append(all, calicoKinds()...)
	all = append(all, clusterPolicyKinds()...)
	all = append(all, gatewayKinds()...)
	all = append(all, gatekeeperKinds()...)
	for i := range all {
		all[i].Policy = slices.Contains(snapshot.PolicyKinds(), all[i].Kind)
	}
	return all
}
