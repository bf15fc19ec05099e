/** The sections of docs/control.md. */

import { wrapText } from '../../src/lib/text/words.ts'
import { exampleRequest, parametersOf } from '../../src/server/control/describe.ts'
import type { AnyEndpoint, Operations } from '../../src/service/endpoint.ts'

/** Returns a Markdown page with a section for each endpoint: summary, parameters, refusals, and an example for a shell. */
export function controlPage(operations: Operations): string {
  return Object.values(operations as Operations<unknown>)
    .map(endpoint => formatEndpoint(endpoint as AnyEndpoint))
    .join('\n\n')
}

function formatEndpoint(endpoint: AnyEndpoint): string {
  const parameters = parametersOf(endpoint)
  const rows = parameters.map(({ in: place, name, type, required }) => {
    const cells = [`\`${name}\``, place, type.replaceAll('|', '\\|'), required ? 'yes' : '']
    return `| ${cells.join(' | ')} |`
  })
  const refusals = Object.entries(endpoint.refusals).map(([status, reason]) => `${status}: ${reason}`)
  return [
    `## \`${endpoint.method} ${endpoint.path}\``,
    '',
    ...wrapText(`${endpoint.summary}.`, LINE_WIDTH),
    ...(rows.length > 0 ? ['', '| Field | In | Type | Required |', '|---|---|---|---|', ...rows] : []),
    ...(refusals.length > 0 ? ['', 'Refuses with:', '', ...refusals.flatMap(toItem)] : []),
    '',
    '```',
    curlCommand(endpoint),
    '```',
  ].join('\n')
}

const LINE_WIDTH = 120

/** Returns an item of a list, whose further lines are indented. */
function toItem(text: string): string[] {
  return wrapText(text, LINE_WIDTH, '  ').map((line, i) => (i === 0 ? `- ${line.trimStart()}` : line))
}

function curlCommand(endpoint: AnyEndpoint): string {
  const { target, body } = exampleRequest(endpoint)
  const form = endpoint.upload === undefined ? '' : ' -F file=@before.snapshot'
  const json = body === undefined ? '' : ` --json '${JSON.stringify(body)}'`
  const defaultMethod = body === undefined && form === '' ? 'GET' : 'POST'
  const method = endpoint.method === defaultMethod ? '' : ` -X ${endpoint.method}`
  const address = `127.0.0.1:4010${target}`
  return `curl${method}${json}${form} ${/[?&]/.test(address) ? `'${address}'` : address}`
}
