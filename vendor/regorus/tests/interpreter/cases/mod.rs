// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.

mod arithmetic;
mod builtins;
mod compr;
mod r#in;
mod input;
mod variables;
