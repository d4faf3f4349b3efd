//! The types of a schema, with what every schema has, and the rules that they obey.

use crate::Error;
use crate::ast::{
    Definition, Directive, DirectiveDefinition, EnumValueDefinition, FieldDefinition, Schema, SchemaDefinition, Type,
    ValueKind,
};
use crate::bounds::Steps;
use crate::circle::in_circle;
use crate::error::invalid;
use std::collections::{BTreeMap, BTreeSet};

/// What every schema has.
pub(crate) struct BuiltIn {
    types: Schema,
    /// Fields of the root of queries, and of every object.
    fields: Schema,
}

impl BuiltIn {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut types = crate::parse_schema(include_str!("built_in.graphql"))?;
        for definition in &mut types.definitions {
            definition.built_in = true;
        }
        let fields = "type Root { __schema: __Schema! __type(name: String!): __Type } type Any { __typename: String }";
        Ok(Self { types, fields: crate::parse_schema(fields)? })
    }

    fn fields(&self, name: &str) -> &[FieldDefinition] {
        self.fields.definitions.iter().find(|of| of.name == name).map_or(&[], |of| &of.fields)
    }
}

/// A type, with its extensions.
#[derive(Default)]
pub(crate) struct TypeDefinition<'s> {
    pub(crate) name: &'s str,
    kind: &'s str,
    built_in: bool,
    directives: Vec<&'s Directive>,
    /// Whether exactly one of its fields is given.
    pub(crate) is_one_of: bool,
    interfaces: Vec<&'s str>,
    pub(crate) fields: Vec<&'s FieldDefinition>,
    by_name: BTreeMap<&'s str, &'s FieldDefinition>,
    members: Vec<&'s str>,
    values: Vec<&'s EnumValueDefinition>,
    /// Which types an object of this type may have.
    possible: BTreeSet<&'s str>,
}

impl<'s> TypeDefinition<'s> {
    pub(crate) fn is_object(&self) -> bool {
        self.kind == "OBJECT"
    }

    pub(crate) fn is_enum(&self) -> bool {
        self.kind == "ENUM"
    }

    pub(crate) fn is_scalar(&self) -> bool {
        self.kind == "SCALAR"
    }

    /// Whether it has no fields.
    pub(crate) fn is_leaf(&self) -> bool {
        self.is_scalar() || self.is_enum()
    }

    /// Whether fragments may be about it.
    pub(crate) fn is_composite(&self) -> bool {
        self.is_object() || self.kind == "INTERFACE" || self.kind == "UNION"
    }

    /// Whether arguments and variables may have it.
    pub(crate) fn is_input(&self) -> bool {
        self.is_leaf() || self.kind == "INPUT_OBJECT"
    }

    pub(crate) fn field(&self, name: &str) -> Option<&'s FieldDefinition> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn has_value(&self, name: &str, steps: &Steps) -> Result<bool, Error> {
        steps.take(self.values.len())?;
        Ok(self.values.iter().any(|value| value.name == name))
    }

    /// Whether an object may be of both types.
    pub(crate) fn may_be(&self, other: &Self, steps: &Steps) -> Result<bool, Error> {
        steps.take(self.possible.len())?;
        Ok(match self.is_object() {
            true => other.possible.contains(self.name),
            false => self.possible.iter().any(|name| other.possible.contains(name)),
        })
    }

    fn extend(&mut self, by: &'s Definition) {
        self.directives.extend(&by.directives);
        self.is_one_of |= by.directives.iter().any(|directive| directive.name == "oneOf");
        self.interfaces.extend(by.interfaces.iter().map(String::as_str));
        self.members.extend(by.types.iter().map(String::as_str));
        self.values.extend(&by.values);
        for field in &by.fields {
            self.add(field);
        }
    }

    fn add(&mut self, field: &'s FieldDefinition) {
        self.fields.push(field);
        self.by_name.entry(&field.name).or_insert(field);
    }
}

/// The name of a type without its lists.
pub(crate) fn named(of: &Type) -> &str {
    match &of.element {
        Some(element) if of.name.is_empty() => named(element),
        _ => &of.name,
    }
}

/// Whether a value of one type may stand where another one is expected.
pub(crate) fn is_compatible(own: &Type, expected: &Type, non_null: bool) -> bool {
    let of_elements = match (&own.element, &expected.element) {
        (Some(own), Some(expected)) => is_compatible(own, expected, expected.non_null),
        (Some(_), None) => false,
        (None, _) => true,
    };
    own.name == expected.name && of_elements && (own.non_null || !non_null)
}

/// An argument or a field by its name.
pub(crate) fn definition<'s>(
    of: &'s [FieldDefinition],
    name: &str,
    steps: &Steps,
) -> Result<Option<&'s FieldDefinition>, Error> {
    steps.take(of.len())?;
    Ok(of.iter().find(|definition| definition.name == name))
}

/// The types and directives of a valid schema.
pub(crate) struct Types<'s> {
    types: BTreeMap<&'s str, TypeDefinition<'s>>,
    directives: BTreeMap<&'s str, &'s DirectiveDefinition>,
    query: Option<&'s str>,
    mutation: Option<&'s str>,
    subscription: Option<&'s str>,
    typename: Option<&'s FieldDefinition>,
    pub(crate) steps: &'s Steps,
}

impl<'s> Types<'s> {
    /// Joins what every schema has with a schema.
    ///
    /// # Errors
    /// The schema breaks a rule, or takes too much work.
    pub(crate) fn new(built_in: &'s BuiltIn, schema: &'s Schema, steps: &'s Steps) -> Result<Self, Error> {
        let mut all = Self {
            types: BTreeMap::new(),
            directives: BTreeMap::new(),
            query: None,
            mutation: None,
            subscription: None,
            typename: built_in.fields("Any").first(),
            steps,
        };
        for definition in built_in.types.definitions.iter().chain(&schema.definitions) {
            if all.types.insert(&definition.name, TypeDefinition::default()).is_some() {
                return invalid(&definition.name, "this type is there already");
            }
            all.extend(definition, definition.built_in)?;
        }
        for extension in &schema.extensions {
            // What isn't there is what it is extended by.
            all.extend(extension, false)?;
        }
        for directive in built_in.types.directives.iter().chain(&schema.directives) {
            let was_there = all.directives.insert(&directive.name, directive).is_some();
            if was_there && built_in.types.directives.iter().all(|own| own.name != directive.name) {
                return invalid(&directive.name, "this directive is there already");
            }
        }
        all.link()?;
        if schema.schema.len() > 1 {
            return invalid("schema", "there is more than one");
        }
        for definition in schema.schema.iter().chain(&schema.schema_extensions) {
            all.roots(definition)?;
        }
        for definition in all.types.values() {
            all.check_type(definition)?;
        }
        all.check_circles()?;
        for directive in all.directives.values() {
            is_free(&directive.name)?;
            all.check_arguments(&directive.arguments, Some(&directive.name))?;
        }
        if schema.schema.is_empty() {
            let known = |name| all.types.get_key_value(name).map(|(name, _)| *name);
            let (query, mutation, subscription) = (known("Query"), known("Mutation"), known("Subscription"));
            all.query = all.query.or(query);
            all.mutation = all.mutation.or(mutation);
            all.subscription = all.subscription.or(subscription);
        }
        if let Some(root) = all.query.and_then(|query| all.types.get_mut(query)) {
            for field in built_in.fields("Root") {
                root.add(field);
            }
        }
        Ok(all)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&TypeDefinition<'s>> {
        self.types.get(name)
    }

    /// The type of a field, an argument or a variable, without its lists.
    pub(crate) fn of(&self, of: &Type) -> Result<&TypeDefinition<'s>, Error> {
        self.steps.take(1)?;
        self.types.get(named(of)).map_or_else(|| invalid(named(of), "there is no such type"), Ok)
    }

    pub(crate) fn directive(&self, name: &str) -> Result<&'s DirectiveDefinition, Error> {
        let Some(known) = self.directives.get(name) else { return invalid(name, "there is no such directive") };
        self.steps.take(1 + known.locations.len())?;
        Ok(known)
    }

    /// The type of which an operation selects, and where its directives stand.
    pub(crate) fn root(&self, operation: &str) -> Result<(&TypeDefinition<'s>, &'static str), Error> {
        let (root, location) = match operation {
            "query" | "" => (self.query, "QUERY"),
            "mutation" => (self.mutation, "MUTATION"),
            "subscription" => (self.subscription, "SUBSCRIPTION"),
            _ => return invalid(operation, "there is no such operation"),
        };
        let root = root.and_then(|root| self.types.get(root));
        root.map_or_else(|| invalid(operation, "the schema has no such operation"), |root| Ok((root, location)))
    }

    /// A field of a type, as it may be selected.
    pub(crate) fn selected(&self, of: &TypeDefinition<'s>, name: &str) -> Result<&'s FieldDefinition, Error> {
        self.steps.take(1)?;
        let field = if name == "__typename" { self.typename } else { of.field(name) };
        field.map_or_else(|| invalid(name, "the type has no such field"), Ok)
    }

    fn extend(&mut self, by: &'s Definition, built_in: bool) -> Result<(), Error> {
        let definition = self.types.entry(&by.name).or_default();
        if definition.name.is_empty() {
            (definition.name, definition.kind, definition.built_in) = (&by.name, &by.kind, built_in);
        } else if definition.kind != by.kind {
            return invalid(&by.name, "the extended type is of another kind");
        }
        definition.extend(by);
        Ok(())
    }

    /// Which types the objects of a type may have: those of a union, and those that implement an interface, themselves among them.
    fn link(&mut self) -> Result<(), Error> {
        let mut possible: Vec<(&'s str, &'s str)> = Vec::new();
        for (name, definition) in &self.types {
            match definition.kind {
                "UNION" => possible.extend(definition.members.iter().map(|member| (*name, *member))),
                "OBJECT" | "INPUT_OBJECT" => {
                    possible.extend(definition.interfaces.iter().map(|interface| (*interface, *name)));
                    possible.push((name, name));
                }
                "INTERFACE" => possible.extend(definition.interfaces.iter().map(|interface| (*interface, *name))),
                _ => {}
            }
        }
        self.steps.take(possible.len())?;
        for (of, name) in possible {
            if let Some(of) = self.types.get_mut(of) {
                of.possible.insert(name);
            }
        }
        Ok(())
    }

    fn roots(&mut self, definition: &'s SchemaDefinition) -> Result<(), Error> {
        for operation in &definition.operations {
            if !self.types.contains_key(operation.of.as_str()) {
                return invalid(&operation.of, "there is no such type");
            }
            match operation.operation.as_str() {
                "query" => self.query = Some(&operation.of),
                "mutation" => self.mutation = Some(&operation.of),
                "subscription" => self.subscription = Some(&operation.of),
                _ => {}
            }
        }
        self.check_directives(definition.directives.iter(), "SCHEMA", None, true)
    }

    fn check_type(&self, of: &TypeDefinition<'s>) -> Result<(), Error> {
        let is_input = of.kind == "INPUT_OBJECT";
        let has_outputs = of.is_object() || of.kind == "INTERFACE";
        for field in &of.fields {
            is_free(&field.name)?;
            let kind = self.of(&field.of)?;
            let is_output = kind.is_leaf() || kind.is_composite();
            if (has_outputs && !is_output) || (is_input && !kind.is_input()) {
                return invalid(&field.name, "a field has no such type here");
            }
            self.check_arguments(&field.arguments, None)?;
            let location = if is_input { "INPUT_FIELD_DEFINITION" } else { "FIELD_DEFINITION" };
            self.check_directives(field.directives.iter(), location, None, true)?;
        }
        for member in &of.members {
            if !self.get(member).is_some_and(TypeDefinition::is_object) {
                return invalid(member, "a union has objects as its members");
            }
        }
        for interface in &of.interfaces {
            self.check_interface(of, interface)?;
        }
        if of.is_enum() {
            for value in &of.values {
                if matches!(value.name.as_str(), "true" | "false" | "null") {
                    return invalid(&value.name, "an enum has no such value");
                }
                self.check_directives(value.directives.iter(), "ENUM_VALUE", None, true)?;
            }
        }
        if (has_outputs || is_input) && of.fields.is_empty() || of.is_enum() && of.values.is_empty() {
            return invalid(of.name, "this type is empty");
        }
        let fields = of.fields.iter().map(|field| field.name.as_str());
        is_once(fields, self.steps)?;
        is_once(of.values.iter().map(|value| value.name.as_str()), self.steps)?;
        is_once(of.members.iter().copied(), self.steps)?;
        if !of.built_in {
            is_free(of.name)?;
        }
        // Its extensions may have the same directives.
        self.check_directives(of.directives.iter().copied(), of.kind, None, false)
    }

    /// Whether a type has the fields of an interface, and the interfaces of that.
    fn check_interface(&self, of: &TypeDefinition<'s>, name: &str) -> Result<(), Error> {
        let Some(interface) = self.get(name).filter(|interface| interface.kind == "INTERFACE") else {
            return invalid(name, "there is no such interface");
        };
        for required in &interface.fields {
            self.steps.take(1)?;
            let Some(field) = of.field(&required.name).filter(|field| self.is_covariant(&required.of, &field.of))
            else {
                return invalid(&required.name, "the interface has another field of this name");
            };
            for argument in &required.arguments {
                let own = definition(&field.arguments, &argument.name, self.steps)?;
                if !own.is_some_and(|own| is_compatible(&argument.of, &own.of, own.of.non_null)) {
                    return invalid(&argument.name, "the interface has another argument of this name");
                }
            }
            self.steps.take(field.arguments.len())?;
            for argument in field.arguments.iter().filter(|own| own.of.non_null && own.default.is_none()) {
                if definition(&required.arguments, &argument.name, self.steps)?.is_none() {
                    return invalid(&argument.name, "the interface doesn't require this argument");
                }
            }
        }
        self.steps.take(interface.interfaces.len().saturating_mul(of.interfaces.len()))?;
        match interface.interfaces.iter().find(|above| !of.interfaces.contains(above)) {
            Some(above) => invalid(above, "an interface of an interface has to be implemented too"),
            None => Ok(()),
        }
    }

    fn is_covariant(&self, required: &Type, own: &Type) -> bool {
        let is_null = required.non_null && !own.non_null;
        let of_elements = match (&required.element, &own.element) {
            _ if !required.name.is_empty() => {
                required.name == own.name
                    || self.get(&required.name).is_some_and(|of| of.possible.contains(own.name.as_str()))
            }
            (Some(required), Some(own)) => self.is_covariant(required, own),
            _ => false,
        };
        !is_null && of_elements
    }

    /// An input object that needs one of itself can't be given.
    fn check_circles(&self) -> Result<(), Error> {
        let inputs = self.types.values().filter(|of| of.kind == "INPUT_OBJECT");
        let needs = |of: &TypeDefinition<'s>| {
            let needed = of.fields.iter().map(|field| &field.of).filter(|of| of.non_null);
            needed.map(|of| of.name.as_str()).collect()
        };
        match in_circle(&inputs.map(|of| (of.name, needs(of))).collect()) {
            Some(name) => invalid(name, "an input object of this type needs another one, without end"),
            None => Ok(()),
        }
    }

    fn check_arguments(&self, arguments: &'s [FieldDefinition], directive: Option<&str>) -> Result<(), Error> {
        for argument in arguments {
            is_free(&argument.name)?;
            if !self.of(&argument.of)?.is_input() {
                return invalid(&argument.name, "an argument has no such type");
            }
            self.check_directives(argument.directives.iter(), "ARGUMENT_DEFINITION", directive, true)?;
        }
        Ok(())
    }

    /// Directives at one place, or at several of one kind. Those of a directive's arguments aren't itself.
    fn check_directives<'d>(
        &self,
        directives: impl Iterator<Item = &'d Directive> + Clone,
        location: &str,
        of: Option<&str>,
        at_one_place: bool,
    ) -> Result<(), Error> {
        for directive in directives.clone() {
            is_free(&directive.name)?;
            if of == Some(directive.name.as_str()) {
                return invalid(&directive.name, "this directive is used in itself");
            }
            let known = self.directive(&directive.name)?;
            if !known.locations.iter().any(|known| known == location) {
                return invalid(&directive.name, "this directive may not stand here");
            }
            for argument in &directive.arguments {
                if definition(&known.arguments, &argument.name, self.steps)?.is_none() {
                    return invalid(&argument.name, "the directive has no such argument");
                }
            }
            self.steps.take(known.arguments.len())?;
            for required in known.arguments.iter().filter(|known| known.of.non_null && known.default.is_none()) {
                self.steps.take(directive.arguments.len().saturating_add(1))?;
                let given = directive.arguments.iter().find(|argument| argument.name == required.name);
                if given.is_none_or(|given| given.value.kind == ValueKind::Null) {
                    return invalid(&required.name, "this argument is required");
                }
            }
        }
        match at_one_place {
            true => self.check_repeated(directives),
            false => Ok(()),
        }
    }

    /// Whether directives at one place may be repeated, where they are.
    pub(crate) fn check_repeated<'d>(&self, directives: impl Iterator<Item = &'d Directive>) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        for directive in directives {
            if !seen.insert(directive.name.as_str()) && !self.directive(&directive.name)?.is_repeatable {
                return invalid(&directive.name, "this directive stands here once");
            }
        }
        Ok(())
    }
}

/// Whether a name isn't kept for introspection.
fn is_free(name: &str) -> Result<(), Error> {
    if name.starts_with("__") { invalid(name, "such names are kept for introspection") } else { Ok(()) }
}

/// Whether each name is there once.
pub(crate) fn is_once<'n>(names: impl Iterator<Item = &'n str>, steps: &Steps) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for name in names {
        steps.take(1)?;
        if !seen.insert(name) {
            return invalid(name, "it is there twice");
        }
    }
    Ok(())
}
