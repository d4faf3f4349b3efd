package kubernetes.admission

deny[msg] {
	input.request.kind.kind == "Pod"
	container := input.request.object.spec.containers[_]
	not is_trusted(container.image)
	msg := sprintf("container %v: the image %v is from no registry that is trusted", [container.name, container.image])
}

is_trusted(image) {
	startswith(image, "registry.example.com/")
}

is_trusted(image) {
	data.exceptions[image]
}
