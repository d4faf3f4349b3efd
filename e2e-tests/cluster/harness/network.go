package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// A network listens on the addresses of Services, and connects whoever comes with one of their ready Pods, in turn.
//
// It plays kube-proxy. Nothing in the webhooks that Kubewarden's controller wrote has to be changed for it.
type network struct {
	client kubernetes.Interface
	node   *node

	mutex  sync.Mutex
	links  map[string]*Link
	turn   int
	routes map[string]string
}

func newNetwork(client kubernetes.Interface, node *node) *network {
	return &network{client: client, node: node, links: map[string]*Link{}, routes: map[string]string{}}
}

// route connects a Service without Pods with an address.
func (n *network) route(namespace, service, address string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.routes[namespace+"/"+service] = address
}

// link is the way to a Service's port, once it is there.
func (n *network) link(namespace, service string) *Link {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.links[namespace+"/"+service]
}

func (n *network) run(ctx context.Context) {
	for ctx.Err() == nil {
		services, err := n.client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
		if err == nil {
			for _, service := range services.Items {
				n.listen(service)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (n *network) listen(service corev1.Service) {
	if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone || service.Namespace == "default" {
		return
	}
	key := service.Namespace + "/" + service.Name
	for index, port := range service.Spec.Ports {
		name := key
		if index > 0 {
			name = fmt.Sprintf("%s:%d", key, port.Port)
		}
		n.mutex.Lock()
		known := n.links[name]
		n.mutex.Unlock()
		address := fmt.Sprintf("%s:%d", service.Spec.ClusterIP, port.Port)
		if known != nil {
			if known.Address() == address {
				continue
			}
			known.close()
		}
		selector, target := labels.SelectorFromSet(service.Spec.Selector), port.TargetPort.IntValue()
		link, err := newLink(address, func() (string, error) { return n.endpoint(key, service.Namespace, selector, target) })
		if err != nil {
			continue
		}
		n.mutex.Lock()
		n.links[name] = link
		n.mutex.Unlock()
	}
}

func (n *network) endpoint(key, namespace string, selector labels.Selector, port int) (string, error) {
	n.mutex.Lock()
	route, turn := n.routes[key], n.turn
	n.turn++
	n.mutex.Unlock()
	if route != "" {
		return route, nil
	}
	ready := n.node.ready(namespace, selector)
	if len(ready) == 0 {
		return "", fmt.Errorf("no Pod of the Service %s is ready", key)
	}
	return fmt.Sprintf("%s:%d", ready[turn%len(ready)], port), nil
}

func (n *network) close() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, link := range n.links {
		link.close()
	}
}
