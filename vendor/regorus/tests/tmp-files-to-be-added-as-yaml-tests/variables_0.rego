package test

local = x {
  some x
  x = 10
}
