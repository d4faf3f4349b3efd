package test

# This is a comment

x := 5
oct {
 z :=  -1
 true
 }
y := 1234
z := "abc\n\u0000
"