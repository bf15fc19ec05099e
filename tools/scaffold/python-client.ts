/** The generated part of the Python package: the control plane as typed methods. */
import * as z from 'zod'
import { toSnakeCase, wrapText } from '../../src/lib/text/words.ts'
import { givenBody } from '../../src/server/control/describe.ts'
import { controlOperations } from '../../src/server/control/index.ts'
import { type AnyEndpoint, type FieldSchemas, routeParamNames } from '../../src/service/endpoint.ts'
import type { GeneratedFile } from './declarations.ts'
import { PythonTypes } from './python-types.ts'

const PATH = 'clients/python/src/modelhost_sim/control.py'
const MAX_COLUMNS = 100
/** Columns of a doc comment: its indentation and the quotes of its first line take 12. */
const DOC_COLUMNS = MAX_COLUMNS - 12

/** Returns the module with a method for each operation of the control plane, and a type for each body and answer. */
export function pythonClient(): GeneratedFile {
  const types = new PythonTypes()
  const methods = Object.entries(controlOperations as unknown as Record<string, AnyEndpoint>).map(([id, endpoint]) =>
    methodOf(id, endpoint, types),
  )
  const text = `"""Every operation of the control plane. \`npm run generate\` writes this file from the declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NotRequired, TypedDict

from ._transport import ServerEvent, Transport

# A report of pytest begins with the line of the test.
__tracebackhide__ = True

${types.declarations.join('\n\n')}


class Control:
    """The control plane of one world. Each method is one request.

    Each method raises SimulatorError if the server refuses the request.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

${methods.join('\n\n')}
`
  return { path: PATH, text }
}

interface Parameter {
  readonly name: string
  readonly wireName: string
  readonly type: string
  readonly isRequired: boolean
}

function methodOf(id: string, endpoint: AnyEndpoint, types: PythonTypes): string {
  const typeName = id[0]!.toUpperCase() + id.slice(1)
  const pathParameters = routeParamNames(endpoint.path).map(name => ({
    ...{ name, wireName: name, type: 'str', isRequired: true },
  }))
  const query = parametersOf(endpoint.query, `${typeName}Query`, types)
  const { body } = endpoint
  const shape = body === undefined ? undefined : closedShape(endpoint)
  const fields = shape === undefined ? [] : parametersOf(shape, `${typeName}Body`, types)
  const openBody: Parameter[] =
    body === undefined || shape !== undefined
      ? []
      : [{ name: 'body', wireName: 'body', type: types.of(body, 'input', `${typeName}Body`), isRequired: true }]
  const file: Parameter[] =
    endpoint.upload === undefined ? [] : [{ name: 'file', wireName: 'file', type: 'bytes', isRequired: true }]
  const positional = [...pathParameters, ...openBody, ...file]
  const named = [...query, ...fields]
  const { kind, returns } = answerOf(endpoint, `${typeName}Answer`, types)
  const args = [
    'self',
    ...positional.map(({ name, type }) => `${name}: ${type}`),
    ...(named.length > 0 ? ['*'] : []),
    ...[...named]
      .sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
      .map(({ name, type, isRequired }) =>
        isRequired ? `${name}: ${type}` : `${name}: ${type.endsWith(' | None') ? type : `${type} | None`} = None`,
      ),
  ]
  const path = pathParameters.reduce(
    (text, { name }) => text.replace(`{${name}}`, `{_quote(${name})}`),
    `"${endpoint.path}"`,
  )
  const call = [
    `"${endpoint.method}"`,
    pathParameters.length > 0 ? `f${path.replaceAll('_quote', 'self._transport.quote')}` : path,
    ...(query.length > 0 ? [`query=${dictOf(query)}`] : []),
    ...(fields.length > 0 ? [`body=${dictOf(fields)}`] : []),
    ...(openBody.length > 0 ? ['body=body'] : []),
    ...(file.length > 0 ? ['file=file'] : []),
  ]
  return `${definition(toSnakeCase(id), args, returns)}
${docOf(endpoint)}
${resultOf(`self._transport.send_${kind}(\n${call.map(argument => `            ${argument},\n`).join('')}        )`, kind, returns)}`
}

/** Returns the fields of an object that has no others; undefined for another body. */
function closedShape(endpoint: AnyEndpoint): FieldSchemas | undefined {
  const body = givenBody(endpoint)
  if (!(body instanceof z.ZodObject)) return undefined
  return body.def.catchall instanceof z.ZodNever ? (body.shape as FieldSchemas) : undefined
}

function parametersOf(schemas: FieldSchemas, typeName: string, types: PythonTypes): Parameter[] {
  return Object.entries(schemas).map(([wireName, schema]) => ({
    name: RESERVED.has(wireName) ? `${wireName}_` : wireName,
    wireName,
    type: types.of(schema, 'input', typeName + pascal(wireName)),
    isRequired: !schema.safeParse(undefined).success,
  }))
}

function answerOf({ produces, returns }: AnyEndpoint, typeName: string, types: PythonTypes) {
  if (produces.startsWith('text/event-stream')) return { kind: 'for_events', returns: 'Iterator[ServerEvent]' }
  if (/^(text\/|application\/x-ndjson)/.test(produces)) return { kind: 'for_text', returns: 'str' }
  if (produces === 'application/octet-stream') return { kind: 'for_bytes', returns: 'bytes' }
  return { kind: 'for_json', returns: types.of(returns, 'output', typeName) }
}

/** The transport does not know the type of an answer in JSON. */
function resultOf(call: string, kind: string, type: string): string {
  return kind === 'for_json' ? `        result: ${type} = ${call}\n        return result` : `        return ${call}`
}

function dictOf(parameters: readonly Parameter[]): string {
  const entries = parameters.map(({ name, wireName }) => `"${wireName}": ${name}`)
  const line = `{${entries.join(', ')}}`
  return line.length <= 80 ? line : `{\n${entries.map(entry => `                ${entry},\n`).join('')}            }`
}

function definition(name: string, args: readonly string[], returns: string): string {
  const line = `    def ${name}(${args.join(', ')}) -> ${returns}:`
  if (line.length <= MAX_COLUMNS) return line
  return `    def ${name}(\n${args.map(arg => `        ${arg},\n`).join('')}    ) -> ${returns}:`
}

function docOf({ summary, refusals, route }: AnyEndpoint): string {
  const reasons = Object.entries(refusals).map(([status, reason]) => `${status}: ${reason}`)
  const paragraphs = [`${summary}.`, `Sends \`${route}\`.`, ...reasons.map(reason => `Refused with ${reason}.`)]
  const lines = paragraphs.flatMap((paragraph, nth) => [
    ...(nth === 1 ? [''] : []),
    ...wrapText(paragraph.replaceAll('\\', '\\\\'), DOC_COLUMNS),
  ])
  const indent = (line: string) => (line === '' ? '' : `        ${line}`)
  return [`        """${lines[0]}`, ...lines.slice(1).map(indent), '        """'].join('\n')
}

/** Names that a parameter cannot have in Python, or that would hide a name of every method. */
const RESERVED: ReadonlySet<string> = new Set(['from', 'for', 'with', 'in', 'is', 'not', 'class', 'global', 'self'])

function pascal(name: string): string {
  return name.replaceAll(/(?:^|[_-])(\w)/g, (_, letter: string) => letter.toUpperCase())
}
