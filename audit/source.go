package audit

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Source is where the objects of a sweep come from: a live API server, or manifests.
type Source interface {
	// Read passes the facts of the given kinds to the builder, with how each kind
	// was read. A kind that cannot be read is not an error but a Read that says so;
	// an error means that the sweep was canceled and nothing may be evaluated. The
	// source knows which kinds snapshot.HostSources expands to, and reports them
	// with Builder.Expand.
	Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (Reading, error)
}

// Reading is what a source found besides the facts.
type Reading struct {
	Problems []Problem
	Ignored  []IgnoredKind
	// Notes are about the source as a whole: nothing is wrong with any part of it, but its
	// reader should know. Each becomes an advisory of RuleManifests.
	Notes []string
}

// RuleManifests is the rule of advisories about manifests as a whole.
const RuleManifests = "manifests"

// Problem is something that could not be read and that belongs to no single kind,
// such as a document that does not parse.
type Problem struct {
	Where  string // for people, such as file and document number
	Reason string
	// Kind is the kind of the object that was lost, such as "Ingress", if rules evaluate
	// it.
	Kind string
	// Like is what the reason has in common with those of similar problems, if the reason
	// itself differs.
	Like string
}

// IgnoredKind counts the objects of a kind that no rule needs.
type IgnoredKind struct {
	Group, Version, Kind string
	// RunsPods is true if its objects run workloads. If rules evaluate workloads, they
	// miss these.
	RunsPods bool
	Items    int
}

func compareIgnored(a, b IgnoredKind) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Version, b.Version), cmp.Compare(fmt.Sprint(a.RunsPods), fmt.Sprint(b.RunsPods)))
}

// Rereader reads parts of a cluster again.
type Rereader interface {
	// Reread passes the current facts of the given parts to the builder, each read
	// in the API version of the first read. It returns the parts that it read
	// completely; of the others it passes nothing, and returns why they could not be
	// read. An error means that the sweep was canceled.
	Reread(ctx context.Context, parts []snapshot.Part, version func(snapshot.Kind) string, b *snapshot.Builder) ([]snapshot.Part, []UnreadPart, error)
}

// UnreadPart is a part of the cluster that could not be read again.
type UnreadPart struct {
	snapshot.Part
	Reason string
}

func (u UnreadPart) problem() Problem {
	where := string(u.Kind)
	switch {
	case u.Namespace == "":
	case u.Kind == snapshot.Namespaces:
		where = "namespace " + u.Namespace
	default:
		where += " in namespace " + u.Namespace
	}
	return Problem{Where: "confirm " + where, Reason: u.Reason}
}
