/** `modelhost-sim conform`: compares the simulator with an OpenAPI document of your provider. */

import { plural } from '../../lib/text/numbers.ts'
import { hideSecrets } from '../../lib/text/secrets.ts'
import { escapeControls } from '../../lib/text/words.ts'
import { readNames } from '../../service/naming/names-profile.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import type { Conformance, Finding } from '../conform/conform.ts'
import { type ArgumentsOf, flag, toggle } from '../flags.ts'

export const command = 'conform'
export const describe = 'Compare the simulator with an OpenAPI document of your provider'

export const flags = {
  openapi: flag('File or URL of the document: OpenAPI 3.0 to 3.2, JSON or YAML'),
  names: flag('File with a names profile: the paths and fields of your provider'),
  json: toggle('Print the differences as one JSON object'),
}
export const examples = [
  ['$0 conform --openapi provider.yaml', 'the differences, breaks first'],
  ['$0 conform --openapi provider.yaml --names names.json', 'the same with the names of the provider'],
  ['$0 conform --openapi https://api.example.test/openapi.json', 'a document at a URL'],
]
export const epilogue = `A break is a difference that a client written for the document fails at. With a break the exit code is 1.\n${EXIT_CODES}`

export type ConformArguments = Partial<ArgumentsOf<typeof flags>>

export async function handler({ openapi, names, json }: ConformArguments): Promise<void> {
  if (openapi === undefined) {
    throw new UsageError(
      'Failed to compare: --openapi is missing. Give a file or a URL, as in --openapi provider.yaml.',
    )
  }
  const own = await import('../conform/index.ts')
  const profile = names === undefined ? {} : { names: readNames(names).profile }
  let document: unknown
  let conformance: Conformance
  try {
    const isAddress = /^https?:\/\//i.test(openapi)
    document = isAddress ? own.parseDocumentText(await fetchText(openapi)) : own.readDocument(openapi)
    conformance = await own.conform(document, profile)
  } catch (error) {
    const isDeep = error instanceof RangeError && error.message.includes('call stack')
    if (!isDeep && !(error instanceof own.DocumentError)) throw error
    const reason = isDeep ? 'it is nested too deep. Take levels out of its schemas.' : error.message
    throw new UsageError(`Failed to read --openapi '${hideSecrets(openapi)}': ${reason}`)
  }
  const text = json ? JSON.stringify(conformance, null, 2) : formatConformance(conformance, own.titleOf(document))
  process.stdout.write(escapeControls(json ? `${text}\n` : text))
  if (conformance.findings.some(({ severity }) => severity === 'break')) process.exitCode = 1
}

/** Downloads the document. Its references are never fetched. */
async function fetchText(address: string): Promise<string> {
  const readError = (why: string) =>
    new UsageError(
      `Failed to read --openapi '${hideSecrets(address)}': ${why}. Download the document and give its file.`,
    )
  if (!URL.canParse(address)) throw readError('invalid URL')
  const { username, password } = new URL(address)
  if (username + password !== '') throw readError('it has a user name or a password, which is not sent')
  try {
    const answer = await fetch(address, { headers: { accept: 'application/json, application/yaml, */*' } })
    if (!answer.ok) throw readError(`the server answered ${answer.status}`)
    return await answer.text()
  } catch (error) {
    if (error instanceof UsageError) throw error
    const { cause, message } = error as { cause?: { code?: string }; message: string }
    throw readError(`no server answers (${cause?.code ?? message})`)
  }
}

const SEVERITY_LABELS = { break: 'break  ', warning: 'warning', note: 'note   ' } as const

function formatConformance({ findings, operations, served, requests, beyond }: Conformance, title: string): string {
  const lines = findings.map(formatFinding)
  const count = (severity: Finding['severity'], word: string) => {
    return plural(findings.filter(one => one.severity === severity).length, word)
  }
  const summary =
    `${title}: ${served} of ${operations} operations served, checked with ${requests} requests: ` +
    `${count('break', 'break')}, ${count('warning', 'warning')}, ${count('note', 'note')}`
  const more =
    beyond.length === 0
      ? ''
      : `Served beyond the document: ${beyond.length} operations. docs/endpoints.md lists them.\n`
  return `${[...lines, ...(lines.length > 0 ? [''] : []), summary].join('\n')}\n${more}`
}

function formatFinding({ severity, kind, operation, place, pointer, says, ours }: Finding): string {
  return [
    `${SEVERITY_LABELS[severity]}  ${operation}: ${place} (${kind})`,
    `         the document: ${says}`,
    `         the simulator: ${ours}`,
    `         at ${pointer}`,
  ].join('\n')
}
