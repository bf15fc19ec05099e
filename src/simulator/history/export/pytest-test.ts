/** Writes the plan of a test for pytest. It needs the standard library of Python alone, and a running server. */

import { formatDuration } from '../../../kernel/duration.ts'
import type { ControlAction } from '../../observer.ts'
import { toHttpFields } from '../../option-fields.ts'
import type { TestPlan, TestStep } from './steps.ts'

/** Returns the source of a test in Python. */
export function toPytest({ options, steps, digest }: TestPlan, name: string): string {
  const { webhooks: _, ...others } = options
  const world = JSON.stringify({ ...toHttpFields(others), clock: 'manual' })
  const body = steps.flatMap(step => toStatements(step)).map(line => (line === '' ? '\n' : `        ${line}\n`))
  return `"""Plays a recording again. It needs a server: npx modelhost-sim serve --clock manual"""
import base64
import concurrent.futures
import http.client
import json
import os
import socket
import time
import urllib.parse
import urllib.request

URL = os.environ.get("MODELHOST_SIM_URL", "http://127.0.0.1:4010")
OPTIONS = json.loads(${quoteText(world)})


class World:
    """A world of the server. Each request has a thread, because some answers wait for time."""

    def __init__(self):
        made = self.call(f"{URL}/_sim/worlds", "POST", OPTIONS)
        self.name = made["world"]
        self.base = f"{URL}/_sim/worlds/{self.name}"
        self.path = urllib.parse.urlsplit(self.base).path
        # At its own address, a world accepts its tokens without the suffix that routes them.
        self.token = (made["token"] or "").removesuffix(f".{self.name}")
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=64)

    def call(self, url, method, body=None):
        data = json.dumps(body).encode() if body else None
        headers = {"content-type": "application/json"} if body else {}
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
            return json.loads(answer.read())

    def control(self, method, path, body=None):
        return self.call(f"{self.base}/_sim/{path}", method, body)

    def waiting(self):
        return len(self.call(f"{URL}/_sim/worlds/{self.name}", "GET")["waiting"])

    def received(self):
        answer = self.control("GET", "requests?limit=0")
        return answer["matched"] + answer["dropped"]

    def request(self, connection, method, path, headers, body):
        headers = {"authorization": f"Bearer {self.token}", **headers}
        headers = {name: value for name, value in headers.items() if value is not None}
        try:
            connection.request(method, f"{self.path}{path}", body, headers)
            answer = connection.getresponse()
        except Exception:
            connection.close()
            return 0
        try:
            answer.read()
        except Exception:
            pass  # A fault cuts some bodies.
        connection.close()
        return answer.status

    def send(self, method, path, headers, body=None, hangs=False):
        """Sends a request. Returns when it is answered, waits for time, or hangs."""
        before = self.waiting()
        received = self.received() if hangs else 0
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(URL).netloc, timeout=60)
        sent = self.pool.submit(self.request, connection, method, path, headers, body)
        sent.connection = connection
        self.wait(lambda: sent.done() or self.waiting() > before or (hangs and self.received() > received))
        return sent

    def leave(self, sent, hangs=False):
        """Ends a request: its client leaves."""
        before = self.waiting()
        open_socket = sent.connection.sock
        if open_socket is not None:
            open_socket.shutdown(socket.SHUT_RDWR)
            self.wait(lambda: sent.done() and (hangs or self.waiting() < before))

    def wait(self, is_there):
        deadline = time.monotonic() + 30
        while not is_there() and time.monotonic() < deadline:
            time.sleep(0.005)

    def advance(self, microseconds):
        self.control("POST", "clock/advance", {"by": f"{microseconds}us"})

    def close(self):
        self.call(f"{URL}/_sim/worlds/{self.name}", "DELETE")
        self.pool.shutdown(wait=False)


def test_${name}():
    world = World()
    try:
${body.join('')}        assert world.control("GET", "digest")["digest"] == "${digest}"
    finally:
        world.close()
`
}

function toStatements(step: TestStep): string[] {
  switch (step.kind) {
    case 'advance':
      return ['', `world.advance(${step.by})  # ${formatDuration(step.by)}`]
    case 'send': {
      const { number, method, path, headers, body, isImmediate, hangs, status } = step
      const parts = [quoteText(method), quoteText(path), `json.loads(${quoteText(JSON.stringify(headers))})`]
      if (body !== undefined) {
        parts.push(typeof body === 'string' ? `${quoteText(body)}.encode()` : `base64.b64decode("${body.base64}")`)
      }
      if (hangs) parts.push('hangs=True')
      const lines = [`answer_${number} = world.send(${parts.join(', ')})`]
      return isImmediate ? [...lines, `assert answer_${number}.result(60) == ${status}`] : lines
    }
    case 'expect':
      return [`assert answer_${step.number}.result(60) == ${step.status}`]
    case 'leave':
      return [`world.leave(answer_${step.number}${step.hangs ? ', hangs=True' : ''})`]
    case 'act':
      return [toStatement(step.action)]
  }
}

function toStatement(action: ControlAction): string {
  const load = (value: unknown) => `json.loads(${quoteText(JSON.stringify(value))})`
  switch (action.do) {
    case 'command': {
      const { delay } = action
      const command = { ...action.command, ...(delay !== undefined && delay > 0 && { at: `${delay}us` }) }
      return `world.control("POST", "commands", ${load(command)})`
    }
    case 'addFault':
      return `world.control("POST", "faults", ${load(action.rule)})`
    case 'removeFault':
      return `world.control("DELETE", "faults/${encodeURIComponent(action.id)}")`
    case 'addAnswer':
      return `world.control("POST", "inference", ${load(action.rule)})`
    case 'removeAnswer':
      return `world.control("DELETE", "inference/${encodeURIComponent(action.name)}")`
    case 'clearAnswers':
      return 'world.control("DELETE", "inference")'
    default:
      return 'world.control("POST", "reset")'
  }
}

/** Returns a string of Python: JSON without characters beyond ASCII, whose pairs of surrogates are one escape. */
function quoteText(text: string): string {
  const toEscape = (symbol: string) => {
    const code = symbol.codePointAt(0)!
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  }
  return JSON.stringify(text).replaceAll(/[\u007f-\u{10ffff}]/gu, toEscape)
}
