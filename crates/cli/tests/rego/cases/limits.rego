package cases.limits

import rego.v1

most["the limit"] := 10
