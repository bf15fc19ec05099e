/** Lists of the modules that declare something, each written from the files of a folder. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '..')

/** A file that is written from others; `path` is relative to the root. */
export interface GeneratedFile {
  readonly path: string
  readonly text: string
}

const FAULT_KINDS = 'src/faults/kinds'
const ENDPOINT_FOLDERS = ['audio', 'endpoints', 'messages', 'openai']

/** Returns whether a file has its text already. The format of JSON does not count. */
export function isCurrent(path: string, found: string, text: string): boolean {
  return path.endsWith('.json')
    ? JSON.stringify(JSON.parse(found)) === JSON.stringify(JSON.parse(text))
    : found === text
}

/** Returns the modules that list all fault kinds and all operations, as the folders are now. */
export function declarationLists(root = ROOT): GeneratedFile[] {
  return [
    { path: `${FAULT_KINDS}/index.ts`, text: faultKindList(root) },
    { path: 'src/service/declarations.ts', text: operationList(root) },
  ]
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

function operationList(root: string): string {
  const modules = ENDPOINT_FOLDERS.flatMap(folder =>
    filesWith(root, `src/service/${folder}`, /= endpoint\(/).map(file => `./${folder}/${file}`),
  )
  return `/**
 * Every module that declares operations. \`npm run generate\` writes this file from the folders.
 *
 * Such a module exports nothing else. Two operations of one name do not compile.
 */
${modules.map(path => `export * from '${path}'\n`).join('')}`
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
  return file.replace(/\.ts$/, '').replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
