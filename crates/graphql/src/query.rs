//! The rules that operations and fragments obey.

use crate::Error;
use crate::ast::{Argument, Directive, FieldDefinition, Fragment, Operation, Query, Selection, VariableDefinition};
use crate::bounds::below;
use crate::circle::in_circle;
use crate::error::invalid;
use crate::overlap;
use crate::schema::{TypeDefinition, Types, definition, is_once};
use crate::values::{Expected, check_value};
use std::collections::{BTreeMap, BTreeSet};

/// Lists of types in lists of types of an introspection are fewer than this.
const MOST_LISTS: usize = 3;

/// Validates a query.
///
/// # Errors
/// It breaks a rule, or takes too much work.
pub(crate) fn check(query: &Query, types: &Types<'_>) -> Result<(), Error> {
    is_once(query.fragments.iter().map(|fragment| fragment.name.as_str()), types.steps)?;
    is_once(query.operations.iter().map(|operation| operation.name.as_str()), types.steps)?;
    if query.operations.len() > 1 && query.operations.iter().any(|operation| operation.name.is_empty()) {
        return invalid("query", "an operation without a name stands alone");
    }
    let fragments = query.fragments.iter().map(|fragment| (fragment.name.as_str(), fragment)).collect();
    let rules = Rules { types, fragments };
    rules.check_circles(query)?;
    let mut used = BTreeSet::new();
    for operation in &query.operations {
        let mut scope = Scope::new(operation);
        rules.check_operation(operation, &mut scope)?;
        used.extend(scope.fragments);
    }
    if let Some(unused) = query.fragments.iter().find(|fragment| !used.contains(fragment.name.as_str())) {
        return invalid(&unused.name, "the fragment is never used");
    }
    overlap::check(query, &rules)
}

/// An operation, and what was met in it.
pub(crate) struct Scope<'q> {
    variables: BTreeMap<&'q str, &'q VariableDefinition>,
    used: BTreeSet<&'q str>,
    fragments: BTreeSet<&'q str>,
}

impl<'q> Scope<'q> {
    fn new(operation: &'q Operation) -> Self {
        let variables = operation.variables.iter().map(|variable| (variable.variable.as_str(), variable)).collect();
        let used = operation.variables.iter().filter(|variable| variable.used).map(|used| used.variable.as_str());
        Self { variables, used: used.collect(), fragments: BTreeSet::new() }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&'q VariableDefinition> {
        self.variables.get(name).copied()
    }

    /// A variable, which is used by that.
    pub(crate) fn use_variable(&mut self, name: &'q str) -> Option<&'q VariableDefinition> {
        self.used.insert(name);
        self.variable(name)
    }
}

/// What the rules are asked with.
pub(crate) struct Rules<'q, 's> {
    pub(crate) types: &'q Types<'s>,
    pub(crate) fragments: BTreeMap<&'q str, &'q Fragment>,
}

impl<'q, 's> Rules<'q, 's> {
    pub(crate) fn fragment(&self, name: &str) -> Result<&'q Fragment, Error> {
        self.types.steps.take(1)?;
        self.fragments.get(name).map_or_else(|| invalid(name, "there is no such fragment"), |found| Ok(*found))
    }

    /// The type of which a fragment selects: that of the object, where it names none.
    pub(crate) fn condition(
        &self,
        name: &str,
        parent: &'q TypeDefinition<'s>,
    ) -> Result<&'q TypeDefinition<'s>, Error> {
        self.types.steps.take(1)?;
        if name.is_empty() {
            return Ok(parent);
        }
        let named = self.types.get(name).filter(|of| of.is_composite());
        named.map_or_else(|| invalid(name, "there is no type of this name with fields"), Ok)
    }

    fn check_circles(&self, query: &'q Query) -> Result<(), Error> {
        let mut graph = BTreeMap::new();
        for fragment in &query.fragments {
            let mut spreads = Vec::new();
            self.collect_spreads(&fragment.selections, &mut spreads, 0)?;
            graph.insert(fragment.name.as_str(), spreads);
        }
        match in_circle(&graph) {
            Some(name) => invalid(name, "fragments use each other in a circle"),
            None => Ok(()),
        }
    }

    fn collect_spreads(
        &self,
        selections: &'q [Selection],
        spreads: &mut Vec<&'q str>,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        for selection in selections {
            match selection {
                Selection::Field(field) => self.collect_spreads(&field.selections, spreads, level)?,
                Selection::Inline(inline) => self.collect_spreads(&inline.selections, spreads, level)?,
                Selection::Spread(spread) => spreads.push(&spread.name),
            }
        }
        Ok(())
    }

    fn check_operation(&self, operation: &'q Operation, scope: &mut Scope<'q>) -> Result<(), Error> {
        let (root, location) = self.types.root(&operation.operation)?;
        is_once(operation.variables.iter().map(|variable| variable.variable.as_str()), self.types.steps)?;
        for variable in &operation.variables {
            if !self.types.of(&variable.of)?.is_input() {
                return invalid(&variable.variable, "a variable has no such type");
            }
            if let Some(default) = &variable.default {
                let expected = Expected::of(&variable.of, self.types)?;
                check_value(default, Some(&expected), scope, self.types, 0)?;
            }
            self.check_directives(&variable.directives, "VARIABLE_DEFINITION", scope)?;
        }
        self.check_directives(&operation.directives, location, scope)?;
        self.check_selections(&operation.selections, root, scope, 0)?;
        if let Some(unused) = scope.variables.keys().find(|name| !scope.used.contains(*name)) {
            return invalid(unused, "the variable is never used");
        }
        if operation.operation == "subscription" {
            let (mut names, mut seen) = (BTreeSet::new(), BTreeSet::new());
            self.collect_top(&operation.selections, &mut names, &mut seen, 0)?;
            if names.len() > 1 || names.iter().any(|name| name.starts_with("__")) {
                return invalid(&operation.name, "a subscription selects one field");
            }
        }
        Ok(())
    }

    /// The names of fields that are selected of the root.
    fn collect_top(
        &self,
        selections: &'q [Selection],
        names: &mut BTreeSet<&'q str>,
        seen: &mut BTreeSet<&'q str>,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        for selection in selections {
            match selection {
                Selection::Field(field) => {
                    names.insert(&field.name);
                }
                Selection::Inline(inline) => self.collect_top(&inline.selections, names, seen, level)?,
                Selection::Spread(spread) => {
                    if seen.insert(&spread.name) {
                        self.collect_top(&self.fragment(&spread.name)?.selections, names, seen, level)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_selections(
        &self,
        selections: &'q [Selection],
        parent: &'q TypeDefinition<'s>,
        scope: &mut Scope<'q>,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        for selection in selections {
            self.types.steps.take(1)?;
            match selection {
                Selection::Field(field) => {
                    let known = self.types.selected(parent, &field.name)?;
                    self.check_arguments(&field.arguments, &known.arguments, scope)?;
                    self.check_directives(&field.directives, "FIELD", scope)?;
                    let of = self.types.of(&known.of)?;
                    if of.is_leaf() != field.selections.is_empty() {
                        return invalid(&field.name, "something is selected of what has fields, and of nothing else");
                    }
                    if matches!(field.name.as_str(), "__schema" | "__type") {
                        let lists = self.lists(&field.selections, &mut BTreeMap::new(), level)?;
                        if lists >= MOST_LISTS {
                            return invalid(&field.name, "the introspection goes too deep");
                        }
                    }
                    self.check_selections(&field.selections, of, scope, level)?;
                }
                Selection::Inline(inline) => {
                    let of = self.condition(&inline.condition, parent)?;
                    self.check_possible(parent, of, &inline.condition)?;
                    self.check_directives(&inline.directives, "INLINE_FRAGMENT", scope)?;
                    self.check_selections(&inline.selections, of, scope, level)?;
                }
                Selection::Spread(spread) => {
                    let fragment = self.fragment(&spread.name)?;
                    let of = self.types.get(&fragment.condition).filter(|of| of.is_composite());
                    let Some(of) = of else {
                        return invalid(&fragment.condition, "there is no type of this name with fields");
                    };
                    self.check_possible(parent, of, &fragment.condition)?;
                    self.check_directives(&spread.directives, "FRAGMENT_SPREAD", scope)?;
                    if scope.fragments.insert(&spread.name) {
                        self.check_directives(&fragment.directives, "FRAGMENT_DEFINITION", scope)?;
                        self.check_selections(&fragment.selections, of, scope, level)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether an object of which a fragment selects may be of the fragment's type.
    fn check_possible(
        &self,
        parent: &TypeDefinition<'_>,
        of: &TypeDefinition<'_>,
        condition: &str,
    ) -> Result<(), Error> {
        if condition.is_empty() || !parent.is_composite() || parent.may_be(of, self.types.steps)? {
            Ok(())
        } else {
            invalid(condition, "no object here is of this type")
        }
    }

    /// Lists of types in lists of types, at most.
    fn lists(
        &self,
        selections: &'q [Selection],
        known: &mut BTreeMap<&'q str, usize>,
        level: usize,
    ) -> Result<usize, Error> {
        let level = below(level)?;
        let mut most = 0;
        for selection in selections {
            self.types.steps.take(1)?;
            let lists = match selection {
                Selection::Field(field) => {
                    let is_list =
                        matches!(field.name.as_str(), "fields" | "interfaces" | "possibleTypes" | "inputFields");
                    usize::from(is_list) + self.lists(&field.selections, known, level)?
                }
                Selection::Inline(inline) => self.lists(&inline.selections, known, level)?,
                Selection::Spread(spread) => match known.get(spread.name.as_str()) {
                    Some(lists) => *lists,
                    None => {
                        let lists = self.lists(&self.fragment(&spread.name)?.selections, known, level)?;
                        known.insert(&spread.name, lists);
                        lists
                    }
                },
            };
            most = most.max(lists);
        }
        Ok(most)
    }

    fn check_arguments(
        &self,
        arguments: &'q [Argument],
        known: &[FieldDefinition],
        scope: &mut Scope<'q>,
    ) -> Result<(), Error> {
        is_once(arguments.iter().map(|argument| argument.name.as_str()), self.types.steps)?;
        for argument in arguments {
            let Some(own) = definition(known, &argument.name, self.types.steps)? else {
                return invalid(&argument.name, "there is no such argument");
            };
            check_value(&argument.value, Some(&Expected::by(own, self.types)?), scope, self.types, 0)?;
        }
        self.types.steps.take(known.len())?;
        for required in known.iter().filter(|known| known.of.non_null && known.default.is_none()) {
            self.types.steps.take(arguments.len().saturating_add(1))?;
            if arguments.iter().all(|argument| argument.name != required.name) {
                return invalid(&required.name, "this argument is required");
            }
        }
        Ok(())
    }

    fn check_directives(
        &self,
        directives: &'q [Directive],
        location: &str,
        scope: &mut Scope<'q>,
    ) -> Result<(), Error> {
        for directive in directives {
            let known = self.types.directive(&directive.name)?;
            if !known.locations.iter().any(|known| known == location) {
                return invalid(&directive.name, "this directive may not stand here");
            }
            self.check_arguments(&directive.arguments, &known.arguments, scope)?;
        }
        self.types.check_repeated(directives.iter())
    }
}
