"""Asks the real `policy-server` about images whose registry answers as `crates/host/tests/registries/answers.yaml` says.

Each row is an image's registry. The policy has to say the row's words about it; `scanFailed: accept-outages` has to let in
the outages and nothing else, and `scanFailed: accept` all of them. Run this with each new policy-server: its client's texts
are all that the policy sees of an answer.

    python3 tests/real-host/registries.py
"""
import http.server, os, re, sys, threading

import yaml
from world import ROOT, World, build_module, pod, review


def serve(rows):
    """Serves a repository for each row, `row0/app` and so on, and gives tokens to all but those whose row denies one; the address."""
    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            row = rows[int(re.search(r"row(\d+)", self.path).group(1))] if "row" in self.path else None
            token = self.path.startswith("/token")
            status, body = (row["status"], row["body"]) if row and token == row.get("token", False) else (200, '{"token": "t"}') if row and token else (401, "")
            self.send_response(status)
            self.send_header("WWW-Authenticate", f'Bearer realm="http://{address}/token",service="s"')
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body.encode())

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    address = f"127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return address


def main():
    with open(os.path.join(ROOT, "crates/host/tests/registries/answers.yaml")) as file:
        rows = yaml.safe_load(file)
    world = World()
    world.registry = serve(rows)
    world.serve_cluster()
    module = build_module()
    world.serve_policies({value: {"module": module, "settings": {"registries": [world.registry], "scanPolicies": {"scanFailed": value}}}
                          for value in ("reject", "accept-outages", "accept")})
    wrong = []
    for number, row in enumerate(rows):
        asked = {value: world.ask(value, review(pod([f"{world.registry}/row{number}/app:1.0"]))) for value in ("reject", "accept-outages", "accept")}
        message = (asked["reject"].get("status") or {}).get("message", "admitted")
        admitted = {value: answer["allowed"] for value, answer in asked.items()}
        if row["words"] not in message or admitted != {"reject": False, "accept-outages": row["class"] == "outage", "accept": True}:
            wrong.append(f"{row['registry']}, {row['case']} ({row['class']}): {admitted}\n  {message}")
    print("\n".join(wrong + [f"{len(rows) - len(wrong)} of {len(rows)} rows are as the table says"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
