/** Another HTTP stack than Node's: one curl process drives every operation by its example, on one server. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AnyEndpoint } from '../../../src/service/endpoint.ts'
import { operations } from '../../../src/service/index.ts'
import { createExampleRequest } from '../../../src/service/openapi/examples.ts'
import { running } from '../../server/http/running-server.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const declared: Readonly<Record<string, AnyEndpoint>> = operations

/** A transfer of curl, as its config file has it: an option a line. */
type Transfer = readonly (readonly [option: string, value: string])[]

/** Runs the transfers one after the other in one process; what curl wrote of each. */
async function curl(transfers: readonly Transfer[]): Promise<string[]> {
  const text = (value: string) => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
  const config = transfers.map(options =>
    ['silent', 'show-error', ...options.map(([option, value]) => `${option} = ${text(value)}`)].join('\n'),
  )
  const child = spawn('curl', ['--disable', '--config', '-'])
  let [out, error] = ['', '']
  child.stdout.on('data', chunk => {
    out += chunk
  })
  child.stderr.on('data', chunk => {
    error += chunk
  })
  child.stdin.end(config.join('\nnext\n'))
  const code = await new Promise(resolve => child.on('close', resolve))
  expect([code, error], 'curl itself').toEqual([0, ''])
  return out.trimEnd().split('\n')
}

/** @param sample the path of the file that is uploaded */
function contentOf({ example, upload, consumes }: AnyEndpoint, sample: string): Transfer {
  const { body, form } = example
  if (form !== undefined) {
    writeFileSync(sample, form.content)
    const fields = Object.entries(form.fields).map(([name, value]) => ['form-string', `${name}=${value}`] as const)
    return [...fields, ['form', `${upload!.part ?? 'file'}=@"${sample}";filename="${form.filename}"`]]
  }
  if (body === undefined) return []
  if (consumes === 'form') {
    return Object.entries(body as object).map(([name, value]) => ['data-urlencode', `${name}=${value}`] as const)
  }
  return [
    ['header', 'content-type: application/json'],
    ['data-raw', JSON.stringify(body)],
  ]
}

test('every operation answers curl as it is declared to', async () => {
  const { sim, server } = await running()
  const folder = temporaryFolder()
  const address = { baseUrl: server.url, token: sim.token }
  const transfers: Transfer[] = []
  const asked: string[] = []
  const add = (operation: string, url: string) => {
    const endpoint = declared[operation]!
    transfers.push([
      ['url', url],
      ['request', endpoint.method],
      ['header', `authorization: Bearer ${sim.token}`],
      ...contentOf(endpoint, join(folder, `upload-${asked.length}`)),
      ['output', join(folder, String(asked.length))],
      ['write-out', '%{http_code} %{content_type}\\n'],
    ])
    asked.push(operation)
  }
  for (const operation of Object.keys(declared)) {
    transfers.push([
      ['url', `${server.url}/_sim/reset`],
      ['request', 'POST'],
      ['output', join(folder, 'reset')],
      ['write-out', ''],
    ])
    // A copy of the world tells which ids the same requests will get.
    const there = sim.fork()
    const request = await createExampleRequest(
      operations,
      operation,
      async earlier => {
        add(there.api.findOperationId(earlier.method, new URL(earlier.url).pathname)!, earlier.url)
        return there.fetch(earlier)
      },
      address,
    )
    add(operation, request.url)
  }

  const written = await curl(transfers)
  expect(new Set(asked).size).toBe(Object.keys(declared).length)
  // A declared type can be a range, as audio/* is.
  const declaredType = (operation: string, type: string) => {
    const { produces } = declared[operation]!
    return produces.endsWith('/*') && type.startsWith(produces.slice(0, -1)) ? type : produces
  }
  expect(written.map((line, i) => `${asked[i]} ${line}`)).toEqual(
    asked.map((operation, i) => `${operation} 200 ${declaredType(operation, written[i]!.split(' ')[1]!)}`),
  )
  for (const [i, operation] of asked.entries()) {
    const { returns, produces } = declared[operation]!
    const answer = readFileSync(join(folder, String(i)), 'utf8')
    if (produces === 'application/json') returns.parse(JSON.parse(answer))
    else expect(answer).not.toBe('')
  }
})
