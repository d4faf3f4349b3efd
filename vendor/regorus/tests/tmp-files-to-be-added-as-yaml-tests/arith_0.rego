package test

add {
  1 + 2 == 3
}

sub {
  5 - 1 == 4
}

mul {
  3 * 4 == 12
}

# Lock down float operation.
div {
  21 / 5 == 4.2
}
