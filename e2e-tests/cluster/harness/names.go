package harness

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// names plays the cluster's DNS for programs that look up Services: it is a proxy that knows the address of
// `<service>.<namespace>.svc`, because a process of this machine can't be given a resolver of its own.
type names struct {
	client   kubernetes.Interface
	listener net.Listener
}

func newNames(client kubernetes.Interface) (*names, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	made := &names{client: client, listener: listener}
	go func() { _ = (&http.Server{Handler: made}).Serve(listener) }()
	return made, nil
}

// environ tells a program to ask here.
func (n *names) environ() string { return "HTTPS_PROXY=http://" + n.listener.Addr().String() }

// ServeHTTP connects whoever asks with the Service of that name.
func (n *names) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	address, err := n.address(request.Context(), request.Host)
	if err != nil || request.Method != http.MethodConnect {
		http.Error(writer, fmt.Sprint("no such Service: ", err), http.StatusBadGateway)
		return
	}
	server, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := writer.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	go func() { _, _ = io.Copy(server, client) }()
	_, _ = io.Copy(client, server)
}

func (n *names) address(ctx context.Context, host string) (string, error) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return "", err
	}
	parts := strings.Split(name, ".")
	if len(parts) < 3 || parts[2] != "svc" {
		return "", fmt.Errorf("`%s` is no name of a Service", host)
	}
	service, err := n.client.CoreV1().Services(parts[1]).Get(ctx, parts[0], metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(service.Spec.ClusterIP, port), nil
}
