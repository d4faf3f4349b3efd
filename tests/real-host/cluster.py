"""The API of a cluster, as far as policies ask: discovery, get, list with field and label selectors, and watches that show
nothing new. It counts what it is asked, and the watches that are open: `/asked`.

    cluster.py PORT OBJECTS.json
    {"kinds": [{"apiVersion", "kind", "plural", "namespaced"}], "objects": [whole objects]}
"""
import json, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

asked = {"get": 0, "list": 0, "watch": 0, "watching": 0}
counting = threading.Lock()


def at(document, path):
    for step in path.split("."):
        document = document.get(step) if isinstance(document, dict) else None
    return document


def is_selected(value_of, selector):
    """Whether `a=b,c!=d` holds of an object; `value_of` finds what a key names."""
    for term in filter(None, selector.split(",")):
        wants_other = "!=" in term
        key, _, value = term.replace("!=", "=").replace("==", "=").partition("=")
        if (str(value_of(key)) == value) == wants_other:
            return False
    return True


def may(review):
    """Whether somebody may do something, for users and groups, by roles without subresources."""
    asked = review.get("resourceAttributes", {})
    namespace = asked.get("namespace") or None

    def allows(rule):
        names = rule.get("resourceNames", [])
        wanted = [("verbs", asked.get("verb")), ("apiGroups", asked.get("group") or ""), ("resources", asked.get("resource"))]
        return all({one, "*"} & set(rule.get(key, [])) for key, one in wanted) and (not names or asked.get("name") in names)

    for binding in objects:
        kind, own = binding["kind"], binding["metadata"].get("namespace")
        if kind != "ClusterRoleBinding" and not (kind == "RoleBinding" and namespace and own == namespace):
            continue
        bound = any(who["name"] == review.get("user") if who["kind"] == "User" else who["name"] in (review.get("groups") or []) for who in binding.get("subjects", []))
        of = binding["roleRef"]
        role = next((it for it in objects if it["kind"] == of["kind"] and it["metadata"]["name"] == of["name"] and it["metadata"].get("namespace") in (None, own)), {})
        if bound and any(allows(rule) for rule in role.get("rules", [])):
            return True
    return False


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A connection answers many requests; each small answer is sent at once.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, document, code=200):
        data = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def not_found(self, what):
        self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": f"{what} not found"}, 404)

    def do_POST(self):
        """A SubjectAccessReview: roles and their bindings among the objects say who may do what."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if not urlparse(self.path).path.endswith("/subjectaccessreviews"):
            return self.not_found(self.path)
        self.answer({**body, "status": {"allowed": may(body.get("spec", {}))}}, 201)

    def do_GET(self):
        url = urlparse(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        steps = url.path.strip("/").split("/")
        match steps:
            case ["asked"]:
                return self.answer(asked)
            case ["version"]:
                return self.answer({"major": "1", "minor": "33", "gitVersion": "v1.33.0"})
            case ["api"]:
                return self.answer({"kind": "APIVersions", "versions": ["v1"]})
            case ["apis"]:
                return self.answer({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})
            case ["api", version, *rest]:
                pass
            case ["apis", group, of_group, *rest]:
                version = f"{group}/{of_group}"
            case _:
                return self.not_found(url.path)
        served = [kind for kind in kinds if kind["apiVersion"] == version]
        if not rest:
            return self.answer({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": [
                {"name": kind["plural"], "singularName": "", "namespaced": kind["namespaced"], "kind": kind["kind"], "verbs": ["get", "list", "watch"]} for kind in served]}) if served else self.not_found(version)
        namespace = None
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        plural, *name = rest
        kind = next((kind["kind"] for kind in served if kind["plural"] == plural), None)
        if kind is None:
            return self.not_found(plural)
        self.read(version, kind, namespace, name, query)

    def read(self, version, kind, namespace, name, query):
        """A get, a watch or a list."""
        what = "get" if name else "watch" if query.get("watch") in ("1", "true") else "list"
        with counting:
            asked[what] += 1
        if what == "get":
            found = by_name.get((version, kind, namespace, name[0]))
            self.answer(found) if found else self.not_found(f'{kind} "{name[0]}"')
        elif what == "watch":
            with counting:
                asked["watching"] += 1
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                self.wfile.flush()
                time.sleep(float(query.get("timeoutSeconds", "290")))
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                self.close_connection = True
            with counting:
                asked["watching"] -= 1
        else:
            there = [it for it in objects if it["apiVersion"] == version and it["kind"] == kind and namespace in (None, it["metadata"].get("namespace"))]
            by_field = [it for it in there if is_selected(lambda key: at(it, key), query.get("fieldSelector", ""))]
            by_label = [it for it in by_field if is_selected(lambda key: it["metadata"].get("labels", {}).get(key), query.get("labelSelector", ""))]
            self.answer({"kind": kind + "List", "apiVersion": version, "metadata": {"resourceVersion": "1"}, "items": by_label})


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        given = json.load(file)
    kinds, objects = given["kinds"], given["objects"]
    by_name = {(it["apiVersion"], it["kind"], it["metadata"].get("namespace"), it["metadata"]["name"]): it for it in reversed(objects)}
    ThreadingHTTPServer.request_queue_size = 256
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Api).serve_forever()
