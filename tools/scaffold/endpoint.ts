import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { operations } from '../../src/service/index.ts'
import { ROOT, type Scaffold } from './declarations.ts'
import { assertKnown, assertName, assertNew, assertText, InputError, quote, toKebabCase } from './input.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const FOLDER = 'src/service/endpoints'
const MAX_FILES = 20

/** Plans an endpoint in a file of its own, which is named by the last fixed word of its path. */
export function planEndpoint([name, route]: readonly string[], flags: { summary?: string | undefined }): Scaffold {
  const operation = assertName('endpoint', name, /^[a-z]+([A-Z][A-Za-z\d]*)+$/, "a verb and a noun, as in 'listVoices'")
  assertNew('endpoint', operation, Object.keys(operations))
  const [method = '', path = ''] = (route ?? '').split(' ')
  assertKnown('method', method, METHODS)
  if (!/^(\/[a-z\d][\w.-]*|\/\{[a-z]\w*\})+$/.test(path))
    throw new InputError(
      `Failed to create the endpoint: the route '${route}' is invalid. Use 'GET /v1/voices/{voice_id}'.`,
    )
  const taken = Object.entries(operations).find(([, other]) => toShape(other.route) === toShape(`${method} ${path}`))
  if (taken) throw new InputError(`Failed to create the endpoint: '${taken[0]}' has the route ${taken[1].route}.`)
  const summary = assertText('summary', flags.summary)

  const resource = path.split('/').findLast(part => part !== '' && !part.startsWith('{')) ?? 'root'
  // A folder holds the resources whose paths begin alike, as in /v1/account/tags.
  const folders = readdirSync(join(ROOT, FOLDER), { withFileTypes: true }).filter(entry => entry.isDirectory())
  const folder = folders.find(({ name }) => path.split('/').includes(name) && name !== resource)
  const file = `${folder ? `${FOLDER}/${folder.name}` : FOLDER}/${toKebabCase(resource.replaceAll('.', '-'))}.ts`
  if (existsSync(join(ROOT, file)))
    throw new InputError(
      `Failed to create ${file}: it exists. Add 'export const ${operation}' to it: no list needs a change.`,
    )
  if (folder === undefined && readdirSync(join(ROOT, FOLDER)).filter(name => name.endsWith('.ts')).length >= MAX_FILES)
    throw new InputError(
      `Failed to create ${file}: ${FOLDER} has ${MAX_FILES} files. Add the endpoint to one of them, or move some to a folder.`,
    )

  const params = Array.from(path.matchAll(/\{(\w+)\}/g), ([, param]) => param!)
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method)
  const up = folder === undefined ? '../' : '../../'
  const input = { operation, method, path, summary, params, hasBody, up }
  return {
    files: [
      { path: file, text: declaration(input) },
      { path: `test/service/${toKebabCase(operation)}.test.ts`, text: test(input) },
    ],
    next: [
      `Edit ${file}: the assumptions, the fields and the handler. A refusal is declared in 'refusals' and raised by 'refuse'.`,
      'Add a request for each declared refusal to test/service/refusals/provocations.ts.',
      'Run npm run generate after each change of the declaration.',
    ],
  }
}

interface Input {
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly params: readonly string[]
  readonly hasBody: boolean
  /** The way from the file to `src/service`. */
  readonly up: string
}

function declaration({ operation, method, path, summary, params, hasBody, up }: Input): string {
  const fields = [...params.map(param => `${param}: z.string()`), ...(hasBody ? ['name: z.string()'] : [])]
  const values = [...params.map(param => `${param}: params.${param}`), ...(hasBody ? ['name: body.name'] : [])]
  const isAccount = fields.length === 0
  const inputs = isAccount
    ? 'world'
    : [...(hasBody ? ['body'] : []), ...(params.length > 0 ? ['params'] : [])].join(', ')
  const example = exampleOf(path, params, hasBody)
  return `import * as z from 'zod'
import { neighbour } from '${up}endpoint.ts'
${hasBody ? `import { text } from '${up}fields.ts'\n` : ''}
export const ${operation} = neighbour({
  route: '${method} ${path}',
  summary: ${quote(summary)},
  assumptions: [${isAccount ? "'the answer has the id of the account'" : "'the answer repeats the fields of the request'"}],
${hasBody ? '  body: z.object({ name: text({ min: 1, max: 64 }) }),\n' : ''}  returns: z.object({ ${isAccount ? 'uid: z.string()' : fields.join(', ')} }),
${example === '' ? '' : `  example: { ${example} },\n`}  handle: ({ ${inputs} }) => ({ ${isAccount ? 'uid: world.store.account.uid' : values.join(', ')} }),
})
`
}

function exampleOf(path: string, params: readonly string[], hasBody: boolean): string {
  const target = params.length > 0 ? [`target: '${exampleTarget(path)}'`] : []
  return [...target, ...(hasBody ? ["body: { name: 'example' }"] : [])].join(', ')
}

function exampleTarget(path: string): string {
  return path.replaceAll(/\{\w+\}/g, 'example')
}

function test({ operation, method, path, params, hasBody }: Input): string {
  const request = `'${method} ${exampleTarget(path)}'`
  const fields = [...params.map(param => `${param}: 'example'`), ...(hasBody ? ["name: 'example'"] : [])]
  const rejects = hasBody
    ? `
test('${operation} answers 422 and changes nothing when a field is missing', async () => {
  const { ask } = service()
  expect((await ask(${request}, {})).status).toBe(422)
})
`
    : ''
  return `import { expect, test } from 'vitest'
import { service } from './service-world.ts'

test('${operation} answers its example', async () => {
  const { ask${fields.length === 0 ? ', world' : ''} } = service()
  const { status, body } = await ask(${request}${hasBody ? ", { name: 'example' }" : ''})
  expect([status, body]).toEqual([200, { ${fields.length === 0 ? 'uid: world.store.account.uid' : fields.join(', ')} }])
})

test('${operation} answers 401 when the token is missing', async () => {
  const { ask } = service()
  expect((await ask(${request}${hasBody ? ", { name: 'example' }" : ', undefined'}, {})).status).toBe(401)
})
${rejects}`
}

/** Two routes of one shape match the same requests. */
function toShape(route: string): string {
  return route.replaceAll(/\{\w+\}/g, '{}')
}
