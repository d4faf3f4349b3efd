module regorus_test

go 1.21.5
