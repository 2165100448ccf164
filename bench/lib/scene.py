# SPDX-License-Identifier: LGPL-2.1-or-later
"""A nodeinitd on a bus of its own, in a directory of its own."""
import os
import select
import shutil
import subprocess
import tempfile
import time

from lib import bus

BUS_CONF = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


def end_process(process, limit_seconds=10):
    """SIGTERM, and SIGKILL for one that does not mind that."""
    process.terminate()
    try:
        process.wait(limit_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Scene:
    """with Scene(bench, pools={"guests": text}, daemon={"Threads": "2"}) as scene: ...

    pools: the files' texts by name, from [Pool] on. daemon: the settings of [Daemon]. environment:
    more variables for the daemon. The bus runs inside the block; start() and stop() run the daemon
    on it, as often as wanted. .pid is the daemon's, .bus the bus's address, .log its last words.
    """

    def __init__(self, bench, pools=None, daemon=None, environment=None, limit_seconds=120):
        self.bench, self.pools, self.settings = bench, pools or {}, daemon or {}
        self.environment, self.limit_seconds = environment or {}, limit_seconds
        self.folder = self.bus = self._bus_process = self._daemon = self._connection = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="nodeinit-bench.")
        try:
            os.chmod(self.folder, 0o755)
            os.makedirs(f"{self.folder}/etc/pools.d")
            self.configure(self.pools, self.settings)
            self._start_bus()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            if self._bus_process:
                end_process(self._bus_process)
                self._bus_process.stdout.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def configure(self, pools=None, daemon=None):
        """Another configuration, for the next start() or a Reload."""
        self.pools = self.pools if pools is None else pools
        self.settings = self.settings if daemon is None else daemon
        places = f"{self.folder}/etc/pools.d"
        for name in os.listdir(places):
            os.unlink(f"{places}/{name}")
        for name, text in self.pools.items():
            with open(f"{places}/{name}.pool", "w", encoding="utf-8") as file:
                file.write(text)
        with open(f"{self.folder}/etc/nodeinitd.conf", "w", encoding="utf-8") as file:
            file.write("[Daemon]\n")
            file.writelines(f"{key}={value}\n" for key, value in self.settings.items())

    def _start_bus(self):
        path = f"{self.folder}/bus"
        with open(f"{self.folder}/bus.conf", "w", encoding="utf-8") as file:
            file.write(BUS_CONF.format(path=path))
        self._bus_process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile",
             "--print-address=1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True)
        # It says its address once it listens.
        said = self._bus_process.stdout
        if not select.select([said], [], [], self.limit_seconds)[0] or not said.readline():
            raise RuntimeError("the bus did not start")
        self.bus = f"unix:path={path}"

    @property
    def pid(self):
        return self._daemon.pid if self._daemon else None

    @property
    def log(self):
        with open(f"{self.folder}/daemon.log", encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def connection(self):
        """Ours to the bus: see lib/bus.py."""
        if not self._connection:
            self._connection = bus.Bus(self.bus, self.limit_seconds)
            self._connection.watch("type='signal',sender='org.freedesktop.DBus',"
                                   f"member='NameOwnerChanged',arg0='{bus.NAME}'")
            self._connection.watch(f"type='signal',sender='{bus.NAME}',path='{bus.ROOT}',"
                                   "member='PropertiesChanged'")
        return self._connection

    def launch(self, wrapper=()):
        """Run the daemon, and wait until it is on the bus. Returns the monotonic time, in µs, just
        before it was executed. wrapper: a command that runs the one it is given, as strace does;
        .pid is then the wrapper's."""
        connection = self.connection
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC")}
        environment.update(self.environment)
        connection.signals.clear()
        with open(f"{self.folder}/daemon.log", "wb") as log:
            begun_usec = time.clock_gettime_ns(time.CLOCK_MONOTONIC) / 1000
            self._daemon = subprocess.Popen(
                [*wrapper, self.bench.nodeinitd, "--config", f"{self.folder}/etc",
                 "--bus", self.bus], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env=environment, start_new_session=True)
        self._await(connection.has_daemon, "be on its bus")
        return begun_usec

    def _await(self, is_so, what):
        """Ask again at each signal. There is one for whatever may be awaited here."""
        end = time.monotonic() + self.limit_seconds
        while not is_so():
            try:
                self.connection.next_signal(min(end, time.monotonic() + 1))
            except bus.BusError:
                if self._daemon.poll() is not None:
                    raise RuntimeError(f"nodeinitd has ended: {self.log}") from None
                if time.monotonic() >= end:
                    raise RuntimeError(
                        f"nodeinitd did not {what} in {self.limit_seconds} s: {self.log}") from None

    def start(self, wrapper=()):
        """Returns seconds from just before exec to ReadyMonotonic, the daemon's own stamp."""
        begun_usec = self.launch(wrapper)
        return (self.wait_ready() - begun_usec) / 1e6

    def wait_ready(self):
        """Until all required pools are ready. Returns ReadyMonotonic, in µs."""
        def is_settled():
            if self.manager("State") in ("failed", "degraded", "cancelled"):
                raise RuntimeError(f"not all came into service: {self.log}")
            return self.manager("ReadyMonotonic") > 0
        self._await(is_settled, "be ready")
        return self.manager("ReadyMonotonic")

    def manager(self, name):
        """A property of the Manager interface."""
        return self.connection.get(bus.ROOT, "Manager", name)

    def stop(self):
        """Ends the daemon, and waits for that; its memory is then the kernel's again."""
        if self._daemon:
            end_process(self._daemon, self.limit_seconds)
            self._daemon = None
        if self._connection:
            self._connection.close()
            self._connection = None

    def ctl(self, *arguments, check=True):
        """meminitctl on this bus; returns its standard output."""
        done = subprocess.run([self.bench.meminitctl, f"--bus={self.bus}", *arguments], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=self.limit_seconds)
        if check and done.returncode:
            raise RuntimeError(f"meminitctl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout
