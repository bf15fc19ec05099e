/** A client that a third-party generator makes from `/openapi.json`: its types hold, and it drives every operation. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../../src/service/index.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { type Document, driverOf, listOperations } from './driver.ts'

const FOLDER = resolve('.tmp/generated')
const origin = createSimulator({ seed: 1 })
const document = (await (await origin.fetch('http://sim/openapi.json')).json()) as Document

interface Outcome {
  readonly status: number
  readonly contentType: string | null
  readonly data: unknown
  readonly error: unknown
}
type Drive = (fetch: Simulator['fetch'], token: string) => Promise<Outcome>
let drives: Readonly<Record<string, Drive>> = {}

const READS = `import createClient from 'openapi-fetch'
import type { paths } from './service.ts'
const client = createClient<paths>()
const { data } = await client.GET('/deploy/list')
export const running: number | undefined = data?.[0]?.instances?.running
export const isWrong = data?.[0]?.status === 'runing'
export const isRight = data?.[0]?.status === 'running'
await client.POST('/deploy/llm', { body: { model_name: 'chat', gpu: 'T4' } })
`

beforeAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(`${FOLDER}/service.ts`, astToString(await openapiTS(document as never)))
  writeFileSync(`${FOLDER}/drive.ts`, driverOf(document, operations))
  writeFileSync(`${FOLDER}/reads.ts`, READS)
  ;({ drives } = await import(`${FOLDER}/drive.ts`))
}, 60_000)

/** What the compiler says of a program, a line a complaint. */
function check(path: string): string[] {
  const program = ts.createProgram([path], {
    ...{ strict: true, noEmit: true, skipLibCheck: true, exactOptionalPropertyTypes: true },
    ...{
      allowImportingTsExtensions: true,
      types: [],
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    },
    ...{ target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  })
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file, start }) => {
    const line = file && start !== undefined ? file.text.slice(0, start).split('\n').length : 0
    return `${file?.fileName}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
}

test('answers have the types of the document, and a wrong use does not compile', () => {
  expect(check(`${FOLDER}/reads.ts`)).toEqual([
    expect.stringMatching(/reads\.ts:6 .*'"runing"' .*no overlap/),
    expect.stringMatching(/reads\.ts:8 .*'"T4"' is not assignable/),
  ])
}, 60_000)

test('requests and answers of the driver have the types of the document', () => {
  expect(check(`${FOLDER}/drive.ts`)).toEqual([])
}, 60_000)

const listed = listOperations(document)
const ajv = new Ajv2020({ strict: false, formats: fullFormats })

test('the document has every declared operation', () => {
  expect([...new Set(listed.map(({ served }) => served))].sort()).toEqual(Object.keys(operations).sort())
})

describe('every operation', () => {
  test.each(listed)('$id', async ({ id, served, document: { responses } }) => {
    const sim = origin.fork()
    const { status, contentType, data, error } = await drives[id]!(sim.fetch, sim.token)
    expect(error, `the example of ${id}`).toBeUndefined()
    expect(status).toBe(200)
    expect(sim.requests.at(-1)?.operation).toBe(served)
    const type = contentType!.split(';')[0]!
    const { content } = responses[200]!
    const range = type.replace(/\/.*/, '/*')
    const { schema } = content[type] ?? content[range] ?? expect.fail(`${type} is not in the document`)
    if (type !== 'application/json') return expect((data as ArrayBuffer).byteLength).toBeGreaterThan(0)
    const isValid = ajv.compile({ ...schema, components: document.components })
    expect(isValid(data), ajv.errorsText(isValid.errors)).toBe(true)
  })
})
