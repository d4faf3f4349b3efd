// Package harness starts a whole Kubernetes cluster on loopback, and Kubewarden in it: etcd, the API server, its controllers,
// Kubewarden's controller, policy servers over TLS, and a registry. All of them are the real programs.
//
// Three parts of a cluster are played here, because nothing runs in it but Kubewarden: the node that runs the Pods of
// Kubewarden's namespace as processes ([node]), the network that routes the addresses of Services ([network]), and the
// connections between them, which can be made to fail ([Link]).
//
//	cluster.go         the cluster, and what is started when
//	tools.go           the programs, and how to get what is missing
//	process.go         one program that runs
//	certificates.go    the authority of the cluster
//	api.go             etcd, the API server and its controllers
//	node.go            Pods of Kubewarden as processes
//	network.go         addresses of Services
//	names.go           names of Services
//	link.go            connections that fail
//	kubewarden.go      Kubewarden's charts
//	charts.go          charts of scanners, and of what they need
//	deployment.go      this project's deploy/, and the module
//	registry.go        images, and a registry that fails
//	companion.go       the companion of the policy
//	scanner.go         reports, and the scanner's aggregated API
//	scans.go           what scanners that are played were asked for, and how they work
//	sbomscanner.go     SBOMscanner, as the companion sees it
//	scan_jobs.go       Jobs that scan images and attest what they found
//	trivy_operator.go  trivy-operator, as the companion sees it
//	peers.go           other programs that judge Pods
//	kubectl.go         what a user types
package harness
