"""Expressions whose types the checker of Kubernetes is asked about: generate.py <number> <seed>."""
import json, random, sys

ATOMS = [
    "1", "2u", "1.5", "'a'", "b'a'", "true", "null", "[1]", "['a']", "[]", "[1.5, 2.5]", "{'a': 1}", "{}", "{1: ['a']}",
    "now", "duration('1h')", "object.x", "images.all", "images", "attestors.a", "ref", "type(1)", "quantity('1')",
    "semver('1.0.0')", "url('https://a.b/c')", "ip('10.0.0.1')", "cidr('10.0.0.0/8')", "[now]", "[[1]]", "size('a')",
    "scanReport('a')", "imageConfigs('a')", "isImage('a')", "verifyImageSignatures('a', [attestors.a])",
]
BINARY = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "in", "&&", "||"]
MEMBERS = {
    "startsWith": 1, "endsWith": 1, "contains": 1, "matches": 1, "size": 0, "charAt": 1, "indexOf": 1, "join": 1,
    "split": 1, "substring": 2, "replace": 2, "lowerAscii": 0, "trim": 0, "find": 1, "findAll": 1, "sum": 0, "min": 0,
    "max": 0, "isSorted": 0, "format": 1, "isGreaterThan": 1, "compareTo": 1, "add": 1, "sub": 1, "asInteger": 0,
    "isInteger": 0, "major": 0, "getHost": 0, "getPort": 0, "getQuery": 0, "family": 0, "isLoopback": 0, "ip": 0, "containsIP": 1,
    "containsCIDR": 1, "prefixLength": 0, "masked": 0, "lastIndexOf": 1, "upperAscii": 0,
}
GLOBALS = {
    "size": 1, "int": 1, "uint": 1, "double": 1, "string": 1, "bool": 1, "bytes": 1, "type": 1, "dyn": 1, "timestamp": 1,
    "duration": 1, "matches": 2, "sets.contains": 2, "sets.intersects": 2, "isURL": 1, "url": 1, "quantity": 1, "isQuantity": 1,
    "semver": 1, "isSemver": 1, "ip": 1, "isIP": 1, "cidr": 1, "isCIDR": 1, "ip.isCanonical": 1, "startsWith": 2,
    "sign": 1, "verifyImageSignatures": 2, "verifyAttestationSignatures": 3, "payload": 2,
}
MACROS = ["all", "exists", "exists_one", "filter", "map"]


def expression(depth, names=()):
    if depth == 0:
        return random.choice(list(names) * 4 + ATOMS)
    inner = lambda names=names: expression(random.randrange(depth), names)
    kind = random.random()
    if kind < 0.4:
        return f"({inner()} {random.choice(BINARY)} {inner()})"
    if kind < 0.47:
        return f"{random.choice('!-')}({inner()})"
    if kind < 0.53:
        return f"({inner()} ? {inner()} : {inner()})"
    if kind < 0.58:
        return f"({inner()})[{inner()}]"
    if kind < 0.62:
        return f"({inner()}).a"
    if kind < 0.65:
        return f"has(({inner()}).a)"
    if kind < 0.69:
        return random.choice([f"[{inner()}, {inner()}]", f"{{'a': {inner()}, 'b': {inner()}}}"])
    if kind < 0.8:
        name, count = random.choice(list(MEMBERS.items()))
        count += random.random() < 0.05
        return f"({inner()}).{name}({', '.join(inner() for _ in range(count))})"
    if kind < 0.9:
        name, count = random.choice(list(GLOBALS.items()))
        count += random.random() < 0.05
        return f"{name}({', '.join(inner() for _ in range(count))})"
    name = random.choice(["x", "y", "z"])
    return f"({inner()}).{random.choice(MACROS)}({name}, {inner((*names, name))})"


number, seed = int(sys.argv[1]), int(sys.argv[2])
random.seed(seed)
found = {}
while len(found) < number:
    found.setdefault(expression(random.choice([1, 1, 2, 2, 3])), None)
print(json.dumps([{"expression": text} for text in found], indent=1))
