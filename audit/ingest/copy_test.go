package ingest_test

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/eventuallytrue/audit/audit/ingest"
)

// A page of objects is dropped once its facts are made. A fact that held on to
// one of their maps or slices would keep the page, and change with it.
func TestFactHoldsNothingOfItsObject(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: fullMeta()}
	class := &networkingv1.IngressClass{ObjectMeta: fullMeta()}
	class.Spec.Controller = "k8s.io/ingress-nginx"
	for _, o := range []runtime.Object{
		&corev1.Namespace{ObjectMeta: fullMeta()},
		&corev1.Pod{ObjectMeta: fullMeta()},
		&corev1.ReplicationController{ObjectMeta: fullMeta(), Spec: corev1.ReplicationControllerSpec{Template: &template}},
		&appsv1.Deployment{ObjectMeta: fullMeta(), Spec: appsv1.DeploymentSpec{Template: *template.DeepCopy()}},
		fullIngress(),
		class,
		fullPolicy(),
	} {
		t.Run(reflect.TypeOf(o).Elem().Name(), func(t *testing.T) {
			want := factOf(t, o.DeepCopyObject())
			got := factOf(t, o)
			scribble(reflect.ValueOf(o))
			same(t, want, got)
		})
	}
}

func factOf(t *testing.T, o runtime.Object) any {
	t.Helper()
	in := ingest.New([]string{"owner"})
	switch o := o.(type) {
	case *corev1.Namespace:
		return in.Namespace(o)
	case *corev1.Pod:
		return in.Pod(o)
	case *corev1.ReplicationController:
		return in.ReplicationController(o)
	case *appsv1.Deployment:
		return in.Deployment(o)
	case *networkingv1.Ingress:
		return in.Ingress(o)
	case *networkingv1.IngressClass:
		return in.IngressClass(o)
	case *networkingv1.NetworkPolicy:
		return in.NetworkPolicy(o)
	}
	t.Fatalf("no fact of %T", o)
	return nil
}

// scribble overwrites everything that can be reached from a value: the entries
// of its maps, the elements of its slices and what its pointers point to.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				scribble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	default:
		if v.CanSet() {
			v.SetZero()
		}
	}
}
