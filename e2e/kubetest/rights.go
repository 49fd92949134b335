package kubetest

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Allow gives a user rights in the whole cluster, and returns when the API
// server goes by them. Reset takes them away.
func (c *Cluster) Allow(ctx context.Context, user string, rules ...rbacv1.PolicyRule) error {
	client, err := kubernetes.NewForConfig(c.Config(Admin))
	if err != nil {
		return fmt.Errorf("allow %s: %w", user, err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "kubetest-" + user + "-"}, Rules: rules}
	role, err = client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("allow %s: create role: %w", user, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("allow %s: bind role: %w", user, err)
	}
	err = c.awaitRights(ctx, user, func(have []authorizationv1.ResourceRule) bool {
		return !slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return len(rule.Resources) > 0 && !slices.ContainsFunc(have, same(rule))
		})
	})
	if err != nil {
		return fmt.Errorf("allow %s: %w", user, err)
	}
	return nil
}

func same(rule rbacv1.PolicyRule) func(authorizationv1.ResourceRule) bool {
	return func(have authorizationv1.ResourceRule) bool {
		return slices.Equal(have.Verbs, rule.Verbs) && slices.Equal(have.APIGroups, rule.APIGroups) &&
			slices.Equal(have.Resources, rule.Resources) && slices.Equal(have.ResourceNames, rule.ResourceNames)
	}
}

// awaitNoRights waits, where one of the deleted objects may have given rights,
// until no user but Admin may do more than to ask what it may do.
func (c *Cluster) awaitNoRights(ctx context.Context, deleted []object) error {
	if !slices.ContainsFunc(deleted, func(o object) bool { return o.resource.Group == rbacv1.GroupName }) {
		return nil
	}
	for _, u := range c.users {
		if u.name == Admin {
			continue
		}
		err := c.awaitRights(ctx, u.name, func(have []authorizationv1.ResourceRule) bool {
			return !slices.ContainsFunc(have, func(r authorizationv1.ResourceRule) bool {
				return !slices.Equal(r.APIGroups, []string{"authorization.k8s.io"}) &&
					!slices.Equal(r.APIGroups, []string{"authentication.k8s.io"})
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitRights waits until a user's rights are as wanted. The authorizer goes by
// a cache that is a moment behind what is stored.
func (c *Cluster) awaitRights(ctx context.Context, user string, wanted func([]authorizationv1.ResourceRule) bool) error {
	client, err := kubernetes.NewForConfig(c.Config(user))
	if err != nil {
		return err
	}
	return eventually(ctx, "wait for the rights of "+user, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault},
		}
		review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return wanted(review.Status.ResourceRules), nil
	})
}
