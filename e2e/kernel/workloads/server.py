"""The Python server among the workloads. Environment: PORT. See server.ts."""
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer_to(method, path):
    if method == "POST" and path == "/orders":
        return 201, "/orders", b"o" * 5000
    if method == "DELETE" and path.startswith("/orders/"):
        return 204, "/orders/*", b""
    if path.startswith("/cart/"):
        return 200, "/cart/*", b"cart"
    if path == "/boom":
        return 500, path, b"boom"
    if path == "/slow":
        time.sleep(0.5)
        return 200, path, b"slow"
    if path == "/warm":
        return 200, path, b"warm"
    return 404, path, b"missing"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet for an answer of headers and body.
    wbufsize = -1

    def serve(self):
        started = time.monotonic()
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, route, body = answer_to(self.command, self.path)
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        seconds = time.monotonic() - started
        line = {"method": self.command, "status": status, "route": route, "seconds": seconds}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    do_GET = do_POST = do_DELETE = serve

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("", int(os.environ["PORT"])), Handler)
print('{"listening":true}', flush=True)
server.serve_forever()
