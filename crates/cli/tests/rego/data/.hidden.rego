this is hidden, and no Rego
