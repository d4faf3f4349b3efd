//! Tests of all functions, by expressions.

use super::*;
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::parser::PrattParser;
use cel::{Env, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The syntax tree of an expression.
fn parse(expression: &str) -> IdedExpr {
    PrattParser::default().parse(expression).unwrap_or_else(|errors| panic!("{expression}: {errors}"))
}

/// Collects the functions that a tree calls, and its identifiers.
fn collect<'a>(tree: &'a IdedExpr, calls: &mut BTreeSet<&'a str>, names: &mut BTreeSet<&'a str>) {
    match &tree.expr {
        Expr::Unspecified | Expr::Literal(_) => {}
        Expr::Ident(name) => drop(names.insert(name)),
        Expr::Select(select) => collect(&select.operand, calls, names),
        Expr::Call(call) => {
            calls.insert(&call.func_name);
            call.target.iter().for_each(|target| collect(target, calls, names));
            call.args.iter().for_each(|argument| collect(argument, calls, names));
        }
        Expr::List(list) => list.elements.iter().for_each(|element| collect(element, calls, names)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    collect(&entry.key, calls, names);
                    collect(&entry.value, calls, names);
                }
            }
        }
        Expr::Struct(_) => {}
        Expr::Comprehension(all) => {
            for part in [&all.iter_range, &all.accu_init, &all.loop_cond, &all.loop_step, &all.result] {
                collect(part, calls, names);
            }
        }
    }
}

/// Evaluates an expression with the functions of this module, or tells why it can't.
fn evaluate(expression: &str) -> Result<Value, String> {
    let tree = parse(expression);
    let (mut calls, mut names) = (BTreeSet::new(), BTreeSet::new());
    collect(&tree, &mut calls, &mut names);
    let standard = calls.iter().any(|call| needs_standard_library(call));
    let mut context = if standard { Context::with_env(Arc::new(Env::stdlib())) } else { Context::empty() };
    for name in calls {
        add(&mut context, name);
    }
    for name in super::names().filter(|name| name.contains('.')) {
        add(&mut context, name);
    }
    for name in names {
        add_type_name(&mut context, name);
    }
    Value::resolve(&tree, &context).map_err(show)
}

/// An error as the policy shows it.
fn show(error: ExecutionError) -> String {
    match error {
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        other => other.to_string(),
    }
}

/// Checks rows. Each has an expression, and an expression of its value or, after `!`, the error.
fn check(rows: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for (expression, expected) in rows {
        let failure = match expected.strip_prefix('!') {
            Some(error) => match evaluate(expression) {
                Err(found) if found.contains(error) => None,
                other => Some(format!("{other:?}")),
            },
            // They are compared as Rust values too, since `==` in CEL takes an integer for a double.
            None => match (evaluate(expression), evaluate(expected)) {
                (Ok(left), Ok(right)) if format!("{left:?}") == format!("{right:?}") => None,
                (left, right) if evaluate(&format!("({expression}) == ({expected})")) != Ok(Value::Bool(true)) => {
                    Some(format!("{left:?}, not {right:?}"))
                }
                // Maps have no order, so they can't be compared as strings.
                (Ok(Value::Map(_)), Ok(_)) => None,
                (left, right) => Some(format!("{left:?}, not {right:?}")),
            },
        };
        failures.extend(failure.map(|found| format!("{expression}: {found} (expected {expected})")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn lists_as_sets() {
    check(&[
        ("sets.contains([1, 2, 3], [3, 1, 1])", "true"),
        ("sets.contains([1, 2, 3], [])", "true"),
        ("sets.contains([], [1])", "false"),
        ("sets.contains([1], [1.0, 1u])", "true"),
        ("sets.contains(['a', [1]], [[1]])", "true"),
        ("sets.equivalent([1, 2, 2], [2, 1])", "true"),
        ("sets.equivalent([1, 2], [1])", "false"),
        ("sets.equivalent([], [])", "true"),
        ("sets.intersects([1, 2], [2, 3])", "true"),
        ("sets.intersects([1], [2])", "false"),
        ("sets.intersects([], [])", "false"),
        ("sets.contains([1], 1)", "!contains: can't be called with `list, int`"),
        ("sets.contains([1])", "!can't be called with `list`"),
        ("[1].equivalent([1])", "!"),
    ]);
}

#[test]
fn addresses_and_networks() {
    check(&[
        ("string(ip('192.168.0.1'))", "'192.168.0.1'"),
        ("string(ip('2001:DB8:0::1'))", "'2001:db8::1'"),
        ("ip('::1') == ip('0:0::1')", "true"),
        ("ip('::1') == ip('::2')", "false"),
        ("isIP('1.2.3.4')", "true"),
        ("isIP('1.2.3.04')", "false"),
        ("isIP('1.2.3')", "false"),
        ("isIP('::ffff:1.2.3.4')", "false"),
        ("isIP('fe80::1%eth0')", "false"),
        ("isIP('')", "false"),
        ("ip('1.2.3')", "!ip: not an IP address: `1.2.3`"),
        ("ip.isCanonical('2001:db8::1')", "true"),
        ("ip.isCanonical('2001:DB8::1')", "false"),
        ("ip.isCanonical('x')", "!not an IP address"),
        ("[ip('1.2.3.4').family(), ip('::1').family()]", "[4, 6]"),
        (
            "[ip('0.0.0.0').isUnspecified(), ip('::').isUnspecified(), ip('1.1.1.1').isUnspecified()]",
            "[true, true, false]",
        ),
        ("[ip('127.0.0.9').isLoopback(), ip('::1').isLoopback(), ip('10.0.0.1').isLoopback()]", "[true, true, false]"),
        ("[ip('224.0.0.1').isLinkLocalMulticast(), ip('224.0.1.1').isLinkLocalMulticast()]", "[true, false]"),
        ("[ip('ff02::1').isLinkLocalMulticast(), ip('fd00::1').isLinkLocalMulticast()]", "[true, false]"),
        ("[ip('169.254.169.254').isLinkLocalUnicast(), ip('fe80::1').isLinkLocalUnicast()]", "[true, true]"),
        ("[ip('192.168.0.1').isGlobalUnicast(), ip('255.255.255.255').isGlobalUnicast()]", "[true, false]"),
        ("[ip('2001:db8::1').isGlobalUnicast(), ip('ff00::1').isGlobalUnicast()]", "[true, false]"),
        ("string(cidr('192.168.0.7/24'))", "'192.168.0.7/24'"),
        ("string(cidr('192.168.0.7/24').masked())", "'192.168.0.0/24'"),
        ("string(cidr('2001:db8:ffff::/33').masked())", "'2001:db8:8000::/33'"),
        ("string(cidr('1.2.3.4/0').masked())", "'0.0.0.0/0'"),
        ("cidr('192.168.0.7/24') == cidr('192.168.0.0/24')", "false"),
        (
            "[isCIDR('1.2.3.4/32'), isCIDR('1.2.3.4/33'), isCIDR('1.2.3.4'), isCIDR('1.2.3.4/08')]",
            "[true, false, false, false]",
        ),
        (
            "[isCIDR('1.2.3.4/+8'), isCIDR('1.2.3.4/'), isCIDR('::/128'), isCIDR('::ffff:1.2.3.4/120')]",
            "[false, false, true, false]",
        ),
        ("cidr('192.168.0.0/24').containsIP('192.168.0.255')", "true"),
        ("cidr('192.168.0.0/24').containsIP(ip('192.168.1.0'))", "false"),
        ("cidr('192.168.0.0/24').containsIP(ip('::1'))", "false"),
        ("cidr('0.0.0.0/0').containsIP('255.1.2.3')", "true"),
        ("cidr('192.168.0.0/24').containsIP('x')", "!not an IP address"),
        ("cidr('192.168.0.0/24').containsCIDR('192.168.0.128/25')", "true"),
        ("cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/23'))", "false"),
        ("cidr('192.168.0.0/24').containsCIDR('10.0.0.0/25')", "false"),
        ("cidr('192.168.0.0/24').prefixLength()", "24"),
        ("string(cidr('192.168.0.7/24').ip())", "'192.168.0.7'"),
        ("'1.2.3.4'.ip()", "!"),
        ("ip(cidr('1.2.3.4/8'))", "!"),
    ]);
}

#[test]
fn quantities() {
    check(&[
        (
            "[isQuantity('1.3G'), isQuantity('1.3Gi'), isQuantity('1,3G'), isQuantity('10000k'), isQuantity('200K')]",
            "[true, true, false, true, false]",
        ),
        (
            "[isQuantity(''), isQuantity('-'), isQuantity('.'), isQuantity('1e'), isQuantity('1e3'), isQuantity('1Ee')]",
            "[false, true, true, false, true, false]",
        ),
        ("quantity('150Mi') == quantity('0.146484375Gi')", "true"),
        ("quantity('1.5').compareTo(quantity('1500m'))", "0"),
        ("quantity('50M').isGreaterThan(quantity('50Mi'))", "false"),
        ("quantity('50M').isLessThan(quantity('100M'))", "true"),
        ("sign(quantity('-3'))", "-1"),
        ("sign(quantity('0'))", "0"),
        ("sign(quantity('1n'))", "1"),
        ("quantity('1').sign()", "!sign: can't be called on a value"),
        ("quantity('50k').asInteger()", "50000"),
        ("quantity('5Gi').asInteger()", "5368709120"),
        ("quantity('50703000').isInteger()", "true"),
        ("[quantity('9999999999999999999999999999999999999G'), 1]", "!out of range"),
        ("quantity('1.5Gi').isInteger()", "false"),
        ("quantity('1.0').isInteger()", "false"),
        (
            "[isQuantity('Ei'), isQuantity('-n'), quantity('-n').isInteger(), quantity('0E').isInteger()]",
            "[false, true, false, true]",
        ),
        ("quantity('50.703k').asInteger()", "50703"),
        ("quantity('50.7031k').asInteger()", "!the quantity is no integer"),
        ("quantity('50k').add(quantity('20')) == quantity('50020')", "true"),
        ("quantity('50k').add(20) == quantity('50020')", "true"),
        ("quantity('50k').sub(quantity('20k')).sub(20000) == quantity('10k')", "true"),
        ("quantity('0.5').asApproximateFloat()", "0.5"),
        ("quantity('1Ki').asApproximateFloat()", "1024.0"),
        ("quantity('0.0000000001').compareTo(quantity('1n'))", "0"),
        ("quantity('-0.0000000001').compareTo(quantity('-1n'))", "0"),
        ("quantity('100Ei').compareTo(quantity('9223372036854775807'))", "0"),
        ("quantity('x')", "!quantity: not a quantity: `x`"),
        ("quantity('1').add('1')", "!can't be called with"),
        ("quantity('9223372036854775807').add(1).isGreaterThan(quantity('9223372036854775807'))", "true"),
    ]);
}

#[test]
fn versions_by_their_precedence() {
    check(&[
        (
            "[isSemver('1.0.0'), isSemver('v1.0.0'), isSemver('1.0'), isSemver('01.0.0'), isSemver('1.0.0-a.1+b')]",
            "[true, false, false, false, true]",
        ),
        (
            "[isSemver('v1.0', true), isSemver('v01.00.1', true), isSemver('1.0-a', true), isSemver('x', true)]",
            "[true, true, false, false]",
        ),
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", "true"),
        ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", "true"),
        ("semver('1.0.0-2').isLessThan(semver('1.0.0-10'))", "true"),
        ("semver('1.0.0').isGreaterThan(semver('1.0.0'))", "false"),
        ("semver('1.0.0+a').compareTo(semver('1.0.0+b'))", "0"),
        ("semver('1.0.0+a') == semver('1.0.0+b')", "true"),
        ("[semver('1.2.3').major(), semver('1.2.3').minor(), semver('1.2.3').patch()]", "[1, 2, 3]"),
        ("semver('v2', true) == semver('2.0.0')", "true"),
        ("semver('1.0')", "!semver: not a semantic version: `1.0`"),
        ("semver('1.0.0').compareTo(quantity('1'))", "!can't be called with"),
        ("(1).compareTo(1)", "!can't be called with"),
    ]);
}

#[test]
fn names_are_sorted_and_known() {
    assert!(names().is_sorted() && TYPE_NAMES.is_sorted());
    assert!(names().all(|name| is_known(name) && !needs_standard_library(name)));
    for name in ["sets", "base64", "reverse", "", "Size", "all", "has", "getHours"] {
        assert!(!is_known(name), "{name}");
        assert!(!add(&mut Context::empty(), name), "{name}");
    }
    assert!(!add_type_name(&mut Context::empty(), "dyn"));
}

/// Standard functions of CEL, which the guide doesn't explain.
const STANDARD: [&str; 12] =
    ["bool", "bytes", "contains", "double", "dyn", "endsWith", "int", "size", "startsWith", "string", "type", "uint"];

#[test]
fn the_guide_names_every_function_that_is_not_standard() {
    let guide = include_str!("../../../../docs/verification.md");
    for name in names().filter(|name| !STANDARD.contains(name)) {
        assert!(guide.contains(&format!("`{name}`")), "docs/verification.md doesn't name `{name}`");
    }
}

#[test]
fn standard_functions() {
    check(&[
        ("size('')", "0"),
        ("size('πέντε')", "5"),
        ("'a😀'.size()", "2"),
        ("size(b'\\xff\\xfe')", "2"),
        ("size(bytes('é'))", "2"),
        ("[1, [2, 3]].size()", "2"),
        ("size({'a': 1})", "1"),
        ("size(1)", "!size: can't be called with `int`"),
        ("size(null)", "!size: can't be called with `null_type`"),
        ("size('a', 'b')", "!size: can't be called with `string, string`"),
        ("size()", "!size: can't be called with ``"),
        ("'abc'.contains('bc')", "true"),
        ("'abc'.contains('')", "true"),
        ("'abc'.contains('x')", "false"),
        ("[1].contains(1)", "!contains: can't be called with `list, int`"),
        ("'éa'.startsWith('é')", "true"),
        ("'éa'.endsWith('a')", "true"),
        ("'a'.startsWith(1)", "!startsWith: can't be called with `string, int`"),
        ("startsWith('a', 'a')", "!startsWith: must be called on a value"),
        ("'1'.int()", "!int: can't be called on a value"),
        ("type(1)", "int"),
        ("type([]) == list && type({}) == map && type(null) == null_type && type(1u) == uint", "true"),
        ("type(type('')) == type && type('') != bytes", "true"),
        ("type(url('/a')) == type(url('/b'))", "true"),
        ("[1].map(int, int + 1)", "[2]"),
        ("dyn([1])", "[1]"),
        ("dyn()", "!dyn: can't be called with ``"),
    ]);
}

#[test]
fn conversions() {
    check(&[
        ("int(1)", "1"),
        ("int(1u)", "1"),
        ("int(18446744073709551615u)", "!int: out of range: `18446744073709551615`"),
        ("int(-1.9)", "-1"),
        ("int(9223372036854774784.0)", "9223372036854774784"),
        ("int(9223372036854775808.0)", "!int: out of range"),
        ("int(-9223372036854775808.0)", "!int: out of range"),
        ("int(double('NaN'))", "!int: out of range: `NaN`"),
        ("int('-7')", "-7"),
        ("int('+7')", "7"),
        ("int('9223372036854775808')", "!int: not an int: `9223372036854775808`"),
        ("int(' 7')", "!int: not an int: ` 7`"),
        ("int('0x10')", "!int: not an int"),
        ("int('')", "!int: not an int: ``"),
        ("int(true)", "!int: can't be called with `bool`"),
        ("uint(7)", "7u"),
        ("uint(-1)", "!uint: out of range: `-1`"),
        ("uint(1.9)", "1u"),
        ("uint(-0.5)", "!uint: out of range: `-0.5`"),
        ("uint(18446744073709551616.0)", "!uint: out of range"),
        ("uint('7')", "7u"),
        ("uint('+7')", "!uint: not a uint: `+7`"),
        ("uint('-7')", "!uint: not a uint"),
        ("double(1)", "1.0"),
        ("double(1u)", "1.0"),
        ("double('1.5e3')", "1500.0"),
        ("double('Infinity')", "1.0 / 0.0"),
        ("double('1e999')", "!double: out of range: `1e999`"),
        ("double('x')", "!double: not a double: `x`"),
        ("string(double('-inf'))", "'-Inf'"),
        ("string(double('inf'))", "'+Inf'"),
        ("string(double('nan'))", "'NaN'"),
        ("string(1)", "'1'"),
        ("string(-1)", "'-1'"),
        ("string(1u)", "'1'"),
        ("string(1.0)", "'1'"),
        ("string(-0.0)", "'-0'"),
        ("string(123.456)", "'123.456'"),
        ("string(0.0001)", "'0.0001'"),
        ("string(0.00001)", "'1e-05'"),
        ("string(999999.0)", "'999999'"),
        ("string(1000000.0)", "'1e+06'"),
        ("string(123456789.0)", "'1.23456789e+08'"),
        ("string(1e100)", "'1e+100'"),
        ("string(true)", "'true'"),
        ("string('a')", "'a'"),
        ("string(b'\\xc3\\xa9')", "'é'"),
        ("string(b'\\xff')", "!string: the bytes aren't UTF-8"),
        ("string([1])", "!string: can't be called with `list`"),
        ("bool('T')", "true"),
        ("bool('False')", "false"),
        ("bool(true)", "true"),
        ("bool('yes')", "!bool: not a bool: `yes`"),
        ("bool(1)", "!bool: can't be called with `int`"),
        ("bytes('é')", "b'\\xc3\\xa9'"),
        ("bytes(b'a')", "b'a'"),
        ("bytes(1)", "!bytes: can't be called with `int`"),
    ]);
}

#[test]
fn functions_on_texts() {
    check(&[
        ("'aéb'.charAt(1)", "'é'"),
        ("'aéb'.charAt(3)", "''"),
        ("'aéb'.charAt(4)", "!charAt: the position `4` is outside `aéb`"),
        ("'aéb'.charAt(-1)", "!charAt: the position `-1` is outside"),
        ("'aéb'.charAt(9223372036854775807)", "!charAt: the position"),
        ("''.charAt(0)", "''"),
        ("'tacocat'.substring(4)", "'cat'"),
        ("'tacocat'.substring(0, 4)", "'taco'"),
        ("'aéb'.substring(1, 2)", "'é'"),
        ("'aaa'.substring(1, 2)", "'a'"),
        ("'abc'.substring(3)", "''"),
        ("'abc'.substring(2, 2)", "''"),
        ("'abc'.substring(-1)", "!substring: the position `-1` is outside `abc`"),
        ("'abc'.substring(0, 4)", "!substring: the position `4` is outside `abc`"),
        ("'abc'.substring(2, 1)", "!substring: the start `2` is after the end `1`"),
        ("'abc'.substring('a')", "!substring: can't be called with `string, string`"),
        ("'hello mellow'.indexOf('')", "0"),
        ("'hello mellow'.indexOf('ello')", "1"),
        ("'hello mellow'.indexOf('jello')", "-1"),
        ("'hello mellow'.indexOf('', 2)", "2"),
        ("'hello mellow'.indexOf('ello', 2)", "7"),
        ("'hello mellow'.indexOf('ello', 20)", "!indexOf: the position `20` is outside"),
        ("'ééa'.indexOf('a')", "2"),
        ("'ééa'.indexOf('é', 1)", "1"),
        ("'abc'.indexOf('c', -1)", "!indexOf: the position `-1`"),
        ("'abc'.indexOf('c', 3)", "!indexOf: the position `3`"),
        ("'abc'.indexOf('', 20)", "3"),
        ("''.indexOf('a')", "-1"),
        ("'hello mellow'.lastIndexOf('')", "12"),
        ("'hello mellow'.lastIndexOf('ello')", "7"),
        ("'hello mellow'.lastIndexOf('jello')", "-1"),
        ("'hello mellow'.lastIndexOf('ello', 6)", "1"),
        ("'hello mellow'.lastIndexOf('ello', 7)", "7"),
        ("'hello mellow'.lastIndexOf('ello', -1)", "!lastIndexOf: the position `-1`"),
        ("'éaé'.lastIndexOf('é')", "2"),
        ("'éaé'.lastIndexOf('é', 1)", "0"),
        ("'aé😀'.lastIndexOf('a', 0)", "0"),
        ("'aé😀'.lastIndexOf('aé😀', 2)", "0"),
        ("'abc'.lastIndexOf('', 1)", "1"),
        ("'abc'.lastIndexOf('', 20)", "3"),
        ("'abc'.lastIndexOf('abcd', 2)", "-1"),
        ("['a', 'b'].join()", "'ab'"),
        ("['a', 'b', ''].join('é')", "'aébé'"),
        ("[].join('/')", "''"),
        ("['a', 1].join()", "!join: an element isn't a string but `int`"),
        ("'a'.join()", "!join: can't be called with `string`"),
        ("['a'].join(1)", "!join: can't be called with `list, int`"),
        ("'TacoCÆt Xii'.lowerAscii()", "'tacocÆt xii'"),
        ("'TacoCæt Xii'.upperAscii()", "'TACOCæT XII'"),
        ("'hello hello'.replace('he', 'we')", "'wello wello'"),
        ("'hello hello'.replace('he', 'we', -1)", "'wello wello'"),
        ("'hello hello'.replace('he', 'we', 1)", "'wello hello'"),
        ("'hello hello'.replace('he', 'we', 0)", "'hello hello'"),
        ("'éb'.replace('', '-')", "'-é-b-'"),
        ("'éb'.replace('', '-', 2)", "'-é-b'"),
        ("'a'.replace('a')", "!replace: can't be called with `string, string`"),
        ("'a b c'.split(' ')", "['a', 'b', 'c']"),
        ("'a b c'.split(' ', 0)", "[]"),
        ("'a b c'.split(' ', 1)", "['a b c']"),
        ("'a b c'.split(' ', 2)", "['a', 'b c']"),
        ("'a b c'.split(' ', -1)", "['a', 'b', 'c']"),
        ("'aéb'.split('')", "['a', 'é', 'b']"),
        ("'aéb'.split('', 2)", "['a', 'éb']"),
        ("'aéb'.split('', 3)", "['a', 'é', 'b']"),
        ("'aéb'.split('', 0)", "[]"),
        ("''.split('')", "[]"),
        ("''.split(',')", "['']"),
        ("','.split(',')", "['', '']"),
        ("'  \\ttrim\\n\\u00a0\\u2003'.trim()", "'trim'"),
        ("'\\u200b'.trim()", "'\\u200b'"),
        ("1.trim()", "!trim: can't be called with `int`"),
    ]);
}

#[test]
fn functions_on_lists() {
    check(&[
        ("[1, 2, 3].isSorted()", "true"),
        ("['a', 'b', 'b', 'c'].isSorted()", "true"),
        ("[2.0, 1.0].isSorted()", "false"),
        ("[].isSorted()", "true"),
        ("[true, false].isSorted()", "false"),
        ("[b'a', b'b'].isSorted()", "true"),
        ("[[1]].isSorted()", "!isSorted: elements can't be compared: `list` and `list`"),
        ("[1, 'a'].isSorted()", "!isSorted: elements can't be compared: `int` and `string`"),
        ("'ab'.isSorted()", "!isSorted: can't be called with `string`"),
        ("{'a': 1}.isSorted()", "!isSorted: can't be called with `map`"),
        ("[1, 3].sum()", "4"),
        ("[1.0, 3.0].sum()", "4.0"),
        ("[1u, 3u].sum()", "4u"),
        ("[].sum()", "0"),
        ("[duration('1m'), duration('1s')].sum()", "duration('61s')"),
        ("[9223372036854775807, 1].sum()", "!sum: the sum is out of range"),
        ("['a', 'b'].sum()", "!sum: an element can't be summed: `string`"),
        ("[1, 1.0].sum()", "!sum: an element can't be summed: `double`"),
        ("[3, 1, 2].min()", "1"),
        ("[3, 1, 2].max()", "3"),
        ("['b', 'a'].min()", "'a'"),
        ("[1, 1.0].max()", "1"),
        ("[1].min()", "1"),
        ("[].min()", "!min: the list is empty"),
        ("[].max()", "!max: the list is empty"),
        ("[null].max()", "!max: elements can't be compared: `null_type` and `null_type`"),
        ("[1, double('NaN')].max()", "!max: elements can't be compared"),
        ("[1, 2, 2, 3].indexOf(2)", "1"),
        ("['a', 'b', 'b', 'c'].lastIndexOf('b')", "2"),
        ("[1.0].indexOf(1.1)", "-1"),
        ("[1].indexOf(1.0)", "0"),
        ("[].indexOf('string')", "-1"),
        ("[[1]].lastIndexOf([1])", "0"),
        ("[1].indexOf(1, 0)", "!indexOf: can't be called with `list, int, int`"),
    ]);
}

#[test]
fn functions_with_regular_expressions() {
    check(&[
        ("'abc 123'.find('[0-9]+')", "'123'"),
        ("'abc 123'.find('xyz')", "''"),
        ("'123 abc 456'.findAll('[0-9]+')", "['123', '456']"),
        ("'123 abc 456'.findAll('[0-9]+', 1)", "['123']"),
        ("'123 abc 456'.findAll('[0-9]+', 0)", "[]"),
        ("'123 abc 456'.findAll('[0-9]+', -1)", "['123', '456']"),
        ("'123 abc'.findAll('xyz')", "[]"),
        ("'1é2'.findAll('[0-9]*')", "['1', '2']"),
        ("'12a'.findAll('[0-9]*')", "['12', '']"),
        ("matches('hubba', 'ubb')", "true"),
        ("'hubba'.matches('^ubb')", "false"),
        ("''.matches('')", "true"),
        // Some classes match ASCII only, others code points.
        (r"'aé1_'.findAll(r'\w')", "['a', '1', '_']"),
        (r"'aé1_'.findAll(r'\W')", "['é']"),
        (r"'٣3'.findAll(r'\d')", "['3']"),
        (r"'٣3'.findAll(r'\D')", "['٣']"),
        (r"'a\u00a0 b'.findAll(r'\s')", "[' ']"),
        (r"'\u000b'.matches(r'\s')", "false"),
        (r"'a b'.findAll(r'\S')", "['a', 'b']"),
        (r"'é'.matches('^.$')", "true"),
        (r"'é'.matches('^[^a]$')", "true"),
        (r"'é'.matches('^é+$')", "true"),
        (r"'é'.matches('^[é-ü]$')", "true"),
        (r"'é'.matches(r'^\xe9$')", "true"),
        (r"'é'.matches(r'^\x{e9}$')", "true"),
        (r"'é'.matches(r'^[\x{e0}-\x{ef}]$')", "true"),
        (r"'a\nb'.matches('a.b')", "false"),
        (r"'a\nb'.matches('(?s)a.b')", "true"),
        (r"'NGINX:Latest'.matches('(?i)nginx:latest')", "true"),
        (r"'a/NGINX'.matches('(?i)^[^/]+/nginx$')", "true"),
        (r"'X'.matches('(?i)[x-z]')", "true"),
        (r"'foo bar'.find(r'\bbar\b')", "'bar'"),
        (r"'a-b.c'.matches(r'^[\w.-]+$')", "true"),
        (r"'a-b.c'.matches(r'^[\w-.]+$')", "true"),
        (r"'1b'.find(r'[\D]')", "'b'"),
        (r"'a]b'.find('[]]')", "']'"),
        (r"'a]b'.find('[^]]')", "'a'"),
        (r"'[&&'.findAll('[[&&~]')", "['[', '&', '&']"),
        (r"'ab1'.find('[[:digit:]]')", "'1'"),
        (r"'a.b'.find(r'\Q.b\E$')", "'.b'"),
        (r"'ab'.matches('^(?P<x>a)(?:b|c){1,2}$')", "true"),
        (r"'a'.matches(r'\.')", "false"),
        ("'a'.matches('(')", "!matches: not a regular expression: `(`: unclosed group"),
        ("'a'.matches('[a')", "!matches: not a regular expression: `[a`: missing `]`"),
        (r"'a'.matches(r'\pL')", "!matches: not a regular expression"),
        (r"'a'.matches(r'(a)\1')", "!matches: not a regular expression"),
        ("'a'.matches('a(?=b)')", "!matches: not a regular expression"),
        ("'a'.matches('[a--b]')", "!matches: not a regular expression: `[a--b]`: `--` in a class"),
        ("'a'.matches('((a{1,100}){1,100}){1,100}')", "!: it is too large"),
        ("'a'.matches(1)", "!matches: can't be called with `string, int`"),
        ("'a'.findAll('a', 'b')", "!findAll: can't be called with `string, string, string`"),
    ]);
    let long = |length| format!("'a'.matches('{}')", "a".repeat(length));
    assert_eq!(evaluate(&long(1_024)), Ok(Value::Bool(false)));
    assert!(evaluate(&long(1_025)).unwrap_err().ends_with("the pattern is longer than 1,024 bytes"));
    let long = |length| format!("'{}'.matches('^a')", "a".repeat(length));
    assert_eq!(evaluate(&long(super::regex::MAX_SEARCHED)), Ok(Value::Bool(true)));
    assert!(evaluate(&long(super::regex::MAX_SEARCHED + 1)).unwrap_err().ends_with("the text is longer than 8 KiB"));
}

#[test]
fn functions_on_urls() {
    check(&[
        ("isURL('https://user:pass@example.com:80/path?query=val#fragment')", "true"),
        ("isURL('/absolute-path')", "true"),
        ("isURL('https://a:b:c/')", "false"),
        ("isURL('../relative-path')", "false"),
        ("isURL('')", "false"),
        ("isURL('*')", "true"),
        ("isURL('mailto:a@example.com')", "true"),
        ("isURL(':a')", "false"),
        ("isURL('1http://a')", "false"),
        ("isURL('/a\\nb')", "false"),
        ("isURL('/a%zz')", "false"),
        ("isURL('/a%4')", "false"),
        ("isURL('https://a b/')", "false"),
        ("isURL('https://a%20b/')", "false"),
        ("isURL('https://é/')", "true"),
        ("isURL('https://[::1/')", "false"),
        ("isURL('https://[::1]a/')", "false"),
        ("isURL('https://[fe80::1%25en0]/')", "true"),
        ("isURL('https://us er@a/')", "false"),
        ("isURL(1)", "!isURL: can't be called with `int`"),
        ("url('../relative-path')", "!url: not a URL: `../relative-path`: it is neither absolute nor an absolute path"),
        ("url('/path').getScheme()", "''"),
        ("url('HTTPS://example.com/').getScheme()", "'https'"),
        ("url('https://example.com:80/').getHost()", "'example.com:80'"),
        ("url('https://example.com/').getHost()", "'example.com'"),
        ("url('https://[::1]:80/').getHost()", "'[::1]:80'"),
        ("url('https://[::1]/').getHost()", "'[::1]'"),
        ("url('/path').getHost()", "''"),
        ("url('//example.com/path').getHost()", "'example.com'"),
        ("url('https://user@example.com@h/').getHost()", "'h'"),
        ("url('https://%c3%a9/').getHost()", "'é'"),
        ("url('https://example.com:80/').getHostname()", "'example.com'"),
        ("url('https://127.0.0.1:80/').getHostname()", "'127.0.0.1'"),
        ("url('https://[::1]:80/').getHostname()", "'::1'"),
        ("url('https://[::1]/').getHostname()", "'::1'"),
        ("url('https://[fe80::1%25en0]:1/').getHostname()", "'fe80::1%en0'"),
        ("url('/path').getHostname()", "''"),
        ("url('https://example.com:80/').getPort()", "'80'"),
        ("url('https://example.com:/').getPort()", "''"),
        ("url('https://example.com/').getPort()", "''"),
        ("url('https://[::1]/').getPort()", "''"),
        ("url('/path').getPort()", "''"),
        ("url('https://example.com/path').getEscapedPath()", "'/path'"),
        ("url('https://example.com/path with spaces/').getEscapedPath()", "'/path%20with%20spaces/'"),
        ("url('https://example.com/a%2fb!').getEscapedPath()", "'/a%2fb!'"),
        ("url('/é').getEscapedPath()", "'/%C3%A9'"),
        ("url('https://example.com').getEscapedPath()", "''"),
        ("url('/a#b').getEscapedPath()", "'/a'"),
        ("url('https://example.com/path?k1=a&k2=b&k2=c').getQuery()", "{'k1': ['a'], 'k2': ['b', 'c']}"),
        (
            "url('https://example.com/path?key with spaces=value with spaces').getQuery()",
            "{'key with spaces': ['value with spaces']}",
        ),
        ("url('/?a=b+c%21&d&=e&f;g&h=%zz').getQuery()", "{'a': ['b c!'], 'd': [''], '': ['e']}"),
        ("url('https://example.com/path?').getQuery()", "{}"),
        ("url('https://example.com/path').getQuery()", "{}"),
        ("url('https://example.com/a') == url('HTTPS://example.com/a')", "true"),
        ("url('https://example.com/a') == url('https://example.com/b')", "false"),
        ("url('/a') == '/a'", "false"),
        ("[url('/a')].indexOf(url('/a'))", "0"),
        ("'/a'.getHost()", "!getHost: can't be called with `string`"),
        ("url('/a').getHost('b')", "!getHost: can't be called with `kubernetes.URL, string`"),
    ]);
}

#[test]
fn what_would_be_too_much_fails() {
    let text = "a".repeat(2_000);
    let bounded = format!("'{text}'.replace('a', '{}')", "b".repeat(524));
    assert!(evaluate(&bounded).is_ok());
    let replaced = format!("'{text}'.replace('a', '{}')", "b".repeat(525));
    assert_eq!(evaluate(&replaced), Err("replace: the text would be longer than 1 MiB".to_owned()));
    let joined = format!("[1, 1, 1, 1].map(i, '{}').join()", "a".repeat(MAX_TEXT / 4));
    assert!(evaluate(&joined).is_ok());
    let joined = format!("[1, 1, 1, 1].map(i, '{}').join('a')", "a".repeat(MAX_TEXT / 4));
    assert_eq!(evaluate(&joined), Err("join: the text would be longer than 1 MiB".to_owned()));
    let split = |length| format!("'{}'.split('').size()", "a".repeat(length));
    assert_eq!(evaluate(&split(MAX_ELEMENTS)), Ok(Value::Int(100_000)));
    let expected = "split: the list would have more than 100,000 elements".to_owned();
    assert_eq!(evaluate(&split(MAX_ELEMENTS + 1)), Err(expected));
    let query = format!("url('/?{}').getQuery()", "a&".repeat(MAX_ELEMENTS + 1));
    assert_eq!(evaluate(&query), Err("getQuery: the query would have more than 100,000 values".to_owned()));
    let path = format!("url('/{}').getEscapedPath()", " ".repeat(MAX_TEXT / 2));
    assert_eq!(evaluate(&path), Err("getEscapedPath: the text would be longer than 1 MiB".to_owned()));
    let shown = evaluate(&format!("int('{}')", "é".repeat(500))).unwrap_err();
    assert_eq!(shown, format!("int: not an int: `{}…`", "é".repeat(100)));
}

#[test]
fn the_tables_win_where_they_know_a_name() {
    let mut context = Context::with_env(Arc::new(Env::stdlib()));
    assert!(names().all(|name| add(&mut context, name)));
    assert!(TYPE_NAMES.iter().all(|name| add_type_name(&mut context, name)));
    // The crate's own words for the error show whose `size` it is.
    let answer = |expression: &str| Value::resolve(&parse(expression), &context).map_err(show);
    assert!(answer("size(1)").unwrap_err().contains("no matching overload"));
    check(&[
        ("timestamp('2024-02-29T01:02:03Z').getFullYear()", "2024"),
        ("string(timestamp('2024-02-29T01:02:03Z')).substring(0, 4)", "'2024'"),
        ("duration('90s') > duration('1m') && 'ab'.matches('a.')", "true"),
        ("duration('90m').getHours() == 1", "true"),
        ("optional.of('a').orValue('b').size() == 1", "true"),
        ("optional.none().hasValue()", "false"),
    ]);
}

/// The crate's own answer, with its standard functions and its extensions.
fn answer_of_the_crate(expression: &str) -> Result<Value, String> {
    let mut env = Env::stdlib();
    env.add_extension(cel::extensions::strings).unwrap();
    env.add_extension(cel::extensions::lists).unwrap();
    Value::resolve(&parse(expression), &Context::with_env(Arc::new(env))).map_err(show)
}

/// Whether both answer with the same value, or both with an error.
fn is_same(expression: &str) -> bool {
    match (evaluate(expression), answer_of_the_crate(expression)) {
        (Ok(left), Ok(right)) => format!("{left:?}") == format!("{right:?}"),
        (left, right) => left.is_err() && right.is_err(),
    }
}

#[test]
fn same_answers_as_the_crate() {
    let texts =
        ["''", "'a'", "'hello mellow'", "'aéb😀é'", "' \\t x\\u2003'", "'1'", "'-1'", "'1.5'", "'true'", "'a,b,,c'"];
    let parts = ["''", "'a'", "'ello'", "'é'", "','", "'😀é'"];
    let numbers = ["-1", "0", "1", "2", "5", "100"];
    let mut expressions = Vec::new();
    for text in texts {
        for name in ["size", "int", "uint", "double", "string", "bool", "bytes", "dyn", "type"] {
            expressions.push(format!("{name}({text})"));
        }
        for name in ["lowerAscii", "upperAscii", "trim", "size"] {
            expressions.push(format!("{text}.{name}()"));
        }
        for part in parts {
            for name in ["contains", "startsWith", "endsWith", "indexOf", "lastIndexOf", "split"] {
                expressions.push(format!("{text}.{name}({part})"));
            }
            expressions.push(format!("{text}.replace({part}, 'é')"));
            expressions.push(format!("[{text}, {part}].join({part})"));
            for number in numbers {
                for name in ["indexOf", "lastIndexOf", "split"] {
                    expressions.push(format!("{text}.{name}({part}, {number})"));
                }
                expressions.push(format!("{text}.replace({part}, 'é', {number})"));
            }
        }
        for number in numbers {
            expressions.push(format!("{text}.charAt({number})"));
            expressions.push(format!("{text}.substring({number})"));
            expressions.extend(numbers.map(|end| format!("{text}.substring({number}, {end})")));
        }
    }
    let values = "0 -1 1u 1.5 -1.5 1e15 9.3e18 -9.3e18 2e19 9223372036854775807 18446744073709551615u true null b'a' \
        b'\\xff' [] [1] {} {'a':1}";
    for value in values.split(' ') {
        for name in ["size", "int", "uint", "double", "bool", "bytes", "dyn", "type"] {
            expressions.push(format!("{name}({value})"));
        }
        for name in ["size", "trim", "join", "startsWith", "int"] {
            expressions.push(format!("{value}.{name}()"));
        }
        // Differs for large doubles, see below.
        if value != "1e15" && !value.contains("e1") {
            expressions.push(format!("string({value})"));
        }
    }
    assert!(expressions.len() > 2_000, "{}", expressions.len());
    let different: Vec<_> = expressions.iter().filter(|expression| !is_same(expression)).collect();
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
fn deliberate_differences_from_the_crate() {
    for (expression, _reason) in [
        ("uint('+1')", "Go's ParseUint takes no sign"),
        ("double('1e999')", "Go's ParseFloat refuses what is out of range, the crate answers with infinity"),
        ("bool('T')", "Go's ParseBool takes the word"),
        ("bool('F')", "Go's ParseBool takes the word"),
        ("string(1000000.0)", "Go's `%g` writes 1e+06"),
        ("string(0.00001)", "Go's `%g` writes 1e-05"),
        ("string(double('inf'))", "Go writes +Inf"),
        ("'a'.matches('a')", "the crate has it only with its feature regex, which brings the large tables"),
    ] {
        assert!(!is_same(expression), "{expression}");
    }
}

/// The result of cel-go's `format` for each case, and where ours differs.
const FORMAT_CASES: &str = include_str!("../../../../e2e-tests/cel-format/cases.json");

#[test]
fn texts_are_formatted_as_by_cel_go() {
    let cases: Vec<serde_json::Value> = serde_json::from_str(FORMAT_CASES).unwrap();
    assert!(cases.len() >= 200, "{}", cases.len());
    let text = |case: &serde_json::Value, key: &str| case.get(key).and_then(|text| text.as_str()).map(str::to_owned);
    let mut failures = Vec::new();
    for case in &cases {
        let expression = text(case, "expression").unwrap();
        let expected = text(case, "here").or_else(|| text(case, "text"));
        let expected = expected.filter(|text| text != "error" || case.get("here").is_none());
        assert_eq!(case.get("here").is_some(), case.get("why").is_some(), "{expression}");
        let found = match evaluate(&expression) {
            Ok(Value::String(text)) => Ok(text.to_string()),
            Ok(other) => Err(format!("it gives {other:?}")),
            Err(why) => Err(why),
        };
        let why = text(case, "error").filter(|why| !why.starts_with("no such overload"));
        let is_as_there = match (&found, &expected) {
            (Ok(found), Some(expected)) => found == expected,
            // The error texts are cel-go's too, except those that come from Go.
            (Err(found), None) => {
                let own = found.split_once(": ").map_or("", |(_, own)| own);
                case.get("here").is_some()
                    || why
                        .is_none_or(|why| why == own || ["strconv", "invalid UTF-8"].iter().any(|go| why.contains(go)))
            }
            _ => false,
        };
        if !is_as_there {
            failures.push(format!("{expression}: {found:?}, not {expected:?} {why:?}", why = case.get("error")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_is_formatted_is_bounded() {
    check(&[
        ("'%s'.format([['a', ['b']]]).size()", "12"),
        ("'%.1001f'.format([1.0])", "!more than 1000 digits can't be asked for"),
        ("'%.1000e'.format([1.0]).size()", "1000"),
    ]);
    let long = format!("'{}'", "a".repeat(1 << 19));
    assert!(is_bound(
        evaluate(&format!("'%s%s%s'.format([{long}, {long}, {long}])")).unwrap_err().rsplit(": ").next().unwrap()
    ));
    assert!(evaluate(&format!("'%s%s'.format([{long}, {long}])")).is_ok());
    assert!(is_bound(evaluate(&format!("'%x%x'.format([{long}, {long}])")).unwrap_err().rsplit(": ").next().unwrap()));
    let deep = (0..90).fold("1".to_owned(), |inner, _| format!("[{inner}]"));
    assert!(evaluate(&format!("'%s'.format([{deep}])")).is_ok());
}

#[test]
fn times_and_spans() {
    check(&[
        ("timestamp('2026-01-01T00:00:00Z') < timestamp('2026-01-01T00:00:01Z')", "true"),
        ("timestamp('2026-04-01T00:00:00Z') - duration('2160h') == timestamp('2026-01-01T00:00:00Z')", "true"),
        ("timestamp('2026-04-01T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('2160h')", "true"),
        ("timestamp(0) == timestamp('1970-01-01T00:00:00Z')", "true"),
        ("timestamp(timestamp(0)) == timestamp(0) && duration(duration('1s')) == duration('1s')", "true"),
        ("string(timestamp('2023-02-03T23:31:20.120+02:00'))", "'2023-02-03T21:31:20.12Z'"),
        ("string(duration('1h1.5s'))", "'3601.5s'"),
        ("int(timestamp('1969-12-31T23:59:59.500Z'))", "-1"),
        (
            "[duration('0'), duration('+1m') , duration('-1.5h')] == [duration('0s'), duration('60s'), duration('-90m')]",
            "true",
        ),
        ("duration('1us') + duration('1ns') == duration('1.001us') && duration('1µs') == duration('1000ns')", "true"),
        ("timestamp('2026-01-01')", "!timestamp: not a time as in RFC 3339: `2026-01-01`"),
        ("timestamp('')", "!not a time"),
        ("timestamp('0000-01-01T00:00:00Z')", "!not a time"),
        ("timestamp(253402300800)", "!timestamp out of range"),
        ("timestamp(null)", "!can't be called with `null_type`"),
        ("duration('90d')", "!duration: not a duration: `90d`"),
        ("duration('')", "!not a duration"),
        ("duration('1')", "!not a duration"),
        ("duration('h')", "!not a duration"),
        ("duration('1h ')", "!not a duration"),
        ("duration('1.2.3h')", "!not a duration"),
        ("duration('--1h')", "!not a duration"),
        ("duration('9999999h')", "!not a duration"),
        ("duration(1)", "!can't be called with `int`"),
        ("timestamp('2026-01-01T00:00:00Z') - duration('9000h') < timestamp('2025-01-01T00:00:00Z')", "true"),
    ]);
    // As in the crate's own tables, which are used where a timestamp's parts are read.
    for text in ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+01:00", "2026-01-01", "x", "0001-01-01T00:00:00+01:00"]
    {
        assert!(is_same(&format!("timestamp('{text}')")), "{text}");
        assert!(is_same(&format!("string(timestamp('{text}'))")), "{text}");
    }
    for text in ["0", "1h", "1h30m", "-1.5h", "1ms", "1us", "1ns", "", "1", "x", "1.5s2.5ms"] {
        assert!(is_same(&format!("duration('{text}')")), "{text}");
        assert!(is_same(&format!("string(duration('{text}'))")), "{text}");
    }
}
