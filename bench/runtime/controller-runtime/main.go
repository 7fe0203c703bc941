// Command widgets is the peer of the runtime benchmark: an ordinary controller-runtime operator. For each Widget it
// applies one owned ConfigMap and the Widget's status, both by server-side apply.
//
// It is written to be hard to beat: typed objects (protobuf for the ConfigMap), no client-side rate limit (the default
// of this release of controller-runtime), caches limited to the one namespace and, like our operator, no write where
// the cache already shows what it would apply.
package main

import (
	"context"
	"flag"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const fieldOwner = client.FieldOwner("svc-controller/widgets")

type reconciler struct {
	client.Client
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.Get(ctx, req.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.applyConfigMap(ctx, &widget); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.applyStatus(ctx, &widget)
}

func (r *reconciler) applyConfigMap(ctx context.Context, widget *Widget) error {
	var live corev1.ConfigMap
	err := r.Get(ctx, client.ObjectKeyFromObject(widget), &live)
	if err == nil && live.Data["value"] == widget.Spec.Value && metav1.IsControlledBy(&live, widget) {
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return r.Apply(ctx, corev1ac.ConfigMap(widget.Name, widget.Namespace).
		WithLabels(map[string]string{"app.kubernetes.io/managed-by": "widgets"}).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(GroupVersion.String()).
			WithKind("Widget").
			WithName(widget.Name).
			WithUID(widget.UID).
			WithController(true).
			WithBlockOwnerDeletion(true)).
		WithData(map[string]string{"value": widget.Spec.Value}), fieldOwner, client.ForceOwnership)
}

func (r *reconciler) applyStatus(ctx context.Context, widget *Widget) error {
	if widget.Status.ObservedGeneration == widget.Generation && widget.Status.Value == widget.Spec.Value {
		return nil
	}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": GroupVersion.String(),
		"kind":       "Widget",
		"metadata":   map[string]any{"name": widget.Name, "namespace": widget.Namespace, "uid": string(widget.UID)},
		"status":     map[string]any{"observedGeneration": widget.Generation, "value": widget.Spec.Value},
	}}
	return r.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), fieldOwner, client.ForceOwnership)
}

func main() {
	namespace := flag.String("namespace", "default", "the only namespace to work in")
	concurrency := flag.Int("concurrency", 10, "reconciles at the same time")
	metricsAddress := flag.String("metrics", "127.0.0.1:0", "where to serve metrics")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	log := ctrl.Log.WithName("widgets")
	if err := run(*namespace, *concurrency, *metricsAddress); err != nil {
		log.Error(err, "ended")
		os.Exit(1)
	}
}

func run(namespace string, concurrency int, metricsAddress string) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(AddToScheme(scheme))
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:  scheme,
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: metricsAddress},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		Named("widgets").
		For(&Widget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(&reconciler{Client: manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
