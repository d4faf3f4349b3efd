//! The engine's own builtin, which a guard stands in front of.

use regorus::Value;
use regorus::unstable::{Builtin, Expr, Ref, Source, Span};

/// The builtin behind a guard. It is made at the first call.
#[derive(Clone)]
pub(super) struct Original {
    builtin: &'static Builtin,
    /// What it takes besides its arguments: its place, for errors that are never shown.
    span: Span,
    params: Vec<Ref<Expr>>,
}

impl Original {
    /// The original of this name.
    ///
    /// # Errors
    /// The engine has no builtin of this name.
    pub(super) fn of(name: &str) -> anyhow::Result<Self> {
        let builtin = Builtin::named(name).ok_or_else(|| anyhow::anyhow!("there is no builtin `{name}`"))?;
        let source = Source::from_contents(String::new(), " ".to_owned())?;
        let span = Span { source, line: 1, col: 1, start: 0, end: 1 };
        let param = || Ref::new(Expr::Null { span: span.clone(), value: Value::Null, eidx: 0 });
        let params = std::iter::repeat_with(param).take(5).collect();
        Ok(Self { builtin, span, params })
    }

    /// Its answer, without any bounds.
    ///
    /// # Errors
    /// The arguments aren't what it takes.
    pub(super) fn call(&self, args: &[Value]) -> anyhow::Result<Value> {
        self.builtin.call(&self.span, &self.params, args, false)
    }
}
