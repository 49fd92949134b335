package kube

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// readUnmodelled finds out in which namespaces there are policies of a kind that
// nothing here understands.
func (s *Source) readUnmodelled(ctx context.Context, k servedKind) outcome {
	return s.readRaw(ctx, k.kind, k.versions[0], func(item json.RawMessage, f *snapshot.Facts) error {
		var o metav1.PartialObjectMetadata
		if err := json.Unmarshal(item, &o); err != nil {
			return fmt.Errorf("decode metadata: %w", err)
		}
		f.Unsupported = append(f.Unsupported, snapshot.Unsupported{Kind: k.kind, Namespace: o.Namespace})
		return nil
	})
}
