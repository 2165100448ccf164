# SPDX-License-Identifier: LGPL-2.1-or-later
"""As much of a D-Bus client as the bench needs: calls of plain arguments, replies of any kind,
signals. It blocks in one socket, so that waiting for the daemon takes no time from it."""
import os
import socket
import struct
import time

CALL, REPLY, ERROR, SIGNAL = 1, 2, 3, 4
PATH, INTERFACE, MEMBER, REPLY_SERIAL, DESTINATION, SIGNATURE = 1, 2, 3, 5, 6, 8
NUMBERS = {"y": "B", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "h": "I"}
NAME = "org.nodeinit1"
ROOT = "/org/nodeinit1"


class BusError(Exception):
    """An error reply, or a bus that is gone."""


class Reader:
    """The values of a message, by their signature."""

    def __init__(self, data, at=0, is_big=False):
        self.data, self.at, self.order = data, at, ">" if is_big else "<"

    def align(self, boundary):
        self.at = (self.at + boundary - 1) // boundary * boundary

    def number(self, code):
        size = struct.calcsize("=" + code)
        self.align(size)
        value = struct.unpack_from(self.order + code, self.data, self.at)[0]
        self.at += size
        return value

    def text(self, length):
        value = self.data[self.at:self.at + length].decode()
        self.at += length + 1
        return value

    def value(self, signature):
        """One value, and what is left of the signature."""
        kind, rest = signature[0], signature[1:]
        if kind in NUMBERS:
            return self.number(NUMBERS[kind]), rest
        if kind == "b":
            return bool(self.number("I")), rest
        if kind in "so":
            return self.text(self.number("I")), rest
        if kind == "g":
            return self.text(self.number("B")), rest
        if kind == "v":
            return self.value(self.text(self.number("B")))[0], rest
        if kind == "a":
            return self.array(rest)
        assert kind in "({", signature
        self.align(8)
        values = []
        while rest[0] not in ")}":
            value, rest = self.value(rest)
            values.append(value)
        return tuple(values), rest[1:]

    def array(self, signature):
        length = self.number("I")
        self.align(8 if signature[0] in "({xtd" else 1)
        end, values, rest = self.at + length, [], skip_type(signature)
        while self.at < end:
            values.append(self.value(signature)[0])
        return (dict(values) if signature[0] == "{" else values), rest

    def values(self, signature):
        values = []
        while signature:
            value, signature = self.value(signature)
            values.append(value)
        return values


def skip_type(signature):
    """What follows the first complete type."""
    depth = 0
    for i, kind in enumerate(signature):
        depth += (kind in "({") - (kind in ")}")
        if depth == 0 and kind != "a":
            return signature[i + 1:]
    raise ValueError(signature)


class Writer:
    """Arguments of the types that the bench sends: numbers, b, s, o, g and an empty a{sv}."""

    def __init__(self):
        self.data = bytearray()

    def align(self, boundary):
        self.data += bytes(-len(self.data) % boundary)

    def put(self, kind, value):
        if kind in NUMBERS or kind == "b":
            code = NUMBERS.get(kind, "I")
            self.align(struct.calcsize("=" + code))
            self.data += struct.pack("<" + code, value)
        elif kind in "so":
            self.put("u", len(value.encode()))
            self.data += value.encode() + b"\0"
        elif kind == "g":
            self.data += bytes([len(value)]) + value.encode() + b"\0"
        else:
            assert kind == "a{sv}" and not value, kind
            self.put("u", 0)
            self.align(8)


class Bus:
    """One connection. Not for several threads."""

    def __init__(self, address, limit_seconds=120):
        self.limit_seconds, self.serial, self.pending, self.signals = limit_seconds, 0, b"", []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(limit_seconds)
        try:
            self.socket.connect(address.removeprefix("unix:path=").split(",")[0])
            who = str(os.getuid()).encode().hex().encode()
            self.socket.sendall(b"\0AUTH EXTERNAL " + who + b"\r\n")
            if not self.socket.recv(256).startswith(b"OK"):
                raise BusError(f"{address} does not let us in")
        except OSError as error:
            raise BusError(f"{address}: {error}") from None
        self.socket.sendall(b"BEGIN\r\n")
        self.name = self.call_bus("Hello")[0]

    def close(self):
        self.socket.close()

    def call_bus(self, member, signature=(), *arguments):
        bus = "org.freedesktop.DBus"
        return self.call(bus, "/org/freedesktop/DBus", bus, member, signature, *arguments)

    def call(self, destination, path, interface, member, signature=(), *arguments):
        """signature: a sequence of types, "su" or ["s", "a{sv}"]. Returns the reply's values."""
        self.serial += 1
        serial = self.serial
        body = Writer()
        for kind, value in zip(signature, arguments):
            body.put(kind, value)
        fields = [(PATH, "o", path), (INTERFACE, "s", interface), (MEMBER, "s", member),
                  (DESTINATION, "s", destination)]
        if signature:
            fields.append((SIGNATURE, "g", "".join(signature)))
        inner = Writer()
        for code, kind, value in fields:
            inner.align(8)
            inner.put("y", code)
            inner.put("g", kind)
            inner.put(kind, value)
        head = struct.pack("<cBBBIII", b"l", CALL, 0, 1, len(body.data), serial, len(inner.data))
        data = head + inner.data
        self.socket.sendall(data + bytes(-len(data) % 8) + body.data)
        end = time.monotonic() + self.limit_seconds
        while True:
            message = self.receive(end)
            if message["type"] in (REPLY, ERROR) and message.get(REPLY_SERIAL) == serial:
                if message["type"] == ERROR:
                    raise BusError(f"{member}: {' '.join(map(str, message['body']))}")
                return message["body"]
            if message["type"] == SIGNAL:
                self.signals.append(message)

    def fill(self, nr_bytes, end):
        """Have at least so many bytes pending. What has come stays when this ends by the limit."""
        while len(self.pending) < nr_bytes:
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                got = self.socket.recv(1 << 16)
            except TimeoutError:
                raise BusError("the bus was silent for too long") from None
            if not got:
                raise BusError("the bus has closed the connection")
            self.pending += got

    def receive(self, end):
        """The next message: its type, header fields by code, and "body", a list of values."""
        self.fill(16, end)
        is_big = self.pending[:1] == b"B"
        order = ">" if is_big else "<"
        body_bytes, _, fields_bytes = struct.unpack_from(order + "III", self.pending, 4)
        body_at = 16 + (fields_bytes + 7) // 8 * 8
        self.fill(body_at + body_bytes, end)
        data = self.pending[:body_at + body_bytes]
        self.pending = self.pending[body_at + body_bytes:]
        message = {"type": data[1]}
        message.update(Reader(data, 12, is_big).value("a(yv)")[0])
        body = Reader(data[body_at:], 0, is_big)
        message["body"] = body.values(message.get(SIGNATURE, ""))
        return message

    def watch(self, rule):
        """Have signals sent to us: a D-Bus match rule."""
        self.call_bus("AddMatch", "s", rule)

    def next_signal(self, end):
        """The next signal, until time.monotonic() is end; BusError after that."""
        while not self.signals:
            message = self.receive(end)
            if message["type"] == SIGNAL:
                self.signals.append(message)
        return self.signals.pop(0)

    def get(self, path, interface, name):
        """A property of the daemon; interface without org.nodeinit1."""
        return self.call(NAME, path, "org.freedesktop.DBus.Properties", "Get", "ss",
                         f"{NAME}.{interface}", name)[0]

    def get_all(self, path, interface):
        return self.call(NAME, path, "org.freedesktop.DBus.Properties", "GetAll", "s",
                         f"{NAME}.{interface}")[0]

    def has_daemon(self):
        return self.call_bus("NameHasOwner", "s", NAME)[0]
