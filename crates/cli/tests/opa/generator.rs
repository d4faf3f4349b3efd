//! Modules and inputs over what rules of admission use, made from a seed: the same seed makes the same case.

use serde_json::{Value, json};

/// A module, what it is asked with, and by which syntax.
pub(super) struct Case {
    pub(super) module: String,
    pub(super) input: Value,
}

/// Numbers in a row from a seed (xorshift64*).
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below that one.
    pub(super) fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn one_in(&mut self, most: usize) -> bool {
        self.below(most) == 0
    }

    /// One of them.
    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// What a term is meant to be; one in twenty is something else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Integer,
    Truth,
    List,
    Texts,
    Numbers,
    Set,
    Object,
    Any,
}

use Kind::{Any, Integer, List, Number, Numbers, Object, Set, Text, Texts, Truth};

/// Builtins, what they take and what they give.
const BUILTINS: &[(&str, &[Kind], Kind)] = &[
    ("abs", &[Number], Number),
    ("array.concat", &[List, List], List),
    ("array.reverse", &[List], List),
    ("array.slice", &[List, Integer, Integer], List),
    ("base64.encode", &[Text], Text),
    ("base64url.encode", &[Text], Text),
    ("bits.and", &[Integer, Integer], Integer),
    ("bits.negate", &[Integer], Integer),
    ("bits.xor", &[Integer, Integer], Integer),
    ("ceil", &[Number], Integer),
    ("concat", &[Text, Texts], Text),
    ("contains", &[Text, Text], Truth),
    ("count", &[List], Integer),
    ("crypto.sha256", &[Text], Text),
    ("endswith", &[Text, Text], Truth),
    ("floor", &[Number], Integer),
    ("format_int", &[Number, Integer], Text),
    ("hex.encode", &[Text], Text),
    ("indexof", &[Text, Text], Integer),
    ("indexof_n", &[Text, Text], List),
    ("is_array", &[Any], Truth),
    ("is_boolean", &[Any], Truth),
    ("is_null", &[Any], Truth),
    ("is_number", &[Any], Truth),
    ("is_object", &[Any], Truth),
    ("is_set", &[Any], Truth),
    ("is_string", &[Any], Truth),
    ("json.filter", &[Object, Texts], Object),
    ("json.is_valid", &[Text], Truth),
    ("json.marshal", &[Any], Text),
    ("json.remove", &[Object, Texts], Object),
    ("json.unmarshal", &[Text], Any),
    ("lower", &[Text], Text),
    ("max", &[List], Any),
    ("min", &[List], Any),
    ("net.cidr_contains", &[Text, Text], Truth),
    ("net.cidr_intersects", &[Text, Text], Truth),
    ("net.cidr_is_valid", &[Text], Truth),
    ("numbers.range", &[Integer, Integer], List),
    ("numbers.range_step", &[Integer, Integer, Integer], List),
    ("object.filter", &[Object, Texts], Object),
    ("object.get", &[Object, Text, Any], Any),
    ("object.get", &[Object, Texts, Any], Any),
    ("object.keys", &[Object], Set),
    ("object.remove", &[Object, Texts], Object),
    ("object.subset", &[Object, Object], Truth),
    ("object.subset", &[Texts, Texts], Truth),
    ("object.union", &[Object, Object], Object),
    ("product", &[Numbers], Number),
    ("regex.find_n", &[Text, Text, Integer], List),
    ("regex.is_valid", &[Text], Truth),
    ("regex.match", &[Text, Text], Truth),
    ("regex.replace", &[Text, Text, Text], Text),
    ("regex.split", &[Text, Text], List),
    ("replace", &[Text, Text, Text], Text),
    ("round", &[Number], Integer),
    ("semver.compare", &[Text, Text], Integer),
    ("semver.is_valid", &[Text], Truth),
    ("sort", &[List], List),
    ("split", &[Text, Text], List),
    ("startswith", &[Text, Text], Truth),
    ("strings.any_prefix_match", &[Text, Texts], Truth),
    ("strings.any_suffix_match", &[Texts, Texts], Truth),
    ("strings.count", &[Text, Text], Integer),
    ("strings.replace_n", &[Object, Text], Text),
    ("strings.reverse", &[Text], Text),
    ("substring", &[Text, Integer, Integer], Text),
    ("sum", &[Numbers], Number),
    ("time.add_date", &[Integer, Integer, Integer, Integer], Integer),
    ("time.clock", &[Integer], List),
    ("time.date", &[Integer], List),
    ("time.diff", &[Integer, Integer], List),
    ("time.format", &[Integer], Text),
    ("time.parse_duration_ns", &[Text], Integer),
    ("time.parse_rfc3339_ns", &[Text], Integer),
    ("time.weekday", &[Integer], Text),
    ("to_number", &[Text], Number),
    ("trim", &[Text, Text], Text),
    ("trim_left", &[Text, Text], Text),
    ("trim_prefix", &[Text, Text], Text),
    ("trim_right", &[Text, Text], Text),
    ("trim_space", &[Text], Text),
    ("trim_suffix", &[Text, Text], Text),
    ("type_name", &[Any], Text),
    ("units.parse", &[Text], Number),
    ("units.parse_bytes", &[Text], Integer),
    ("upper", &[Text], Text),
    ("urlquery.decode", &[Text], Text),
    ("urlquery.encode", &[Text], Text),
    ("yaml.unmarshal", &[Text], Any),
];
const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "abc",
    "nginx:1.25",
    "docker.io/library/nginx",
    "1Gi",
    "500m",
    "1.5Mi",
    "0",
    "12",
    "1.2.3",
    "1.10.0-rc.1",
    "a.b.c",
    "a/b/c",
    "é ü",
    " a b ",
    "10.0.0.0/8",
    "10.1.2.3",
    "::/0",
    "2024-02-29T23:04:05Z",
    "2024-01-02T03:04:05.678+02:00",
    "1h30m",
    "2d",
    "[1, 2]",
    "{\"a\": 1}",
    "true",
    "^a.*c$",
    "[a-z]+",
    "a*",
    "*.c",
    "/",
    ".",
    "ABC",
    "%d",
    "a=b&c=d",
    "YWJj",
    "a/b",
];
const FORMATS: &[&str] = &["%s", "%v", "%d", "%5d", "%-5s|", "%05d", "%.2f", "%v is %v", "%s: %d", "100%%"];
const NUMBERS: &[&str] =
    &["0", "1", "2", "3", "-1", "-7", "10", "100", "1.5", "-2.5", "0.1", "0.2", "2.675", "1000000", "2147483648"];
const INTEGERS: &[&str] = &["0", "1", "2", "3", "-1", "5", "10", "16", "1700000000000000000"];
const FIELDS: &[&str] = &["a", "b", "c", "name", "list", "texts", "labels", "object", "nothing", "number"];

/// The case of a seed.
pub(super) fn case(seed: u64, v1: bool) -> Case {
    let mut chance = Chance::new(seed);
    for _ in 0..4 {
        chance.next();
    }
    let input = input(&mut chance);
    let mut writer =
        Writer { chance, v1, locals: Vec::new(), next: 0, functions: Vec::new(), rules: Vec::new(), sets: Vec::new() };
    let module = writer.module();
    Case { module, input }
}

fn input(chance: &mut Chance) -> Value {
    let mut object = serde_json::Map::new();
    for field in FIELDS {
        if chance.one_in(5) {
            continue;
        }
        let value = match *field {
            "list" => (0..chance.below(4)).map(|_| scalar(chance)).collect(),
            "texts" => (0..chance.below(4)).map(|_| json!(chance.of(TEXTS))).collect(),
            "labels" | "object" => {
                let entry = |chance: &mut Chance| (chance.of(FIELDS).to_owned(), scalar(chance));
                Value::Object((0..chance.below(4)).map(|_| entry(chance)).collect())
            }
            "number" => number(chance),
            "nothing" => continue,
            _ => scalar(chance),
        };
        object.insert((*field).to_owned(), value);
    }
    let rows = (0..3).map(|_| row(chance, 2)).collect();
    object.insert("rows".to_owned(), rows);
    Value::Object(object)
}

/// What patterns are for: lists of two, objects of one key or two, within each other.
fn row(chance: &mut Chance, depth: usize) -> Value {
    let inner = |chance: &mut Chance| {
        if depth > 0 && chance.one_in(3) { row(chance, depth - 1) } else { json!(chance.below(3)) }
    };
    match chance.below(4) {
        0 | 1 => json!([inner(chance), inner(chance)]),
        2 => json!({"a": inner(chance)}),
        _ => json!({"a": inner(chance), "b": inner(chance)}),
    }
}

fn number(chance: &mut Chance) -> Value {
    serde_json::from_str(chance.of(NUMBERS)).unwrap()
}

fn scalar(chance: &mut Chance) -> Value {
    match chance.below(8) {
        0 => Value::Null,
        1 => json!(chance.one_in(2)),
        2 | 3 => number(chance),
        4 => json!([chance.of(TEXTS), 1]),
        _ => json!(chance.of(TEXTS)),
    }
}

struct Writer {
    chance: Chance,
    v1: bool,
    /// Variables that have a value here.
    locals: Vec<(String, Kind)>,
    next: usize,
    /// Names of functions, of one argument.
    functions: Vec<String>,
    /// Names of rules that were written.
    rules: Vec<String>,
    /// Those that are partial sets.
    sets: Vec<String>,
}

impl Writer {
    fn module(&mut self) -> String {
        let mut text = "package p\n\n".to_owned();
        if !self.v1 {
            text.push_str("import future.keywords.in\nimport future.keywords.every\n\n");
        }
        for number in 0..1 + self.chance.below(2) {
            let name = format!("f{number}");
            text.push_str(&self.function(&name));
            self.functions.push(name);
        }
        for number in 0..2 + self.chance.below(3) {
            let name = format!("r{number}");
            text.push_str(&self.rule(&name));
            self.rules.push(name);
        }
        for name in self.rules.clone() {
            if self.v1 {
                text.push_str(&format!("main[\"{name}\"] := {name}\n"));
            } else {
                text.push_str(&format!("main[\"{name}\"] = value {{ value := {name} }}\n"));
            }
        }
        text
    }

    fn function(&mut self, name: &str) -> String {
        let mut text = String::new();
        if self.chance.one_in(4) {
            let value = self.constant(Any);
            text.push_str(&format!("default {name}(_) := {value}\n"));
        }
        let (head, value) = self.scoped(|this| {
            this.locals.push(("x".to_owned(), Any));
            let body = this.body(2);
            (body, this.term(Any, 1))
        });
        text.push_str(&format!("{name}(x) := {value} {}", self.block(&head)));
        if self.chance.one_in(3) {
            let (body, value) = self.scoped(|this| {
                this.locals.push(("x".to_owned(), Any));
                let body = this.body(1);
                (body, this.constant(Any))
            });
            text.push_str(&format!(" else := {value} {}", self.block(&body)));
        }
        text.push_str("\n\n");
        text
    }

    fn rule(&mut self, name: &str) -> String {
        let mut text = String::new();
        match self.chance.below(6) {
            0 | 1 => {
                for _ in 0..1 + self.chance.below(2) {
                    let (body, key) = self.scoped(|this| {
                        let body = this.body(3);
                        (body, this.term(Text, 1))
                    });
                    if self.v1 {
                        text.push_str(&format!("{name} contains {key} {}\n", self.block(&body)));
                    } else {
                        text.push_str(&format!("{name}[element] {{ {body}; element := {key} }}\n"));
                    }
                }
                self.sets.push(name.to_owned());
            }
            2 => {
                let (body, key, value) = self.scoped(|this| {
                    let body = this.body(2);
                    (body, this.term(Text, 1), this.term(Any, 1))
                });
                text.push_str(&format!("{name}[key] := {value} {}\n", self.block(&format!("{body}; key := {key}"))));
            }
            3 => {
                let value = self.constant(Any);
                text.push_str(&format!("default {name} := {value}\n"));
                let (body, value) = self.scoped(|this| (this.body(2), this.term(Any, 1)));
                text.push_str(&format!("{name} := {value} {}", self.block(&body)));
                if self.chance.one_in(2) {
                    let (body, value) = self.scoped(|this| (this.body(2), this.term(Any, 1)));
                    text.push_str(&format!(" else := {value} {}", self.block(&body)));
                }
                text.push('\n');
            }
            4 => {
                let value = self.scoped(|this| this.term(Any, 3));
                text.push_str(&format!("{name} := {value}\n"));
            }
            _ => {
                for _ in 0..1 + self.chance.below(2) {
                    let body = self.scoped(|this| this.body(3));
                    text.push_str(&format!("{name} {}\n", self.block(&body)));
                }
            }
        }
        text.push('\n');
        text
    }

    fn block(&self, body: &str) -> String {
        if self.v1 { format!("if {{ {body} }}") } else { format!("{{ {body} }}") }
    }

    /// What is bound inside isn't outside.
    fn scoped<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.locals.len();
        let written = write(self);
        self.locals.truncate(before);
        written
    }

    fn variable(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    fn body(&mut self, most: usize) -> String {
        let statements: Vec<String> = (0..1 + self.chance.below(most)).map(|_| self.statement(2)).collect();
        statements.join("; ")
    }

    /// A pattern of variables and numbers, for a row.
    fn pattern(&mut self, depth: usize) -> String {
        match self.chance.below(if depth > 0 { 7 } else { 5 }) {
            0 => "_".to_owned(),
            1 => self.chance.below(3).to_string(),
            2 if !self.locals.is_empty() => self.locals[self.chance.below(self.locals.len())].0.clone(),
            5 => format!("[{}, {}]", self.pattern(depth - 1), self.pattern(depth - 1)),
            6 if self.chance.one_in(2) => format!("{{\"a\": {}}}", self.pattern(depth - 1)),
            6 => format!("{{\"a\": {}, \"b\": {}}}", self.pattern(depth - 1), self.pattern(depth - 1)),
            _ => {
                let name = self.variable();
                self.locals.push((name.clone(), Any));
                name
            }
        }
    }

    /// A row, or a part of one, taken by a pattern.
    fn unified(&mut self) -> String {
        match self.chance.below(7) {
            0 => format!("input.rows[_] = {}", self.pattern(2)),
            1 => format!("{} = input.rows[_]", self.pattern(2)),
            2 => {
                let index = self.variable();
                self.locals.push((index.clone(), Any));
                format!("{} = input.rows[{index}]", self.pattern(2))
            }
            3 => {
                let (one, other) = (self.variable(), self.variable());
                self.locals.extend([(one.clone(), Any), (other.clone(), Any)]);
                format!("input.rows[{one}][{other}] = {}", self.pattern(1))
            }
            4 => {
                let name = self.variable();
                self.locals.push((name.clone(), Any));
                format!("{name} := input.rows[_]; {} = {name}", self.pattern(2))
            }
            5 if self.v1 => {
                let name = self.variable();
                let body = self.scoped(|this| {
                    this.locals.push((name.clone(), Any));
                    format!("{} = {name}; {}", this.pattern(1), this.condition(0))
                });
                format!("every {name} in input.rows {{ {body}; {name} == {name} }}")
            }
            _ => format!("[{}, {}] = [input.rows[_], input.rows[0]]", self.pattern(1), self.pattern(1)),
        }
    }

    fn statement(&mut self, depth: usize) -> String {
        match self.chance.below(18) {
            16 | 17 => self.unified(),
            0..=2 => {
                let kind = self.chance.of(&[Text, Number, List, Object, Any, Set, Texts]);
                let (value, name) = (self.term(kind, depth), self.variable());
                self.locals.push((name.clone(), kind));
                format!("{name} := {value}")
            }
            3 => {
                let (list, name) = (self.field(List), self.variable());
                self.locals.push((name.clone(), Any));
                format!("some {name} in {list}; {name} == {name}")
            }
            4 => {
                let (object, key, value) = (self.field(Object), self.variable(), self.variable());
                self.locals.extend([(key.clone(), Any), (value.clone(), Any)]);
                format!("some {key}, {value} in {object}; {key} == {key}; {value} == {value}")
            }
            5 => {
                let (list, name) = (self.field(List), self.variable());
                self.locals.push((name.clone(), Any));
                format!("{name} := {list}[_]")
            }
            6 => {
                let list = self.field(List);
                let name = self.variable();
                let body = self.scoped(|this| {
                    this.locals.push((name.clone(), Any));
                    this.statement(1)
                });
                format!("every {name} in {list} {{ {body}; {name} == {name} }}")
            }
            7 | 8 => format!("not {}", self.condition(depth)),
            9 => {
                let condition = self.condition(depth);
                let field = self.chance.of(FIELDS);
                let value = self.constant(Any);
                format!("{condition} with input.{field} as {value}")
            }
            10 => {
                let (object, value) = (self.field(Object), self.variable());
                self.locals.push((value.clone(), Any));
                if self.chance.one_in(2) {
                    format!("walk({object}, [_, {value}])")
                } else {
                    format!("[_, {value}] := walk({object})")
                }
            }
            _ => self.condition(depth),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.chance.below(8) {
            0..=2 => {
                let kind = self.chance.of(&[Text, Number, Integer, Texts]);
                let (left, right) = (self.term(kind, depth), self.term(kind, depth));
                let sign = self.chance.of(&["==", "!=", "<", "<=", ">", ">=", "=="]);
                format!("{left} {sign} {right}")
            }
            3 => {
                let (value, list) = (self.term(Any, 1), self.field(List));
                format!("{value} in {list}")
            }
            4 => self.reference(Any),
            5 if !self.sets.is_empty() => {
                let (set, text) = (self.sets[self.chance.below(self.sets.len())].clone(), self.term(Text, 1));
                format!("{set}[{text}]")
            }
            _ => self.call(Truth, depth),
        }
    }

    /// A term of a kind; sometimes of another one.
    fn term(&mut self, kind: Kind, depth: usize) -> String {
        if self.chance.one_in(20) {
            return format!("input.{}", self.chance.of(FIELDS));
        }
        if depth == 0 {
            return if self.chance.one_in(2) { self.constant(kind) } else { self.reference(kind) };
        }
        match self.chance.below(12) {
            0..=2 => self.constant(kind),
            3..=5 => self.reference(kind),
            6 if kind == Any && !self.functions.is_empty() => {
                let (function, argument) = (self.functions[0].clone(), self.term(Any, depth - 1));
                format!("{function}({argument})")
            }
            7 => self.made(kind, depth - 1),
            _ => self.call(kind, depth),
        }
    }

    /// A value that is made of others.
    fn made(&mut self, kind: Kind, depth: usize) -> String {
        match kind {
            List | Texts | Numbers => self.scoped(|this| {
                let body = this.statement(depth);
                format!(
                    "[{} | {body}]",
                    this.term(
                        if kind == Texts {
                            Text
                        } else if kind == Numbers {
                            Number
                        } else {
                            Any
                        },
                        depth
                    )
                )
            }),
            Set => self.scoped(|this| {
                let body = this.statement(depth);
                format!("{{{} | {body}}}", this.term(Text, depth))
            }),
            Object => self.scoped(|this| {
                let name = this.variable();
                let list = this.field(Texts);
                this.locals.push((name.clone(), Any));
                format!("{{{name}: {} | some {name} in {list}; is_string({name})}}", this.term(Any, depth))
            }),
            Number | Integer => {
                let (left, right) = (self.term(kind, depth), self.term(kind, depth));
                let sign = self.chance.of(&["+", "-", "*", "/", "%"]);
                format!("({left} {sign} {right})")
            }
            Text => {
                let format = self.chance.of(FORMATS);
                let arguments: Vec<String> = (0..1 + self.chance.below(2)).map(|_| self.term(Any, depth)).collect();
                format!("sprintf(\"{format}\", [{}])", arguments.join(", "))
            }
            Truth => self.condition(depth).replace(" with ", " == "),
            Any => self.constant(Any),
        }
    }

    fn call(&mut self, kind: Kind, depth: usize) -> String {
        let fits = |gives: Kind| gives == kind || kind == Any || (kind == Number && gives == Integer);
        let fitting: Vec<_> = BUILTINS.iter().filter(|(_, _, gives)| fits(*gives)).collect();
        if fitting.is_empty() {
            return self.constant(kind);
        }
        let (name, takes, _) = fitting[self.chance.below(fitting.len())];
        let arguments: Vec<String> = takes.iter().map(|kind| self.term(*kind, depth.saturating_sub(1))).collect();
        format!("{name}({})", arguments.join(", "))
    }

    fn reference(&mut self, kind: Kind) -> String {
        let fits = |of: Kind| of == Any || of == kind || kind == Any || (of == Integer && kind == Number);
        let locals: Vec<&String> = self.locals.iter().filter(|(_, kind)| fits(*kind)).map(|(name, _)| name).collect();
        if !locals.is_empty() && self.chance.one_in(2) {
            return locals[self.chance.below(locals.len())].clone();
        }
        if kind == Any && !self.rules.is_empty() && self.chance.one_in(8) {
            return self.rules[self.chance.below(self.rules.len())].clone();
        }
        self.field(kind)
    }

    /// Something of the input, whose types nobody knows.
    fn field(&mut self, kind: Kind) -> String {
        let field = match kind {
            List | Numbers => self.chance.of(&["list", "texts"]),
            Texts | Set => "texts",
            Object => self.chance.of(&["labels", "object"]),
            Number | Integer => "number",
            _ => self.chance.of(FIELDS),
        };
        match self.chance.below(6) {
            0 if kind == Any => format!("input.labels.{field}"),
            1 if kind == Any => format!("input.list[{}]", self.chance.below(3)),
            2 if kind == Text => format!("input.texts[{}]", self.chance.below(3)),
            3 if kind == Text => format!("input.labels[\"{}\"]", self.chance.of(FIELDS)),
            _ => format!("input.{field}"),
        }
    }

    fn constant(&mut self, kind: Kind) -> String {
        match kind {
            Text => json!(self.chance.of(TEXTS)).to_string(),
            Number => self.chance.of(NUMBERS).to_owned(),
            Integer => self.chance.of(INTEGERS).to_owned(),
            Truth => self.chance.of(&["true", "false"]).to_owned(),
            List => {
                let items: Vec<String> = (0..self.chance.below(4)).map(|_| self.constant(Any)).collect();
                format!("[{}]", items.join(", "))
            }
            Texts => {
                let items: Vec<String> = (0..self.chance.below(4)).map(|_| self.constant(Text)).collect();
                format!("[{}]", items.join(", "))
            }
            Numbers => {
                let items: Vec<String> = (0..self.chance.below(4)).map(|_| self.constant(Number)).collect();
                format!("[{}]", items.join(", "))
            }
            Set => {
                let items: Vec<String> = (0..1 + self.chance.below(3)).map(|_| self.constant(Text)).collect();
                format!("{{{}}}", items.join(", "))
            }
            Object => {
                let mut fields = Vec::new();
                for field in FIELDS {
                    if self.chance.one_in(4) {
                        fields.push(format!("\"{field}\": {}", self.constant(Text)));
                    }
                }
                format!("{{{}}}", fields.join(", "))
            }
            Any => {
                let kind = self.chance.of(&[Text, Text, Number, Truth, Integer]);
                if self.chance.one_in(10) { "null".to_owned() } else { self.constant(kind) }
            }
        }
    }
}
