//! Fields that have one name in the answer must be the same: the specification's "field selection merging".
//!
//! Selections are compared in the order, and with the memory of what was compared already, that Open Policy Agent's library
//! has: what that overlooks is overlooked here too.

use crate::Error;
use crate::ast::{Argument, Field, Query, Selection, Type, Value, ValueKind};
use crate::bounds::below;
use crate::error::invalid;
use crate::query::Rules;
use crate::schema::TypeDefinition;
use std::collections::{BTreeMap, BTreeSet};

/// Compares what operations and fragments select, of a query that is valid otherwise.
///
/// # Errors
/// Two fields differ, or there is too much to compare.
pub(crate) fn check<'q>(query: &'q Query, rules: &Rules<'q, '_>) -> Result<(), Error> {
    let mut overlap = Overlap { rules, pairs: BTreeMap::new(), compared: BTreeSet::new() };
    for operation in &query.operations {
        let (root, _) = rules.types.root(&operation.operation)?;
        overlap.visit(&operation.selections, root, &mut BTreeSet::new(), true, 0)?;
        overlap.within(&operation.selections, root, 0)?;
    }
    for fragment in &query.fragments {
        if let Some(of) = rules.types.get(&fragment.condition) {
            overlap.visit(&fragment.selections, of, &mut BTreeSet::new(), false, 0)?;
            overlap.within(&fragment.selections, of, 0)?;
        }
    }
    Ok(())
}

/// A field, and the type of which it is selected.
type Selected<'q, 's> = (&'q Field, &'q TypeDefinition<'s>);

/// What is selected beside each other: fields by their names in the answer, in order, and fragments.
struct Fields<'q, 's> {
    names: Vec<&'q str>,
    fields: BTreeMap<&'q str, Vec<Selected<'q, 's>>>,
    spreads: Vec<&'q str>,
}

struct Overlap<'r, 'q, 's> {
    rules: &'r Rules<'q, 's>,
    /// Fragments that were compared, and whether as those that no object has both.
    pairs: BTreeMap<(&'q str, &'q str), bool>,
    /// Fragments that fields were compared with.
    compared: BTreeSet<&'q str>,
}

impl<'q, 's> Overlap<'_, 'q, 's> {
    /// Goes through selections from the inside.
    fn visit(
        &mut self,
        selections: &'q [Selection],
        parent: &'q TypeDefinition<'s>,
        seen: &mut BTreeSet<&'q str>,
        in_operation: bool,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        for selection in selections {
            self.rules.types.steps.take(1)?;
            match selection {
                Selection::Field(field) => {
                    let of = self.of(field, parent)?;
                    self.visit(&field.selections, of, seen, in_operation, level)?;
                    if in_operation {
                        self.within(&field.selections, of, level)?;
                    }
                }
                Selection::Inline(inline) => {
                    let of = self.rules.condition(&inline.condition, parent)?;
                    self.visit(&inline.selections, of, seen, in_operation, level)?;
                    self.within(&inline.selections, of, level)?;
                }
                Selection::Spread(spread) => {
                    if seen.insert(&spread.name) {
                        let (selections, of) = self.fragment(&spread.name, parent)?;
                        self.visit(selections, of, seen, in_operation, level)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Compares what is selected beside each other.
    fn within(
        &mut self,
        selections: &'q [Selection],
        parent: &'q TypeDefinition<'s>,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        if selections.is_empty() {
            return Ok(());
        }
        let fields = self.collect(selections, parent)?;
        for own in fields.names.iter().filter_map(|name| fields.fields.get(name)) {
            for (position, one) in own.iter().enumerate() {
                for other in own.iter().skip(position + 1) {
                    self.same(false, *one, *other, level)?;
                }
            }
        }
        self.compared = BTreeSet::new();
        for (position, one) in fields.spreads.iter().enumerate() {
            self.with_fragment(false, &fields, one, parent, level)?;
            for other in fields.spreads.iter().skip(position + 1) {
                self.fragments(false, one, other, parent, level)?;
            }
        }
        Ok(())
    }

    /// Compares fields with those of a fragment, and of the fragments in it.
    fn with_fragment(
        &mut self,
        exclusive: bool,
        fields: &Fields<'q, 's>,
        name: &'q str,
        parent: &'q TypeDefinition<'s>,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        if !self.compared.insert(name) {
            return Ok(());
        }
        let (selections, of) = self.fragment(name, parent)?;
        let others = self.collect(selections, of)?;
        if self.are_one(fields, &others)? {
            return Ok(());
        }
        self.between(exclusive, fields, &others, level)?;
        for inner in others.spreads.iter().filter(|inner| **inner != name) {
            self.with_fragment(exclusive, fields, inner, parent, level)?;
        }
        Ok(())
    }

    /// Compares fragments, and the fragments in them.
    fn fragments(
        &mut self,
        exclusive: bool,
        one: &'q str,
        other: &'q str,
        parent: &'q TypeDefinition<'s>,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        self.rules.types.steps.take(1)?;
        // What was compared as fields of one object needn't be compared again.
        if one == other || self.pairs.get(&(one, other)).is_some_and(|compared| exclusive || !compared) {
            return Ok(());
        }
        self.pairs.insert((one, other), exclusive);
        self.pairs.insert((other, one), exclusive);
        let (selections, of) = self.fragment(one, parent)?;
        let fields = self.collect(selections, of)?;
        let (selections, of) = self.fragment(other, parent)?;
        let others = self.collect(selections, of)?;
        self.between(exclusive, &fields, &others, level)?;
        for inner in &others.spreads {
            self.fragments(exclusive, one, inner, parent, level)?;
        }
        for inner in &fields.spreads {
            self.fragments(exclusive, inner, other, parent, level)?;
        }
        Ok(())
    }

    fn between(
        &mut self,
        exclusive: bool,
        fields: &Fields<'q, 's>,
        others: &Fields<'q, 's>,
        level: usize,
    ) -> Result<(), Error> {
        self.rules.types.steps.take(fields.names.len())?;
        for name in &fields.names {
            let (Some(own), Some(other)) = (fields.fields.get(name), others.fields.get(name)) else { continue };
            for one in own {
                for other in other {
                    self.same(exclusive, *one, *other, level)?;
                }
            }
        }
        Ok(())
    }

    /// Compares two fields of one name in the answer. Of those that no object has both, only the form is the same.
    fn same(
        &mut self,
        exclusive: bool,
        (one, one_parent): Selected<'q, 's>,
        (other, other_parent): Selected<'q, 's>,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        self.rules.types.steps.take(1)?;
        let exclusive =
            exclusive || (one_parent.name != other_parent.name && one_parent.is_object() && other_parent.is_object());
        if !exclusive && (one.name != other.name || !self.same_arguments(&one.arguments, &other.arguments)?) {
            return invalid(answered(one), "two fields have this name in the answer, and differ");
        }
        let own = self.rules.types.selected(one_parent, &one.name)?;
        let others = self.rules.types.selected(other_parent, &other.name)?;
        if !self.same_type(&own.of, &others.of)? {
            return invalid(answered(one), "two fields have this name in the answer, and other types");
        }
        let (of, other_of) = (self.of(one, one_parent)?, self.of(other, other_parent)?);
        let fields = self.collect(&one.selections, of)?;
        let others = self.collect(&other.selections, other_of)?;
        self.between(exclusive, &fields, &others, level)?;
        for name in &others.spreads {
            self.compared = BTreeSet::new();
            self.with_fragment(exclusive, &fields, name, other_of, level)?;
        }
        for name in &fields.spreads {
            self.compared = BTreeSet::new();
            self.with_fragment(exclusive, &others, name, of, level)?;
        }
        for own in &fields.spreads {
            for name in &others.spreads {
                self.fragments(exclusive, own, name, of, level)?;
            }
        }
        Ok(())
    }

    fn same_arguments(&self, own: &[Argument], others: &[Argument]) -> Result<bool, Error> {
        if own.len() != others.len() {
            return Ok(false);
        }
        for one in own {
            let mut is_there = false;
            for other in others {
                self.rules.types.steps.take(1)?;
                if one.name == other.name && self.same_value(&one.value, &other.value, 0)? {
                    is_there = true;
                    break;
                }
            }
            if !is_there {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether two values are the same: of objects in any order.
    fn same_value(&self, own: &Value, other: &Value, level: usize) -> Result<bool, Error> {
        let level = below(level)?;
        self.rules.types.steps.take(1 + own.children.len() + own.raw.len() / 64)?;
        if own.kind != other.kind || own.raw != other.raw || own.children.len() != other.children.len() {
            return Ok(false);
        }
        let (mut own_children, mut others): (Vec<_>, Vec<_>) =
            (own.children.iter().collect(), other.children.iter().collect());
        if own.kind == ValueKind::Object {
            own_children.sort_by_key(|child| &child.name);
            others.sort_by_key(|child| &child.name);
        }
        for (child, other) in own_children.into_iter().zip(others) {
            if child.name != other.name || !self.same_value(&child.value, &other.value, level)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether what fields give has the same form: lists and nulls, and of scalars and enums the same type.
    fn same_type(&self, own: &Type, other: &Type) -> Result<bool, Error> {
        if let (Some(own), Some(other)) = (&own.element, &other.element) {
            return self.same_type(own, other);
        }
        if own.element.is_some() || other.element.is_some() || own.non_null != other.non_null {
            return Ok(false);
        }
        let (own, other) = (self.rules.types.of(own)?, self.rules.types.of(other)?);
        Ok(!own.is_leaf() || !other.is_leaf() || own.name == other.name)
    }

    /// Whether fields are the very same, at the same places of the text.
    fn are_one(&self, fields: &Fields<'q, 's>, others: &Fields<'q, 's>) -> Result<bool, Error> {
        self.rules.types.steps.take(fields.names.len())?;
        let is_one = |own: &[Selected<'q, 's>], other: &[Selected<'q, 's>]| {
            own.len() == other.len() && own.iter().zip(other).all(|(own, other)| std::ptr::eq(own.0, other.0))
        };
        Ok(fields.names == others.names
            && fields.fields.iter().all(|(name, own)| others.fields.get(name).is_some_and(|other| is_one(own, other))))
    }

    fn collect(&self, selections: &'q [Selection], parent: &'q TypeDefinition<'s>) -> Result<Fields<'q, 's>, Error> {
        let mut fields = Fields { names: Vec::new(), fields: BTreeMap::new(), spreads: Vec::new() };
        self.collect_into(&mut fields, selections, parent, 0)?;
        Ok(fields)
    }

    fn collect_into(
        &self,
        fields: &mut Fields<'q, 's>,
        selections: &'q [Selection],
        parent: &'q TypeDefinition<'s>,
        level: usize,
    ) -> Result<(), Error> {
        let level = below(level)?;
        for selection in selections {
            self.rules.types.steps.take(1)?;
            match selection {
                Selection::Field(field) => {
                    let name = answered(field);
                    let same = fields.fields.entry(name).or_default();
                    if same.is_empty() {
                        fields.names.push(name);
                    }
                    same.push((field, parent));
                }
                Selection::Inline(inline) => {
                    let of = self.rules.condition(&inline.condition, parent)?;
                    self.collect_into(fields, &inline.selections, of, level)?;
                }
                Selection::Spread(spread) => fields.spreads.push(&spread.name),
            }
        }
        Ok(())
    }

    fn fragment(
        &self,
        name: &str,
        parent: &'q TypeDefinition<'s>,
    ) -> Result<(&'q [Selection], &'q TypeDefinition<'s>), Error> {
        let fragment = self.rules.fragment(name)?;
        Ok((&fragment.selections, self.rules.condition(&fragment.condition, parent)?))
    }

    /// The type of what a field gives.
    fn of(&self, field: &Field, parent: &TypeDefinition<'s>) -> Result<&'q TypeDefinition<'s>, Error> {
        self.rules.types.of(&self.rules.types.selected(parent, &field.name)?.of)
    }
}

/// The name of a field in the answer.
fn answered(field: &Field) -> &str {
    if field.alias.is_empty() { &field.name } else { &field.alias }
}
