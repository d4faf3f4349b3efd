//! What documents are made of, and the keys by which data names it.
//!
//! Keys are those of the abstract syntax trees of `graphql.parse_query` and `graphql.parse_schema` in Open Policy Agent. Where
//! the text says nothing, texts are empty; kinds and operations are kept as data may spell them.

/// Comments before a part of the document, a line each, with their `#`.
pub type Comments = Vec<String>;

/// Takes over the parts of a node, one after the other: to make data of it, or to read it from data.
pub trait Exchange {
    /// Why data is no such node.
    type Error;

    /// A text; an empty one where data has none.
    ///
    /// # Errors
    /// Data has something else there.
    fn text(&mut self, key: &'static str, text: &mut String) -> Result<(), Self::Error>;

    /// Whether something holds; false where data has nothing.
    ///
    /// # Errors
    /// Data has something else there.
    fn flag(&mut self, key: &'static str, flag: &mut bool) -> Result<(), Self::Error>;

    /// The kind of a value, as a number.
    ///
    /// # Errors
    /// Data has something else there.
    fn kind(&mut self, key: &'static str, kind: &mut ValueKind) -> Result<(), Self::Error>;

    /// A list of texts, absent where it is empty.
    ///
    /// # Errors
    /// Data has something else there.
    fn texts(&mut self, key: &'static str, texts: &mut Vec<String>) -> Result<(), Self::Error>;

    /// Comments, absent where there are none.
    ///
    /// # Errors
    /// Data has something else there.
    fn comments(&mut self, key: &'static str, comments: &mut Comments) -> Result<(), Self::Error>;

    /// A node that must be there.
    ///
    /// # Errors
    /// Data has none, or something else.
    fn node<N: Node>(&mut self, key: &'static str, node: &mut N) -> Result<(), Self::Error>;

    /// A node that may be there.
    ///
    /// # Errors
    /// Data has something else there.
    fn optional<N: Node>(&mut self, key: &'static str, node: &mut Option<Box<N>>) -> Result<(), Self::Error>;

    /// A list of nodes, absent where it is empty.
    ///
    /// # Errors
    /// Data has something else there.
    fn nodes<N: Node>(&mut self, key: &'static str, nodes: &mut Vec<N>) -> Result<(), Self::Error>;

    /// What is selected, absent where it is nothing.
    ///
    /// # Errors
    /// Data has no list there.
    fn selections(&mut self, key: &'static str, selections: &mut Vec<Selection>) -> Result<(), Self::Error>;
}

/// A part of a document that is an object as data.
pub trait Node: Default {
    /// Whether data is read by the exact spelling of keys, and without comments.
    const IS_EXACT: bool = false;

    /// Hands over each part.
    ///
    /// # Errors
    /// Data is no such node.
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error>;
}

/// A document of operations and fragments.
#[derive(Debug, Default)]
pub struct Query {
    /// Its operations.
    pub operations: Vec<Operation>,
    /// Its fragments.
    pub fragments: Vec<Fragment>,
    /// Comments; the parser gives none here.
    pub comment: Comments,
}

impl Node for Query {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.nodes("Operations", &mut self.operations)?;
        with.nodes("Fragments", &mut self.fragments)?;
        with.comments("Comment", &mut self.comment)
    }
}

/// A query, a mutation or a subscription.
#[derive(Debug, Default)]
pub struct Operation {
    /// `query`, `mutation` or `subscription`.
    pub operation: String,
    /// Its name.
    pub name: String,
    /// Its variables.
    pub variables: Vec<VariableDefinition>,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// What is selected of the root.
    pub selections: Vec<Selection>,
    /// Comments before it.
    pub comment: Comments,
}

impl Node for Operation {
    const IS_EXACT: bool = true;

    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Operation", &mut self.operation)?;
        with.text("Name", &mut self.name)?;
        with.nodes("VariableDefinitions", &mut self.variables)?;
        with.nodes("Directives", &mut self.directives)?;
        with.selections("SelectionSet", &mut self.selections)?;
        with.comments("Comment", &mut self.comment)
    }
}

/// A variable of an operation.
#[derive(Debug, Default)]
pub struct VariableDefinition {
    /// Its name, without `$`.
    pub variable: String,
    /// Its type.
    pub of: Type,
    /// Its value where none is given.
    pub default: Option<Box<Value>>,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// Comments before it.
    pub comment: Comments,
    /// Whether data says that it is used; the parser doesn't.
    pub used: bool,
}

impl Node for VariableDefinition {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Variable", &mut self.variable)?;
        with.node("Type", &mut self.of)?;
        with.optional("DefaultValue", &mut self.default)?;
        with.nodes("Directives", &mut self.directives)?;
        with.comments("Comment", &mut self.comment)?;
        with.flag("Used", &mut self.used)
    }
}

/// A type where it is used: a name, or a list of another one.
#[derive(Debug, Default, Clone)]
pub struct Type {
    /// The name; empty for a list.
    pub name: String,
    /// The type of the list's elements.
    pub element: Option<Box<Type>>,
    /// Whether it is never null.
    pub non_null: bool,
}

impl Node for Type {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("NamedType", &mut self.name)?;
        if self.name.is_empty() && self.element.is_none() {
            // A type without a name is a list of something.
            let mut element = Self::default();
            with.node("Elem", &mut element)?;
            self.element = Some(Box::new(element));
        } else {
            with.optional("Elem", &mut self.element)?;
        }
        with.flag("NonNull", &mut self.non_null)
    }
}

/// What a value is, in the order of the numbers that data has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `$name`
    #[default]
    Variable,
    /// A number without a fraction.
    Int,
    /// A number with one.
    Float,
    /// A text.
    Text,
    /// A text in three quotes.
    Block,
    /// `true` or `false`.
    Boolean,
    /// `null`
    Null,
    /// A name.
    Enum,
    /// `[…]`
    List,
    /// `{…}`
    Object,
}

impl ValueKind {
    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::Variable,
        Self::Int,
        Self::Float,
        Self::Text,
        Self::Block,
        Self::Boolean,
        Self::Null,
        Self::Enum,
        Self::List,
        Self::Object,
    ];
}

/// A value.
#[derive(Debug, Default)]
pub struct Value {
    /// How a number or a name is written, or what a text says; nothing for lists and objects.
    pub raw: String,
    /// The elements of a list, the fields of an object.
    pub children: Vec<ChildValue>,
    /// What it is.
    pub kind: ValueKind,
    /// Comments before a list or an object.
    pub comment: Comments,
    /// Whether data says that another value stands for it; the parser doesn't.
    pub expects_default: bool,
}

impl Node for Value {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Raw", &mut self.raw)?;
        with.nodes("Children", &mut self.children)?;
        with.kind("Kind", &mut self.kind)?;
        with.comments("Comment", &mut self.comment)?;
        with.flag("ExpectedTypeHasDefault", &mut self.expects_default)
    }
}

/// An element of a list, or a field of an object.
#[derive(Debug, Default)]
pub struct ChildValue {
    /// The field's name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Comments before a field.
    pub comment: Comments,
}

impl Node for ChildValue {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Name", &mut self.name)?;
        with.node("Value", &mut self.value)?;
        with.comments("Comment", &mut self.comment)
    }
}

/// `@name(…)`
#[derive(Debug, Default)]
pub struct Directive {
    /// Its name, without `@`.
    pub name: String,
    /// What it is given.
    pub arguments: Vec<Argument>,
    /// Where data says that it stands; the parser doesn't.
    pub location: String,
}

impl Node for Directive {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Name", &mut self.name)?;
        with.nodes("Arguments", &mut self.arguments)?;
        with.text("Location", &mut self.location)
    }
}

/// `name: value`
#[derive(Debug, Default)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Comments before it.
    pub comment: Comments,
}

impl Node for Argument {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Name", &mut self.name)?;
        with.node("Value", &mut self.value)?;
        with.comments("Comment", &mut self.comment)
    }
}

/// One of what is selected.
#[derive(Debug)]
pub enum Selection {
    /// `name`
    Field(Field),
    /// `...name`
    Spread(Spread),
    /// `... on Type {…}`
    Inline(InlineFragment),
}

/// A field that is selected.
#[derive(Debug, Default)]
pub struct Field {
    /// The name in the answer; that of the field where it has no other. Data may leave it out.
    pub alias: String,
    /// The name of the field.
    pub name: String,
    /// What it is given.
    pub arguments: Vec<Argument>,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// What is selected of it.
    pub selections: Vec<Selection>,
    /// Comments before it.
    pub comment: Comments,
}

impl Node for Field {
    const IS_EXACT: bool = true;

    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Alias", &mut self.alias)?;
        with.text("Name", &mut self.name)?;
        with.nodes("Arguments", &mut self.arguments)?;
        with.nodes("Directives", &mut self.directives)?;
        with.comments("Comment", &mut self.comment)?;
        // Last: who reads selections tries what else one may be where a part before is no part of a field.
        with.selections("SelectionSet", &mut self.selections)
    }
}

/// What a fragment selects.
#[derive(Debug, Default)]
pub struct Spread {
    /// The fragment's name.
    pub name: String,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// Comments before it.
    pub comment: Comments,
}

impl Node for Spread {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Name", &mut self.name)?;
        with.nodes("Directives", &mut self.directives)?;
        with.comments("Comment", &mut self.comment)
    }
}

/// What is selected of objects of a type.
#[derive(Debug, Default)]
pub struct InlineFragment {
    /// The type; empty for that of the object.
    pub condition: String,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// What is selected.
    pub selections: Vec<Selection>,
    /// Comments before it.
    pub comment: Comments,
}

impl Node for InlineFragment {
    const IS_EXACT: bool = true;

    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("TypeCondition", &mut self.condition)?;
        with.nodes("Directives", &mut self.directives)?;
        with.comments("Comment", &mut self.comment)?;
        with.selections("SelectionSet", &mut self.selections)
    }
}

/// `fragment name on Type {…}`
#[derive(Debug, Default)]
pub struct Fragment {
    /// Its name.
    pub name: String,
    /// Its variables, which no rule looks at.
    pub variables: Vec<VariableDefinition>,
    /// The type that it selects of.
    pub condition: String,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// What is selected.
    pub selections: Vec<Selection>,
    /// Comments before it.
    pub comment: Comments,
}

impl Node for Fragment {
    const IS_EXACT: bool = true;

    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Name", &mut self.name)?;
        with.nodes("VariableDefinition", &mut self.variables)?;
        with.text("TypeCondition", &mut self.condition)?;
        with.nodes("Directives", &mut self.directives)?;
        with.selections("SelectionSet", &mut self.selections)?;
        with.comments("Comment", &mut self.comment)
    }
}

/// A document of definitions.
#[derive(Debug, Default)]
pub struct Schema {
    /// `schema {…}`
    pub schema: Vec<SchemaDefinition>,
    /// `extend schema {…}`
    pub schema_extensions: Vec<SchemaDefinition>,
    /// `directive @name on …`
    pub directives: Vec<DirectiveDefinition>,
    /// Types.
    pub definitions: Vec<Definition>,
    /// `extend type …`
    pub extensions: Vec<Definition>,
    /// Comments at the end.
    pub comment: Comments,
}

impl Node for Schema {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.nodes("Schema", &mut self.schema)?;
        with.nodes("SchemaExtension", &mut self.schema_extensions)?;
        with.nodes("Directives", &mut self.directives)?;
        with.nodes("Definitions", &mut self.definitions)?;
        with.nodes("Extensions", &mut self.extensions)?;
        with.comments("Comment", &mut self.comment)
    }
}

/// The types of the three operations.
#[derive(Debug, Default)]
pub struct SchemaDefinition {
    /// What it is for.
    pub description: String,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// The types.
    pub operations: Vec<OperationType>,
    /// Comments before the description.
    pub before: Comments,
    /// Comments before the definition.
    pub after: Comments,
    /// Comments before its end.
    pub end: Comments,
}

impl Node for SchemaDefinition {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Description", &mut self.description)?;
        with.nodes("Directives", &mut self.directives)?;
        with.nodes("OperationTypes", &mut self.operations)?;
        with.comments("BeforeDescriptionComment", &mut self.before)?;
        with.comments("AfterDescriptionComment", &mut self.after)?;
        with.comments("EndOfDefinitionComment", &mut self.end)
    }
}

/// The type of an operation.
#[derive(Debug, Default)]
pub struct OperationType {
    /// `query`, `mutation` or `subscription`.
    pub operation: String,
    /// The type's name.
    pub of: String,
    /// Comments before it.
    pub comment: Comments,
}

impl Node for OperationType {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Operation", &mut self.operation)?;
        with.text("Type", &mut self.of)?;
        with.comments("Comment", &mut self.comment)
    }
}

/// A type, or an extension of one.
#[derive(Debug, Default)]
pub struct Definition {
    /// `SCALAR`, `OBJECT`, `INTERFACE`, `UNION`, `ENUM` or `INPUT_OBJECT`.
    pub kind: String,
    /// What it is for.
    pub description: String,
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// The interfaces that it implements.
    pub interfaces: Vec<String>,
    /// The fields of an object, an interface or an input object.
    pub fields: Vec<FieldDefinition>,
    /// The types of a union.
    pub types: Vec<String>,
    /// The values of an enum.
    pub values: Vec<EnumValueDefinition>,
    /// Whether every schema has it.
    pub built_in: bool,
    /// Comments before the description.
    pub before: Comments,
    /// Comments before the definition.
    pub after: Comments,
    /// Comments before its end.
    pub end: Comments,
}

impl Node for Definition {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Kind", &mut self.kind)?;
        with.text("Description", &mut self.description)?;
        with.text("Name", &mut self.name)?;
        with.nodes("Directives", &mut self.directives)?;
        with.texts("Interfaces", &mut self.interfaces)?;
        with.nodes("Fields", &mut self.fields)?;
        with.texts("Types", &mut self.types)?;
        with.nodes("EnumValues", &mut self.values)?;
        with.flag("BuiltIn", &mut self.built_in)?;
        with.comments("BeforeDescriptionComment", &mut self.before)?;
        with.comments("AfterDescriptionComment", &mut self.after)?;
        with.comments("EndOfDefinitionComment", &mut self.end)
    }
}

/// A field of a type, or an argument of a field or of a directive.
#[derive(Debug, Default)]
pub struct FieldDefinition {
    /// What it is for.
    pub description: String,
    /// Its name.
    pub name: String,
    /// The arguments of an object's field.
    pub arguments: Vec<FieldDefinition>,
    /// The value of an argument, or of an input object's field, where none is given.
    pub default: Option<Box<Value>>,
    /// Its type.
    pub of: Type,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// Comments before the description.
    pub before: Comments,
    /// Comments before the definition.
    pub after: Comments,
}

impl Node for FieldDefinition {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Description", &mut self.description)?;
        with.text("Name", &mut self.name)?;
        with.nodes("Arguments", &mut self.arguments)?;
        with.optional("DefaultValue", &mut self.default)?;
        with.node("Type", &mut self.of)?;
        with.nodes("Directives", &mut self.directives)?;
        with.comments("BeforeDescriptionComment", &mut self.before)?;
        with.comments("AfterDescriptionComment", &mut self.after)
    }
}

/// A value of an enum.
#[derive(Debug, Default)]
pub struct EnumValueDefinition {
    /// What it is for.
    pub description: String,
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub directives: Vec<Directive>,
    /// Comments before the description.
    pub before: Comments,
    /// Comments before the definition.
    pub after: Comments,
}

impl Node for EnumValueDefinition {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Description", &mut self.description)?;
        with.text("Name", &mut self.name)?;
        with.nodes("Directives", &mut self.directives)?;
        with.comments("BeforeDescriptionComment", &mut self.before)?;
        with.comments("AfterDescriptionComment", &mut self.after)
    }
}

/// What a directive may be given, and where it may stand.
#[derive(Debug, Default)]
pub struct DirectiveDefinition {
    /// What it is for.
    pub description: String,
    /// Its name, without `@`.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<FieldDefinition>,
    /// Where it may stand, as `FIELD`.
    pub locations: Vec<String>,
    /// Whether it may stand there more than once.
    pub is_repeatable: bool,
    /// Comments before the description.
    pub before: Comments,
    /// Comments before the definition.
    pub after: Comments,
}

impl Node for DirectiveDefinition {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Description", &mut self.description)?;
        with.text("Name", &mut self.name)?;
        with.nodes("Arguments", &mut self.arguments)?;
        with.texts("Locations", &mut self.locations)?;
        with.flag("IsRepeatable", &mut self.is_repeatable)?;
        with.comments("BeforeDescriptionComment", &mut self.before)?;
        with.comments("AfterDescriptionComment", &mut self.after)
    }
}
