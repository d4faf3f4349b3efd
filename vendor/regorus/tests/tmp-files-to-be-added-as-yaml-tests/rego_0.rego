package test

accept {
  input.date == "12/1/2022"
}
