/** A request as code of other tools: curl, `fetch`, a vitest test, a pytest test, a step of a scenario. */

import { encodeBase64 } from '../../../lib/bytes.ts'
import { shellQuote } from '../../../lib/quote.ts'

/** A request that is written as code. */
export interface CodedRequest {
  /** The address of its world, as in `http://127.0.0.1:4010`. */
  readonly address: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON or text; `null`: no body. */
  readonly body: unknown
  /** Whether it was sent with a token, known or not. */
  readonly hasToken: boolean
  /** What its world began with. A name or a seed that is the default is missing. */
  readonly world: { readonly fixtures?: string; readonly seed?: string }
}

/** Returns the code of a request by the name of its form. The token is a variable. */
export function writeCode(request: CodedRequest): Record<string, string> {
  const step = toScenarioStep(request)
  return {
    curl: toCurl(request),
    fetch: toFetch(request),
    vitest: toVitest(request),
    pytest: toPytest(request),
    ...(step !== undefined && { 'scenario step': step }),
  }
}

/** Headers that the answer can depend on, beside the token and the type of a JSON body. */
const OWN_HEADER = /^(?:idempotency-key|x-(?!sim-(?:control-token|client|replay)$).*)$/

function ownHeaders({ headers, body }: CodedRequest): [name: string, value: string][] {
  const isText = typeof body === 'string'
  return Object.entries(headers).filter(([name]) => OWN_HEADER.test(name) || (isText && name === 'content-type'))
}

function toCurl(request: CodedRequest): string {
  const { address, method, path, body, hasToken } = request
  const token = hasToken ? ` -H "Authorization: Bearer \${TOKEN:?is not set. Give the API token of the client}"` : ''
  const lines = [
    `curl -X ${method}${token} ${shellQuote(address + path)}`,
    ...ownHeaders(request).map(([name, value]) => `  -H ${shellQuote(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`  --json ${shellQuote(textOf(body))}`]),
  ]
  return lines.join(' \\\n')
}

/** The first lines of a program whose request needs a token. Without them, a missing token is sent as `undefined`. */
const REQUIRE_TOKEN = `if (!process.env.TOKEN) {
  throw new Error('Failed to send the request: the variable TOKEN is not set. Set it to the API token of the client.')
}
`

function toFetch(request: CodedRequest): string {
  return `${request.hasToken ? REQUIRE_TOKEN : ''}const response = await fetch(${JSON.stringify(request.address + request.path)}, ${initOf(request, 'process.env.TOKEN')})\n`
}

function toVitest(request: CodedRequest): string {
  const { method, path, status, world } = request
  const options = Object.entries(world).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  const call = `sim.fetch(${JSON.stringify(`http://sim${path}`)}, ${initOf(request, 'sim.token', '  ')})`
  return `import { createSimulator } from 'modelhost-sim'
import { expect, test } from 'vitest'

test(${JSON.stringify(`${method} ${path} answers ${status}`)}, async () => {
  const sim = createSimulator(${options.length === 0 ? '' : `{ ${options.join(', ')} }`})
  const response = await ${call}
  expect(response.status).toBe(${status})
})
`
}

function toPytest(request: CodedRequest): string {
  const { method, path, status, body, hasToken, world } = request
  const isPlain = hasToken && typeof body !== 'string' && ownHeaders(request).length === 0
  const isRefused = status < 200 || status >= 400
  const options = Object.entries(world).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  const args = [JSON.stringify(method), JSON.stringify(path), ...(body === null ? [] : [toPython(body)])].join(', ')
  const [call, error, code] = isPlain
    ? [`sim.call(${args})`, 'SimulatorError', 'status']
    : ['urllib.request.urlopen(request)', 'urllib.error.HTTPError', 'code']
  const statements = [
    ...(isPlain ? [] : toPythonRequest(request)),
    ...(isRefused
      ? [`with pytest.raises(${error}) as refusal:`, `    ${call}`, `assert refusal.value.${code} == ${status}`]
      : [call]),
  ]
  const imports = [
    ...(isPlain ? [] : [...(isRefused ? ['import urllib.error'] : []), 'import urllib.request\n']),
    ...(isRefused || options.length > 0 ? ['import pytest'] : []),
    ...(isPlain && isRefused ? ['from modelhost_sim import SimulatorError'] : []),
  ]
  return [
    ...(imports.length === 0 ? [] : [...imports, '\n']),
    ...(options.length === 0 ? [] : [`@pytest.mark.sim(${options.join(', ')})`]),
    `def test_${method.toLowerCase()}_answers_${status}(sim):`,
    ...statements.map(line => `    ${line}`),
    '',
  ].join('\n')
}

/** Returns the statements of Python that make a request with headers or a text of its own, which `sim.call` cannot send. */
function toPythonRequest(request: CodedRequest): string[] {
  const { method, path, body, hasToken } = request
  const headers = headersOf(request, '"authorization": f"Bearer {sim.token}"', '"content-type": "application/json"')
  // Without a token, only the address of a world leads to it.
  const base = hasToken ? 'sim.url' : 'f"{sim.url}/_sim/worlds/{sim.name}"'
  return [
    'request = urllib.request.Request(',
    `    ${base} + ${JSON.stringify(path)},`,
    `    method=${JSON.stringify(method)},`,
    `    headers={${headers.join(', ')}},`,
    ...(body === null ? [] : [`    data=${JSON.stringify(textOf(body))}.encode(),`]),
    ')',
  ]
}

/** Returns a step that sends the request as it is. Undefined if the step would read a part of it as a reference. */
function toScenarioStep(request: CodedRequest): string | undefined {
  const { method, path, status, body, hasToken } = request
  const content = body !== null && hasReference(body) ? toBase64(body) : { ...(body !== null && { body }) }
  const headers = {
    ...(!hasToken && { authorization: null }),
    ...Object.fromEntries(ownHeaders(request)),
    ...('base64' in content && { 'content-type': 'application/json' }),
  }
  if (hasReference([path, headers])) return undefined
  const step = {
    request: `${method} ${path}`,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...content,
    status,
  }
  return Object.entries(step)
    .map(([name, value], index) => `${index === 0 ? '- ' : '  '}${name}: ${JSON.stringify(value)}\n`)
    .join('')
}

/** Whether a scenario reads a part of a value as a reference to a saved one. */
export function hasReference(value: unknown): boolean {
  return JSON.stringify(value).includes('${')
}

/** Returns a body as bytes, in which nothing is a reference. */
export function toBase64(body: unknown): { readonly base64: string } {
  return { base64: encodeBase64(new TextEncoder().encode(textOf(body))) }
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** Returns the headers of a request as code: that of the token and that of JSON, if it has them, and its own. */
function headersOf(request: CodedRequest, token: string, json: string): string[] {
  const { body, hasToken } = request
  return [
    ...(hasToken ? [token] : []),
    ...(body === null || typeof body === 'string' ? [] : [json]),
    ...ownHeaders(request).map(header => header.map(text => JSON.stringify(text)).join(': ')),
  ]
}

function initOf(request: CodedRequest, token: string, indent = ''): string {
  const { method, body } = request
  // A literal of an object would set its prototype by this name.
  const isQuoted = typeof body === 'string' || textOf(body).includes('"__proto__"')
  const all = headersOf(request, `authorization: \`Bearer \${${token}}\``, "'content-type': 'application/json'")
  const lines = [
    `method: ${JSON.stringify(method)},`,
    `headers: { ${all.join(', ')} },`,
    ...(body === null
      ? []
      : [`body: ${isQuoted ? JSON.stringify(textOf(body)) : `JSON.stringify(${JSON.stringify(body)})`},`]),
  ]
  return `{\n${lines.map(line => `${indent}  ${line}\n`).join('')}${indent}}`
}

/** Returns a JSON value as an expression of Python. */
function toPython(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`
  if (typeof value === 'object') {
    const fields = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${toPython(each)}`)
    return `{${fields.join(', ')}}`
  }
  return JSON.stringify(value)
}
