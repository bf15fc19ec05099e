import { posix } from 'node:path'
import ts from 'typescript'
import type { Finding, TextFile } from './files.ts'
import { LEVELS, type Room, USERS_OF_THE_PACKAGE } from './import-rules.ts'

export interface ImportFindings {
  /** Files of src without an import rule. */
  readonly unruled: Finding[]
  readonly forbidden: Finding[]
  /** Files in an import cycle, types included. */
  readonly cyclic: Finding[]
  /**
   * Files of src with fewer than 40 lines and one importer in the same folder: a reader would rather see their content
   * where it is used. A list of kinds (`index.ts`, `declarations.ts`) may have a file for each.
   */
  readonly fragments: Finding[]
}

interface Import {
  readonly from: string
  readonly specifier: string
  /** Paths relative to the root; several where package.json maps a `#name` by condition. Empty for packages. */
  readonly targets: readonly string[]
  readonly isTypeOnly: boolean
}

type SubpathImports = Readonly<Record<string, unknown>>

/** Checks every import of these files against the rules; `subpaths` is `imports` of package.json. */
export function checkImports(files: readonly TextFile[], subpaths: SubpathImports): ImportFindings {
  const imports = files.flatMap(file => importsOf(file, subpaths))
  const source = files.filter(({ path }) => path.startsWith('src/'))
  return {
    unruled: source.map(({ path }) => path).filter(path => findRoom(path) === undefined),
    forbidden: imports.flatMap(each => {
      const reason = each.from.startsWith('src/') ? explainDenial(each) : explainUserDenial(each)
      return reason === undefined ? [] : [`${each.from} imports ${each.specifier}: ${reason}`]
    }),
    cyclic: findCycles(imports),
    fragments: findFragments(source, imports),
  }
}

function findFragments(files: readonly TextFile[], imports: readonly Import[]): Finding[] {
  const importers = new Map<string, Set<string>>()
  for (const { from, targets } of imports) {
    for (const target of targets) importers.set(target, (importers.get(target) ?? new Set()).add(from))
  }
  return files.flatMap(({ path, text }) => {
    const [importer, other] = importers.get(path) ?? []
    const lines = text.split('\n').length - 1
    const isPart = importer !== undefined && other === undefined && posix.dirname(importer) === posix.dirname(path)
    return lines < 40 && isPart && !/(?:index|declarations)\.ts$/.test(importer)
      ? [`${path}: ${lines} lines, and only ${importer} imports it`]
      : []
  })
}

function importsOf({ path, text }: TextFile, subpaths: SubpathImports): Import[] {
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName: specifier, pos }) => {
    const statement = text.slice(0, pos)
    const start = Math.max(statement.lastIndexOf('\nimport '), statement.lastIndexOf('\nexport '), 0)
    const isTypeOnly = /^\s*(?:import|export) type\b/.test(statement.slice(start))
    const targets = specifier.startsWith('.')
      ? [posix.join(posix.dirname(path), specifier)]
      : stringsOf(subpaths[specifier]).filter(target => target.startsWith('./src/'))
    return { from: path, specifier, targets: targets.map(target => posix.normalize(target)), isTypeOnly }
  })
}

function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : []
}

function findRoom(path: string): { room: Room; level: number } | undefined {
  const below = path.slice('src/'.length)
  const matches = LEVELS.flatMap((rooms, level) =>
    rooms.flatMap(room => room.paths.map(prefix => ({ room, level, prefix }))),
  ).filter(({ prefix }) => (prefix.endsWith('/') ? below.startsWith(prefix) : below === prefix))
  return matches.sort((a, b) => b.prefix.length - a.prefix.length)[0]
}

function explainDenial({ from, targets, isTypeOnly }: Import): string | undefined {
  const importer = findRoom(from)
  if (importer === undefined) return undefined
  for (const target of targets) {
    if (importer.room.data?.test(target)) continue
    const imported = target.startsWith('src/') ? findRoom(target) : undefined
    if (imported === undefined) return `${target} has no import rule`
    const { name, onlyTypesOf, alsoOf = [] } = importer.room
    if (imported.room.name === name) continue
    if (onlyTypesOf !== undefined) {
      if (alsoOf.includes(imported.room.name)) continue
      if (isTypeOnly && onlyTypesOf.includes(imported.room.name)) continue
      return `${name} may import only types of ${onlyTypesOf.join(', ')}`
    }
    if (imported.level >= importer.level) return `${name} is not above ${imported.room.name}`
  }
  return undefined
}

function explainUserDenial({ from, targets }: Import): string | undefined {
  const folder = USERS_OF_THE_PACKAGE.find(name => from.startsWith(`${name}/`))
  const outside = targets.find(target => !target.startsWith(`${folder}/`))
  return outside && `import it from 'modelhost-sim' or one of its public entries`
}

/** Returns the files of each strongly connected component (Tarjan) that has more than one file, or imports itself. */
function findCycles(imports: readonly Import[]): Finding[] {
  const graph = new Map<string, Set<string>>()
  for (const { from, targets } of imports) {
    const edges = graph.get(from) ?? new Set()
    graph.set(from, edges)
    for (const target of targets) edges.add(target)
  }
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const found: Finding[] = []
  const visit = (path: string): number => {
    order.set(path, order.size)
    low.set(path, order.get(path)!)
    stack.push(path)
    for (const target of graph.get(path) ?? []) {
      if (!order.has(target)) low.set(path, Math.min(low.get(path)!, visit(target)))
      else if (stack.includes(target)) low.set(path, Math.min(low.get(path)!, order.get(target)!))
    }
    if (low.get(path) === order.get(path)) {
      const component = stack.splice(stack.indexOf(path)).sort()
      if (component.length > 1 || graph.get(path)?.has(path))
        found.push(...component.map(file => `${file}: in a cycle of ${component.length} files, with ${component[0]}`))
    }
    return low.get(path)!
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path)
  return found
}
