deny_image[msg] {
  input.ScanReport.Status == "accepted"
  namespace == "locked"
  msg := sprintf("image %v is not for %v", [image, namespace])
}
deny_image[msg] {
  container := input.ContainerObject
  container.securityContext.privileged
  msg := sprintf("container %v is privileged", [container.name])
}
