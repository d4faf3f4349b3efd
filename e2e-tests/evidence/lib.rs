//! Nothing: the tests read the files of the dependency.
