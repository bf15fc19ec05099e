/** Lists of what modules declare, each written from the files of some folders. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyEndpoint } from '../../src/service/endpoint.ts'

export const ROOT = resolve(import.meta.dirname, '../..')

/** A file that is written from others; `path` is relative to the root. */
export interface GeneratedFile {
  readonly path: string
  readonly text: string
}

/** The files that a scaffold writes, and what its author does next. */
export interface Scaffold {
  readonly files: readonly GeneratedFile[]
  /** A scenario whose trace is recorded. */
  readonly recorded?: string
  readonly next: readonly string[]
}

const FAULT_KINDS = 'src/simulator/faults/kinds'
const MAX_COLUMNS = 120

/** The operations of one interface: the folders below `home` declare them by a call of `factory`. */
interface OperationSet {
  readonly what: string
  readonly home: string
  readonly folders: readonly string[]
  readonly factory: RegExp
  /** Import of `operation-table.ts`. */
  readonly table: string
}

const OPERATION_SETS: readonly OperationSet[] = [
  {
    what: 'the service',
    home: 'src/service',
    folders: ['audio', 'endpoints', 'messages', 'openai'],
    factory: /= (?:documented|neighbour)\(/,
    table: './operation-table.ts',
  },
  {
    what: 'the control plane',
    home: 'src/server/control',
    folders: ['endpoints', 'views'],
    factory: /= control\(/,
    table: '../../service/operation-table.ts',
  },
]

/** Returns whether a file has its text already. The format of JSON does not count. */
export function isCurrent(path: string, found: string, text: string): boolean {
  return path.endsWith('.json')
    ? JSON.stringify(JSON.parse(found)) === JSON.stringify(JSON.parse(text))
    : found === text
}

/**
 * Returns the modules that list all fault kinds and all operations, as the folders are now. Each must be written before
 * the next is asked for: it may import what the one before lists.
 */
export async function* declarationLists(root = ROOT): AsyncGenerator<GeneratedFile> {
  yield { path: `${FAULT_KINDS}/index.ts`, text: faultKindList(root) }
  for (const set of OPERATION_SETS) {
    yield { path: `${set.home}/declarations.ts`, text: await operationTable(root, set) }
  }
}

/** `rate-limit.ts` declares `rateLimit`. A file that exports another name does not compile. */
function faultKindList(root: string): string {
  const files = filesWith(root, FAULT_KINDS, /= defineFaultKind\(/)
  const imports = [...files.map(file => `import { ${toCamelCase(file)} } from './${file}'`), KIND_IMPORT]
  return `/** Every fault kind by its name. \`npm run generate\` writes this file from the folder. */
${imports.sort(byModule).join('\n')}

export const FAULT_KINDS = defineFaultKinds({
${files.map(file => `  ${toCamelCase(file)},\n`).join('')}})
`
}

const KIND_IMPORT = "import { defineFaultKinds } from './kind.ts'"

async function operationTable(root: string, { what, home, folders, factory, table }: OperationSet) {
  const modules = folders.flatMap(folder =>
    filesWith(root, `${home}/${folder}`, factory).map(file => ({
      path: `./${folder}/${file}`,
      // The files of `endpoints` are most of all.
      name: toCamelCase(`${folder === 'endpoints' ? '' : `${folder}/`}${file}`),
    })),
  )
  const entries = modules.map(async ({ path, name }) => {
    const declared: Record<string, AnyEndpoint> = await import(pathToFileURL(join(root, home, path)).href)
    return Object.entries(declared).map(([id, endpoint]) => ({ id, name, endpoint }))
  })
  const sortKey = ({ endpoint }: { endpoint: AnyEndpoint }) => `${endpoint.path} ${endpoint.method}`
  const operations = (await Promise.all(entries)).flat().sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
  const provenances = [...new Set(operations.map(({ endpoint }) => endpoint.provenance))].sort()
  const imports = [
    ...modules.map(({ path, name }) => `import * as ${name} from '${path}'`),
    `import { ${provenances.join(', ')} } from '${table}'`,
  ]
  return `/**
 * Every operation of ${what}, by path and method: its route, and where it is declared.
 * \`npm run generate\` writes this file from the folders.
 *
 * A module of declarations exports nothing else. In the package, it is evaluated with the first use of an operation.
 */
${imports.sort(byModule).join('\n')}

export const OPERATIONS = {
${operations.map(entryOf).join('')}}
`
}

function entryOf({ id, name, endpoint }: { id: string; name: string; endpoint: AnyEndpoint }): string {
  const { route, provenance, mirror } = endpoint
  const args = [`'${route}'`, `() => ${name}.${id}`, ...(mirror === undefined ? [] : ["'mirrored'"])]
  const line = `  ${id}: ${provenance}(${args.join(', ')}),\n`
  // As Biome formats it.
  return line.length <= MAX_COLUMNS + 1
    ? line
    : `  ${id}: ${provenance}(\n${args.map(arg => `    ${arg},\n`).join('')}  ),\n`
}

function filesWith(root: string, folder: string, pattern: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map(name => name.replaceAll('\\', '/'))
    .filter(name => name.endsWith('.ts') && pattern.test(readFileSync(join(root, folder, name), 'utf8')))
    .sort()
}

function byModule(a: string, b: string): number {
  return a.slice(a.indexOf("'")) < b.slice(b.indexOf("'")) ? -1 : 1
}

function toCamelCase(file: string): string {
  return file.replace(/\.ts$/, '').replaceAll(/[-/](\w)/g, (_, letter: string) => letter.toUpperCase())
}
