//! CEL expressions: read, checked when the policy is deployed, evaluated within limits.
//!
//! The engine is the `cel` crate's. A context gets only the functions that expressions call. The engine has no limits, so the
//! syntax tree is changed before: loops count their steps, and `+` goes through a function that checks the size of the result.

use crate::functions;
use crate::operators::sign_in_error;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, operators};
use cel::common::types::{CelList, CelMap, CelString};
use cel::common::value::CowVal;
use cel::context::Context;
use cel::{Env, ExecutionError, FunctionContext, IdedExpr, Value};
use image_admission_untrusted::clock::{self, NO_TIME};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The longest expression, in bytes: far longer than any that people read.
const MAX_EXPRESSION_LENGTH: usize = 16 * 1024;
/// How deep an expression may be nested: each level takes some hundred bytes of the module's stack, several times.
const DEEPEST: usize = 100;
/// The most steps of all loops of one policy.
const MAX_STEPS: u64 = 50_000;
/// The time that all expressions of a request may take, beside the 450 ms of its rules in Rego.
const MAX_TIME: Duration = Duration::from_millis(150);
/// After how many steps the clock is read.
const STEPS_BETWEEN_CHECKS: u64 = 8;
/// The longest string and the longest list that `+` makes.
const MAX_TEXT_LENGTH: usize = 1 << 20;
const MAX_LIST_LENGTH: usize = 100_000;

/// Counts a step of a loop, and passes its argument on.
pub const STEP: &str = "@step";
/// Sorts the keys of a map: maps have no order.
pub const IN_ORDER: &str = "@in_order";
/// `+`, for strings and lists of a bounded length.
pub(crate) const PLUS: &str = "@plus";

/// A function as the engine takes it, with its arguments as they are.
pub type Function = functions::Boxed;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Program {
    /// The syntax tree, with the calls in it that count steps and bound sums.
    pub tree: IdedExpr,
    /// What it refers to.
    pub references: References,
}

/// What an expression refers to.
#[derive(Debug, Clone, Default)]
pub struct References {
    /// Variables, `object`, and fields of those whose names are known, `images.containers`.
    pub names: BTreeSet<String>,
    /// Functions, without operators.
    pub functions: BTreeSet<String>,
}

/// The beginning of an error about an unknown name.
pub const UNDECLARED: &str = "undeclared reference";

/// Why an expression has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluationError {
    /// It has no value, or what was looked up doesn't exist or makes no sense. A Pod author, or the pusher of an image, can cause
    /// this.
    Failed(String),
    /// The cluster, or a registry that the settings name, could not be asked. No Pod author can cause this. It is all that
    /// `failurePolicy: Ignore` forgives.
    Outage {
        /// What could not be asked, and why.
        why: String,
        /// The image that the request was about; none for a request about the cluster.
        image: Option<String>,
    },
    /// It would take more than a policy may. That rejects, whatever `failurePolicy` says: others choose how much there
    /// is to look at.
    Limit(String),
}

impl EvaluationError {
    /// Whether it is what `failurePolicy: Ignore` forgives.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Outage { .. })
    }

    /// The same error, with the place where it happened in front.
    pub fn at(self, path: &str) -> Self {
        match self {
            Self::Failed(why) => Self::Failed(format!("{path}: {why}")),
            Self::Outage { why, image } => Self::Outage { why: format!("{path}: {why}"), image },
            Self::Limit(why) => Self::Limit(format!("{path}: {why}")),
        }
    }
}

impl EvaluationError {
    /// The same error without values that the expression was given: they may come from a Secret.
    pub fn without_values(self) -> Self {
        match self {
            // This error has only a name from the expression.
            Self::Failed(why) if !why.starts_with(UNDECLARED) => {
                Self::Failed("it has no value; why isn't told, since the request is about a Secret".to_owned())
            }
            other => other,
        }
    }
}

impl From<String> for EvaluationError {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) | Self::Outage { why, .. } | Self::Limit(why) => f.write_str(why),
        }
    }
}

/// Variables whose fields are selected only by name, so that they are known when the policy is deployed.
pub const NAMESPACES: [&str; 4] = ["images", "attestors", "attestations", "variables"];

impl Program {
    /// Reads an expression.
    ///
    /// # Errors
    /// Where and why it isn't CEL, in one line.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_EXPRESSION_LENGTH {
            return Err(format!(
                "an expression of {} bytes is too long, {MAX_EXPRESSION_LENGTH} are the most",
                text.len()
            ));
        }
        check_links(text)?;
        let tree = cel::parser::PrattParser::default().parse(text).map_err(|errors| {
            let Some(error) = errors.errors.first() else { return "it is no CEL".to_owned() };
            let (line, column) = error.pos;
            let source = usize::try_from(line).ok().and_then(|line| text.lines().nth(line.saturating_sub(1)));
            let source = source.map(|line| format!(": `{}`", cut(line.trim(), 120))).unwrap_or_default();
            let why = error.msg.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("line {line}, column {column}: {}{source}", cut(&why, 200))
        })?;
        check_tree(&tree)?;
        let mut references = References::default();
        references.add(&tree, &BTreeSet::new());
        Ok(Self { tree: limited(tree), references })
    }

    /// The names of fields that it selects, and its strings, by which it may select others.
    pub fn words(&self) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        let mut rest = vec![&self.tree];
        while let Some(node) = rest.pop() {
            match &node.expr {
                Expr::Select(select) => {
                    words.insert(select.field.clone());
                }
                Expr::Literal(LiteralValue::String(text)) => {
                    words.insert(text.inner().to_owned());
                }
                _ => {}
            }
            each_child(node, &mut |child| rest.push(child));
        }
        words
    }

    /// The fields that it selects by name, from a variable on: `object.metadata.labels`, split. Those below [`NAMESPACES`] are in
    /// the references.
    pub fn paths(&self) -> BTreeSet<Vec<&str>> {
        let mut paths = BTreeSet::new();
        add_paths(&self.tree, &BTreeSet::new(), &mut paths);
        paths
    }

    /// Whether the result of a function is indexed by a position.
    pub fn takes_one(&self, function: &str) -> bool {
        let mut rest = vec![&self.tree];
        while let Some(node) = rest.pop() {
            if let Expr::Call(call) = &node.expr
                && call.func_name == operators::INDEX
                && let Some(Expr::Call(of)) = call.args.first().map(|list| &list.expr)
                && of.func_name == function
            {
                return true;
            }
            each_child(node, &mut |child| rest.push(child));
        }
        false
    }

    /// Evaluates it in a scope.
    ///
    /// # Errors
    /// It has no value.
    pub fn evaluate(&self, scope: &Scope<'_>) -> Result<Value, EvaluationError> {
        scope.time.begin();
        let value = Value::resolve(&self.tree, &scope.context).map_err(|error| match &error {
            ExecutionError::FunctionError { message, .. } if functions::is_bound(message) => {
                EvaluationError::Limit(describe(&error))
            }
            _ => EvaluationError::Failed(describe(&error)),
        });
        let is_late = scope.time.is_up();
        scope.time.end();
        if is_late {
            return Err(EvaluationError::Limit(out_of_time()));
        }
        // `||` or `exists` may drop an error where another part is true.
        if scope.steps.load(Ordering::Relaxed) > MAX_STEPS {
            return Err(EvaluationError::Limit(too_many_steps()));
        }
        value
    }
}

fn out_of_time() -> String {
    format!("stopped: the expressions of one request have {} ms", MAX_TIME.as_millis())
}

fn too_many_steps() -> String {
    format!("stopped: the loops of one policy have {MAX_STEPS} steps")
}

/// An error of the engine in one line.
pub fn describe(error: &ExecutionError) -> String {
    let text = match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => format!("{UNDECLARED} to `{name}`"),
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        // Their messages would show maps, whose keys have no order.
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            let operator = sign_in_error(operator).unwrap_or(operator);
            format!("`{operator}` takes no {} and {}", left.type_of(), right.type_of())
        }
        ExecutionError::NoSuchOverload(call) => {
            let operator = sign_in_error(call.function()).unwrap_or(call.function());
            format!("`{operator}` takes no {}", call.argument_types().join(" and "))
        }
        ExecutionError::Overflow(operator, ..) => {
            format!("`{}` is out of range", sign_in_error(operator).unwrap_or(operator))
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            format!("{} and {} can't be compared", left.type_of(), right.type_of())
        }
        ExecutionError::UnsupportedIndex(index, of) => {
            format!("{} has no element by {}", of.type_of(), index.type_of())
        }
        ExecutionError::UnsupportedTargetType { target } => {
            format!("a value of type {} can't be used here", target.type_of())
        }
        ExecutionError::NotSupportedAsMethod { method, target } => {
            format!("`{method}` is no method of {}", target.type_of())
        }
        ExecutionError::UnsupportedKeyType(key) => format!("{} can't be a key", key.type_of()),
        other => other.to_string(),
    };
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), 400)
}

/// What the expressions of one policy see.
pub struct Scope<'v> {
    context: Context<'v, 'v>,
    steps: Arc<AtomicU64>,
    time: Time,
}

/// The time that the expressions of a request took so far. The host's time for its answers doesn't count.
#[derive(Debug, Clone, Default)]
pub struct Time(Arc<Taken>);

/// In microseconds. Atomic, because the engine requires functions that can be shared between threads.
#[derive(Debug, Default)]
struct Taken {
    before: AtomicU64,
    /// When the current evaluation began; zero: there is no clock.
    since: AtomicU64,
    is_up: AtomicBool,
}

impl Time {
    fn now() -> u64 {
        clock::now().map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(u64::MAX).max(1))
    }

    fn begin(&self) {
        self.0.since.store(Self::now(), Ordering::Relaxed);
    }

    /// Whether the time or the memory is used up. For the latter the clock tells [`NO_TIME`].
    fn is_up(&self) -> bool {
        let since = self.0.since.load(Ordering::Relaxed);
        if since != 0 {
            let now = Self::now();
            let taken = self.0.before.load(Ordering::Relaxed).saturating_add(now.saturating_sub(since));
            // There may have been no time left when the evaluation began.
            if u128::from(taken) > MAX_TIME.as_micros() || u128::from(now) >= NO_TIME.as_micros() {
                self.0.is_up.store(true, Ordering::Relaxed);
            }
        }
        self.0.is_up.load(Ordering::Relaxed)
    }

    fn end(&self) {
        let since = self.0.since.load(Ordering::Relaxed);
        if since != 0 {
            self.0.before.fetch_add(Self::now().saturating_sub(since), Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("steps", &self.steps).field("time", &self.time).finish_non_exhaustive()
    }
}

impl Scope<'_> {
    /// A scope with the functions that expressions refer to, and no variables.
    pub fn new<'r>(references: impl Iterator<Item = &'r References> + Clone, time: &Time) -> Self {
        let steps = Arc::new(AtomicU64::new(0));
        let names = || references.clone().flat_map(|references| references.functions.iter().map(String::as_str));
        let variables = || references.clone().flat_map(|references| references.names.iter().map(String::as_str));
        let needs_library = names().any(functions::needs_standard_library);
        let mut context = if needs_library { Context::with_env(Arc::new(Env::stdlib())) } else { Context::empty() };
        let counted = Arc::clone(&steps);
        let clock = time.clone();
        let step: Function = Box::new(move |call| {
            let step = counted.fetch_add(1, Ordering::Relaxed);
            if step >= MAX_STEPS {
                return Err(ExecutionError::function_error("a loop", too_many_steps()));
            }
            if step % STEPS_BETWEEN_CHECKS == STEPS_BETWEEN_CHECKS - 1 && clock.is_up() {
                return Err(ExecutionError::function_error("a loop", out_of_time()));
            }
            first(call)
        });
        let in_order: Function = Box::new(in_order);
        let plus: Function = Box::new(plus);
        for (name, function) in [(STEP, step), (IN_ORDER, in_order), (PLUS, plus)] {
            // No other function has a name like these.
            let _ = context.add_function(name, function);
        }
        for name in names().collect::<BTreeSet<_>>() {
            functions::add(&mut context, name);
        }
        for name in variables().collect::<BTreeSet<_>>() {
            functions::add_type_name(&mut context, name);
        }
        Self { context, steps, time: time.clone() }
    }

    /// Binds a variable.
    pub fn set(&mut self, name: &str, value: Value) {
        self.context.add_variable_from_value(name, value);
    }

    /// The value of a variable; none where it is unbound.
    pub fn get(&self, name: &str) -> Option<Value> {
        Value::try_from(self.context.get_variable(name)?.as_ref()).ok()
    }

    /// How many steps the loops took.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Sets the step count back, for an evaluation that is started again.
    pub fn set_steps(&self, steps: u64) {
        self.steps.store(steps, Ordering::Relaxed);
    }

    /// Adds a function of this project's own.
    pub fn add_function(&mut self, name: &str, function: Function) {
        let _ = self.context.add_function(name, function);
    }
}

/// The first argument, which every call of our own functions has.
fn first<'c, 'v>(call: &mut FunctionContext<'c, 'v>) -> Result<CowVal<'c, 'v>, ExecutionError> {
    call.args.first().cloned().ok_or_else(ExecutionError::missing_argument_or_target)
}

fn in_order<'c, 'v>(call: &mut FunctionContext<'c, 'v>) -> Result<CowVal<'c, 'v>, ExecutionError> {
    let value = first(call)?;
    let Some(map) = value.downcast_ref::<CelMap<'_>>() else { return Ok(value) };
    let mut keys: Vec<cel::objects::Key> = map.inner().keys().map(|key| cel::objects::Key::from(key.clone())).collect();
    keys.sort();
    let keys: Vec<Value> = keys.into_iter().map(Value::from).collect();
    Ok(CowVal::Owned(Value::from(keys).try_into()?))
}

/// `a + b`, unless it is too large: each of a chain of loops could double it.
fn plus<'c, 'v>(call: &mut FunctionContext<'c, 'v>) -> Result<CowVal<'c, 'v>, ExecutionError> {
    let [left, right] = call.args.as_slice() else { return Err(ExecutionError::missing_argument_or_target()) };
    let text = |value: &CowVal<'_, '_>| value.downcast_ref::<CelString<'_>>().map_or(0, |text| text.inner().len());
    let list = |value: &CowVal<'_, '_>| value.downcast_ref::<CelList<'_>>().map_or(0, |list| list.inner().len());
    if text(left) + text(right) > MAX_TEXT_LENGTH {
        return Err(ExecutionError::function_error("+", functions::LONG_TEXT));
    }
    if list(left) + list(right) > MAX_LIST_LENGTH {
        return Err(ExecutionError::function_error("+", functions::LONG_LIST));
    }
    let adder = left.as_adder().ok_or_else(|| {
        let types = [left, right].map(|value| value.get_type().name().to_owned());
        ExecutionError::no_such_overload(operators::ADD, types.to_vec())
    })?;
    Ok(CowVal::Owned(adder.add(right.as_ref())?.into_owned()))
}

impl References {
    /// The names below a variable of [`NAMESPACES`], `images.containers`, each with its last part.
    pub fn fields_of<'r>(&'r self, namespace: &'r str) -> impl Iterator<Item = (&'r str, &'r str)> {
        self.names.iter().filter_map(move |name| {
            let field = name.strip_prefix(namespace)?.strip_prefix('.')?;
            Some((name.as_str(), field))
        })
    }

    /// Adds the references of a tree. `bound` are the variables of the loops around it.
    fn add(&mut self, tree: &IdedExpr, bound: &BTreeSet<&str>) {
        match &tree.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => {
                if !bound.contains(name.as_str()) && !name.starts_with('@') {
                    self.names.insert(name.clone());
                }
            }
            Expr::Select(select) => match &select.operand.expr {
                Expr::Ident(name) if NAMESPACES.contains(&name.as_str()) && !bound.contains(name.as_str()) => {
                    self.names.insert([name, ".", &select.field].concat());
                    // `has(images.x)` looks into `images`.
                    if select.test {
                        self.names.insert(name.clone());
                    }
                }
                _ => self.add(&select.operand, bound),
            },
            Expr::Call(call) => {
                // `sets.contains(a, b)` is a function of that name, and no method.
                if let Some(Expr::Ident(namespace)) = call.target.as_deref().map(|target| &target.expr)
                    && functions::is_known(&[namespace, ".", &call.func_name].concat())
                {
                    self.functions.insert([namespace, ".", &call.func_name].concat());
                    call.args.iter().for_each(|part| self.add(part, bound));
                    return;
                }
                // Operators are calls of names like `_+_`, `!_` and `@in`.
                if !call.func_name.starts_with(['_', '@', '!', '-']) {
                    self.functions.insert(call.func_name.clone());
                }
                for part in call.target.as_deref().into_iter().chain(&call.args) {
                    self.add(part, bound);
                }
            }
            Expr::Comprehension(of) => {
                self.add(&of.iter_range, bound);
                self.add(&of.accu_init, bound);
                let mut inner = bound.clone();
                inner.extend([of.iter_var.as_str(), of.accu_var.as_str()]);
                for part in [&of.loop_cond, &of.loop_step, &of.result] {
                    self.add(part, &inner);
                }
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.add(element, bound)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.add_entry(&entry.expr, bound)),
            Expr::Struct(of) => {
                self.functions.insert(of.type_name.clone());
                of.entries.iter().for_each(|entry| self.add_entry(&entry.expr, bound));
            }
        }
    }

    fn add_entry(&mut self, entry: &EntryExpr, bound: &BTreeSet<&str>) {
        match entry {
            EntryExpr::StructField(field) => self.add(&field.value, bound),
            EntryExpr::MapEntry(entry) => {
                self.add(&entry.key, bound);
                self.add(&entry.value, bound);
            }
        }
    }
}

/// Adds the paths of a tree. `bound` are the variables of the loops around it.
fn add_paths<'t>(tree: &'t IdedExpr, bound: &BTreeSet<&'t str>, found: &mut BTreeSet<Vec<&'t str>>) {
    match &tree.expr {
        Expr::Ident(_) | Expr::Select(_) => {
            let mut fields = Vec::new();
            let mut base = tree;
            while let Expr::Select(select) = &base.expr {
                fields.push(select.field.as_str());
                base = &select.operand;
            }
            match &base.expr {
                Expr::Ident(name) => {
                    let is_free = !bound.contains(name.as_str()) && !name.starts_with('@');
                    if is_free && !NAMESPACES.contains(&name.as_str()) {
                        fields.push(name);
                        fields.reverse();
                        found.insert(fields);
                    }
                }
                _ => add_paths(base, bound, found),
            }
        }
        Expr::Comprehension(of) => {
            add_paths(&of.iter_range, bound, found);
            add_paths(&of.accu_init, bound, found);
            let mut inner = bound.clone();
            inner.extend([of.iter_var.as_str(), of.accu_var.as_str()]);
            for part in [&of.loop_cond, &of.loop_step, &of.result] {
                add_paths(part, &inner, found);
            }
        }
        _ => each_child(tree, &mut |child| add_paths(child, bound, found)),
    }
}

/// Calls a function with each part of a node.
pub fn each_child<'t>(tree: &'t IdedExpr, take: &mut impl FnMut(&'t IdedExpr)) {
    fn entry<'t>(entry: &'t EntryExpr, take: &mut impl FnMut(&'t IdedExpr)) {
        match entry {
            EntryExpr::StructField(field) => take(&field.value),
            EntryExpr::MapEntry(entry) => [&entry.key, &entry.value].into_iter().for_each(take),
        }
    }
    match &tree.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select(select) => take(&select.operand),
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).for_each(take),
        Expr::Comprehension(of) => {
            [&of.iter_range, &of.accu_init, &of.loop_cond, &of.loop_step, &of.result].into_iter().for_each(take);
        }
        Expr::List(list) => list.elements.iter().for_each(take),
        Expr::Map(map) => map.entries.iter().for_each(|own| entry(&own.expr, take)),
        Expr::Struct(of) => of.entries.iter().for_each(|own| entry(&own.expr, take)),
    }
}

/// The parser bounds how deep brackets are nested, but not how long chains are (`a.b.c`, `a ? b : c ? …`, `1 + 1 + …`). It recurses
/// into chains too, and so does all code that walks the tree. So they are counted before.
fn check_links(text: &str) -> Result<(), String> {
    let (mut choices, mut signs, mut links) = (0, 0, 0);
    let mut quote = None;
    let (mut is_escaped, mut is_raw) = (false, false);
    let mut before = b' ';
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') if !is_raw => is_escaped = true,
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                is_raw = before.eq_ignore_ascii_case(&b'r');
            }
            (None, b'/') if bytes.peek() == Some(&b'/') => {
                // A comment goes to the end of its line.
                while bytes.next().is_some_and(|byte| byte != b'\n') {}
            }
            (None, b'?') => choices += 1,
            (None, b'!' | b'-') => signs += 1,
            (None, b'.' | b'+' | b'*' | b'/' | b'%' | b'[' | b'<' | b'>' | b'=' | b'&' | b'|') => links += 1,
            // `in`, with the characters around it.
            (None, b'n') if before == b'i' => links += 1,
            (None, _) => {}
        }
        before = byte;
    }
    for (count, most, what) in
        [(choices, 50, "`?`"), (signs, 100, "`!` and `-`"), (links, 600, "`.`, `[`, `in` and other operators")]
    {
        if count > most {
            return Err(format!("{count} times {what} are too many, {most} are the most; use `variables`"));
        }
    }
    Ok(())
}

/// Whether a tree can be evaluated. The parser bounds its own recursion, but a long sum nests to the left without
/// recursion.
fn check_tree(tree: &IdedExpr) -> Result<(), String> {
    let mut rest = vec![(tree, 1)];
    while let Some((node, level)) = rest.pop() {
        if level > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} levels deep"));
        }
        if matches!(node.expr, Expr::Struct(_) | Expr::Unspecified) {
            return Err("messages like `Type{field: …}` can't be made here; write a map, `{'field': …}`".to_owned());
        }
        // The same variable would have two names, and be looked up by one.
        if let Expr::Ident(name) = &node.expr
            && let Some(plain) = name.strip_prefix('.')
        {
            return Err(format!("write `{plain}` in the place of `{name}`"));
        }
        each_child(node, &mut |child| rest.push((child, level + 1)));
    }
    Ok(())
}

/// The tree with counted loops, sorted maps and bounded sums.
fn limited(tree: IdedExpr) -> IdedExpr {
    let id = tree.id;
    let boxed = |tree: Box<IdedExpr>| Box::new(limited(*tree));
    let all = |trees: Vec<IdedExpr>| trees.into_iter().map(limited).collect::<Vec<_>>();
    let entries = |entries: Vec<cel::common::ast::IdedEntryExpr>| {
        entries
            .into_iter()
            .map(|mut entry| {
                entry.expr = match entry.expr {
                    EntryExpr::StructField(mut field) => {
                        field.value = limited(field.value);
                        EntryExpr::StructField(field)
                    }
                    EntryExpr::MapEntry(mut entry) => {
                        entry.key = limited(entry.key);
                        entry.value = limited(entry.value);
                        EntryExpr::MapEntry(entry)
                    }
                };
                entry
            })
            .collect::<Vec<_>>()
    };
    let expr = match tree.expr {
        same @ (Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_)) => same,
        Expr::Select(mut select) => {
            select.operand = boxed(select.operand);
            Expr::Select(select)
        }
        Expr::Call(call) => {
            let is_sum = call.func_name == operators::ADD && call.target.is_none() && call.args.len() == 2;
            Expr::Call(CallExpr {
                func_name: if is_sum { PLUS.to_owned() } else { call.func_name },
                target: call.target.map(boxed),
                args: all(call.args),
            })
        }
        Expr::List(list) => {
            Expr::List(ListExpr { elements: all(list.elements), optional_indices: list.optional_indices })
        }
        Expr::Map(mut map) => {
            map.entries = entries(map.entries);
            Expr::Map(map)
        }
        Expr::Struct(mut of) => {
            of.entries = entries(of.entries);
            Expr::Struct(of)
        }
        Expr::Comprehension(of) => Expr::Comprehension(Box::new(limited_loop(*of))),
    };
    IdedExpr { id, expr }
}

fn call_of(name: &str, argument: IdedExpr) -> IdedExpr {
    IdedExpr {
        id: argument.id,
        expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args: vec![argument] }),
    }
}

/// A loop that counts its steps. A step that appends to a list keeps its form, by which the engine recognizes it. So the element,
/// or the filter before it, counts.
fn limited_loop(of: ComprehensionExpr) -> ComprehensionExpr {
    let iter_range = call_of(IN_ORDER, limited(of.iter_range));
    let is_literal = matches!(of.loop_cond.expr, Expr::Literal(_));
    let loop_cond = if is_literal { of.loop_cond } else { call_of(STEP, limited(of.loop_cond)) };
    let loop_step = if is_literal { counted_step(of.loop_step) } else { limited(of.loop_step) };
    ComprehensionExpr {
        iter_range,
        iter_var: of.iter_var,
        iter_var2: of.iter_var2,
        accu_var: of.accu_var,
        accu_init: limited(of.accu_init),
        loop_cond,
        loop_step,
        result: limited(of.result),
    }
}

/// `filter ? list + [element] : list` with the filter counted, or `list + [element]` with the element counted.
fn counted_step(step: IdedExpr) -> IdedExpr {
    let id = step.id;
    match step.expr {
        Expr::Call(mut call) if call.func_name == operators::CONDITIONAL && call.args.len() == 3 => {
            let otherwise = call.args.pop().unwrap_or_default();
            let then = call.args.pop().unwrap_or_default();
            let filter = call.args.pop().unwrap_or_default();
            let args = vec![call_of(STEP, limited(filter)), appended(then, false), otherwise];
            IdedExpr { id, expr: Expr::Call(CallExpr { func_name: call.func_name, target: None, args }) }
        }
        expr => appended(IdedExpr { id, expr }, true),
    }
}

/// `list + [element]` with only the element changed.
fn appended(step: IdedExpr, is_counted: bool) -> IdedExpr {
    let id = step.id;
    match step.expr {
        Expr::Call(mut call) if call.func_name == operators::ADD && call.args.len() == 2 => {
            if let Some(items) = call.args.pop() {
                let items = match items.expr {
                    Expr::List(mut list) => {
                        list.elements = list
                            .elements
                            .into_iter()
                            .map(limited)
                            .map(|element| if is_counted { call_of(STEP, element) } else { element })
                            .collect();
                        IdedExpr { id: items.id, expr: Expr::List(list) }
                    }
                    expr => call_of(STEP, limited(IdedExpr { id: items.id, expr })),
                };
                call.args.push(items);
            }
            IdedExpr { id, expr: Expr::Call(call) }
        }
        // A sum of numbers, as `exists_one` counts.
        expr => call_of(STEP, limited(IdedExpr { id, expr })),
    }
}

/// A document as CEL sees it: whole numbers are `int` where they fit.
pub fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Int(number),
            (None, Some(number)) => Value::UInt(number),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(elements) => Value::from(elements.iter().map(value_of).collect::<Vec<_>>()),
        Json::Object(entries) => map_of(entries.iter().map(|(key, value)| (key.as_str(), value_of(value)))),
    }
}

/// A point in time as CEL sees it; null where CEL has no year for it.
pub fn time_value(time: Timestamp) -> Value {
    functions::time(time.0).map_or(Value::Null, Value::Timestamp)
}

/// A map with string keys.
#[expect(clippy::disallowed_types, reason = "the engine's own maps; loops over them go through their keys in order")]
pub fn map_of<'k>(entries: impl Iterator<Item = (&'k str, Value)>) -> Value {
    let entries: std::collections::HashMap<String, Value> =
        entries.map(|(key, value)| (key.to_owned(), value)).collect();
    Value::from(entries)
}
