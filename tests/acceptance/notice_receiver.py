"""A receiver of notices that misbehaves: it answers each request by the next word of its script, the last one forever.

    python notice_receiver.py PORT LOG ok|500|redirect|hang|slow|garbage …

The log has a line for each request: how it was answered, path, id, body.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

port, log, script = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
lock = Lock()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with lock:
            word = script.pop(0) if len(script) > 1 else script[0]
            with log.open("a") as file:
                file.write(json.dumps([word, self.path, self.headers["webhook-id"], body]) + "\n")
        if word == "hang":
            time.sleep(3_600)
        if word == "slow":
            time.sleep(2)
        if word == "garbage":
            self.wfile.write(b"220 mail.example ESMTP\r\n")
            return
        self.send_response({"500": 500, "redirect": 307}.get(word, 204))
        if word == "redirect":
            self.send_header("Location", f"http://127.0.0.1:{port}/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
print(server.server_address[1], flush=True)
server.serve_forever()
