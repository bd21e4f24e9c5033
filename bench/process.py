"""The processes that are measured: the daemon, and a bare Node broadcaster as its peer."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
TOKEN = "bench"


class Measured:
    """A running process that listens: its WebSocket URL (with the token), its pid, and how long it took to listen."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, seconds: float) -> None:
        self.process = process
        self.url = url
        self.seconds = seconds

    def memory(self) -> float:
        """Resident memory in MiB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no VmRSS")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(15)


def start_daemon(home: Path) -> Measured:
    """`ahpd` with the echo agent and every file under `home`."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "actors.cli", "--home", str(home), "--agent", "echo", "--port", "0", "--token", TOKEN],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    runfile = None
    while process.poll() is None and time.perf_counter() - began < 60:
        found = list(home.rglob("ahpd.json"))
        if found:
            try:
                runfile = json.loads(found[0].read_text())
            except json.JSONDecodeError:
                continue
            if runfile["pid"] == process.pid:
                break
        time.sleep(0.002)
    if runfile is None:
        raise RuntimeError("the daemon did not start")
    return Measured(process, f"{runfile['websocket'][0]}?tkn={TOKEN}", time.perf_counter() - began)


def start_peer(port: int) -> Measured | None:
    """The Node broadcaster, or None without Node. Its one package is fetched by npm into an ignored folder."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None
    if not (HERE / "node_modules" / "ws").is_dir():
        subprocess.run(
            ["npm", "install", "--silent", "--no-save", "--no-audit", "--no-fund", "--prefix", str(HERE), "ws@8"],
            check=False,
        )
    if not (HERE / "node_modules" / "ws").is_dir():
        return None
    began = time.perf_counter()
    process = subprocess.Popen(["node", str(HERE / "peer.js"), str(port)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return Measured(process, f"ws://127.0.0.1:{port}/", time.perf_counter() - began)
