/** A request as code of other tools: `fetch`, a vitest test, a pytest test, a step of a scenario. */
import { escapeRegExp } from '../../../lib/escape-regexp.ts'
import { quoteForShell } from '../../simulator/as-curl.ts'

export interface SentRequest {
  readonly operation: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Path of its operation: `/deploy/{deploy_id}`. */
  readonly template: string
  readonly status: number
  /** Headers beside the token and the type of the body. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: unknown
}

/** The address in copied code. The token is a variable, because the page does not know it. */
const ADDRESS = 'http://127.0.0.1:4010'

export const CODE_FORMS: readonly { readonly label: string; readonly write: (request: SentRequest) => string }[] = [
  { label: 'curl', write: toCurl },
  { label: 'fetch', write: toFetch },
  { label: 'vitest', write: toVitest },
  { label: 'pytest', write: toPytest },
  { label: 'scenario step', write: toScenarioStep },
]

function toCurl({ method, path, headers, body }: SentRequest): string {
  const lines = [
    `curl -X ${method} -H "Authorization: Bearer $TOKEN" ${quoteForShell(ADDRESS + path)}`,
    ...headers.map(([name, value]) => `  -H ${quoteForShell(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`  --json ${quoteForShell(JSON.stringify(body))}`]),
  ]
  return lines.join(' \\\n')
}

function toFetch(request: SentRequest): string {
  return `const response = await fetch(${JSON.stringify(ADDRESS + request.path)}, ${initOf(request, 'process.env.TOKEN')})\n`
}

function toVitest(request: SentRequest): string {
  const { method, path, status } = request
  return `import { createSimulator } from 'modelhost-sim'
import { expect, test } from 'vitest'

test(${JSON.stringify(`${method} ${path} answers ${status}`)}, async () => {
  const sim = createSimulator()
  const response = await sim.fetch(${JSON.stringify(`http://sim${path}`)}, ${initOf(request, 'sim.token', '  ')})
  expect(response.status).toBe(${status})
})
`
}

function toPytest({ method, path, status, body }: SentRequest): string {
  const args = [JSON.stringify(method), JSON.stringify(path), ...(body === undefined ? [] : [toPython(body)])].join(
    ', ',
  )
  const name = `test_${method.toLowerCase()}_answers_${status}`
  if (status >= 200 && status < 400) return `def ${name}(sim):\n    sim.call(${args})\n`
  return `import pytest
from modelhost_sim import SimulatorError


def ${name}(sim):
    with pytest.raises(SimulatorError):
        sim.call(${args})
`
}

/** A step has the operation with its input: the fields of path, query and body in one object. */
function toScenarioStep({ operation, path, template, status, body }: SentRequest): string {
  const [pathname, query = ''] = path.split('?', 2) as [string, string?]
  const input = {
    ...pathFields(pathname, template),
    ...Object.fromEntries(new URLSearchParams(query)),
    ...(typeof body === 'object' ? body : {}),
  }
  const refused = status >= 400 ? `\n  refused: { status: ${status} }` : ''
  return `- do: ${JSON.stringify({ [operation]: input })}${refused}\n`
}

/** Returns the fields in the path of a request, by the path of its operation: `/deploy/{deploy_id}`. */
function pathFields(pathname: string, template: string): Record<string, string> {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const pattern = template.split(/\{\w+\}/).map(escapeRegExp)
  const values = new RegExp(`^${pattern.join('(.+?)')}/?$`).exec(pathname)?.slice(1) ?? []
  return Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(values[index] ?? '')]))
}

function initOf({ method, headers, body }: SentRequest, token: string, indent = ''): string {
  const all = [
    `authorization: \`Bearer \${${token}}\``,
    ...(body === undefined ? [] : ["'content-type': 'application/json'"]),
    ...headers.map(header => header.map(text => JSON.stringify(text)).join(': ')),
  ]
  const lines = [
    `method: ${JSON.stringify(method)},`,
    `headers: { ${all.join(', ')} },`,
    ...(body === undefined ? [] : [`body: JSON.stringify(${JSON.stringify(body)}),`]),
  ]
  return `{\n${lines.map(line => `${indent}  ${line}\n`).join('')}${indent}}`
}

/** Returns a JSON value as an expression of Python. */
function toPython(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([name, each]) => `${JSON.stringify(name)}: ${toPython(each)}`)
      .join(', ')}}`
  }
  return JSON.stringify(value)
}
