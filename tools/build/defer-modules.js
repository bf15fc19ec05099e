// Evaluates modules of a bundle with their first use. `import * as voices from './voices.ts'` means that in the package:
// its code is parsed, but its schemas are not made before `voices.something` is read. esbuild evaluates all modules at
// once, or loads them asynchronously; but a simulator answers synchronously.
import { readFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'

/** A call that marks the place of a deferred module between the build and `inlineDeferred`. */
const MARK = '__deferred'
const MARKS = new RegExp(String.raw`${MARK}\(\(\)=>import\("\./([^"]*)"\)\)`, 'g')

/** The plugin of esbuild that makes a chunk of each module that is imported as a namespace. */
export const deferredImports = {
  name: 'deferred imports',
  setup: build => {
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replaceAll(
        /^import \* as (\w+) from '(\.[^']*)'$/gm,
        (_, name, module) => `const ${name} = /* @__PURE__ */ ${MARK}(() => import('${module}'))`,
      )
      return { contents, loader: 'ts' }
    })
  },
}

/** Returns the chunks whose modules a code defers. */
export function deferredChunksOf(code) {
  return Array.from(code.matchAll(MARKS), ([, chunk]) => chunk)
}

/** Replaces each mark of a code by what `replace` returns for its chunk. */
export function replaceMarks(code, replace) {
  return code.replaceAll(MARKS, (_, chunk) => replace(chunk))
}

/** The folder of deferred modules below that of the bundle. */
export const DEFERRED_FOLDER = 'deferred'
const FILE_START = 'export default '

/**
 * The code that a bundle starts with. `$defer` evaluates a file once, with the values that it imports. `$namespace` is
 * what `import * as` gives.
 *
 * A file is evaluated in the realm of the bundle, because Jest and others run each test file in a realm of its own. Where
 * a process may not evaluate text, `node:vm` does it.
 */
export const DEFER_RUNTIME = `
const $import = specifier => import(specifier)
const $evaluate = file => {
  const { href } = new URL('./${DEFERRED_FOLDER}/' + file, import.meta.url)
  const text = process.getBuiltinModule('node:fs').readFileSync(new URL(href), 'latin1').slice(${FILE_START.length})
  const code = '"use strict";(' + text + ')\\n//# sourceURL=' + href
  try {
    return (0, eval)(code)
  } catch (error) {
    if (!(error instanceof EvalError)) throw error
    return process.getBuiltinModule('node:vm').runInThisContext(code, { filename: href })
  }
}
const $defer = (file, imports) => {
  let exports
  return () => (exports ??= $evaluate(file)(...imports()))
}
const $namespace = (load, names) => {
  const namespace = {}
  for (const name of names) Object.defineProperty(namespace, name, { enumerable: true, get: () => load()[name] })
  return namespace
}
`

/**
 * Returns the file of a deferred chunk: a function of what the chunk imports, which returns its exports. Also returns the
 * code of these imports, for `$defer`.
 *
 * @param code the chunk as esbuild wrote it, without whitespace
 * @param output its entry in the metafile of esbuild
 * @param codeFor returns the code for an export of another chunk, or for the chunk alone if only its effects count
 * @param namespaceFor returns the name of the namespace of a deferred chunk
 */
export function toDeferredFile(code, output, codeFor, namespaceFor) {
  const imports = new Map()
  let count = 0
  const { declaration, rest } = extractBuiltins(code)
  const body = replaceMarks(rest, chunk => {
    const name = namespaceFor(chunk)
    imports.set(name, name)
    return name
  })
    .replaceAll(/(?<!\w)import\("/g, () => {
      // Text that is evaluated has no place of its own from which a module could be imported.
      imports.set('$import', '$import')
      count++
      return '$import("'
    })
    .replaceAll(/(?<!\w)import\.meta\b/g, () => {
      imports.set('$meta', 'import.meta')
      return '$meta'
    })
    .replaceAll(/import(?:\{([^}]*)\}from)?"\.\/([^"]*)";/g, (_, list, chunk) => {
      if (list === undefined) imports.set(`$effect${imports.size}`, codeFor(chunk))
      else for (const { exported, local } of parseNames(list)) imports.set(local, codeFor(chunk, exported))
      return ''
    })
    .replace(/export\{([^}]*)\};\s*$/, (_, list) => {
      const fields = parseNames(list).map(({ exported, local }) => `${local}:${exported}`)
      return `return{${fields.join(',')}}`
    })
  const what = output.entryPoint ?? 'a chunk'
  const leftover = /(?:^|[;}])(?:import[{*"\w ]|export[{ *])[^;]{0,80}/.exec(body)
  if (leftover) throw new Error(`Failed to defer ${what}: it has '${leftover[0]}'.`)
  const expected = output.imports.filter(({ kind }) => kind === 'dynamic-import').length - deferredChunksOf(code).length
  if (count !== expected) throw new Error(`Failed to defer ${what}: ${count} of ${expected} dynamic imports are found.`)
  return {
    text: `${FILE_START}function(${[...imports.keys()].join(',')}){${declaration}${body}}\n`,
    imports: `()=>[${[...imports.values()].join(',')}]`,
  }
}

const IMPORT = /import(?:\*as ([\w$]+)|([\w$]+)|\{([^}]*)\})from"([^"]*)";/g

/**
 * Takes the imports of Node's modules out of a code. `declaration` declares the same names without an import: the first
 * import of `node:fs` loads its streams, which takes some milliseconds.
 */
export function extractBuiltins(code) {
  const builtins = []
  const rest = code.replaceAll(IMPORT, (whole, all, one, list, module) => {
    if (!isBuiltin(module)) return whole
    const fields = list && parseNames(list).map(({ exported, local }) => `${exported}:${local}`)
    builtins.push(`${all ?? one ?? `{${fields}}`}=process.getBuiltinModule("${module}")`)
    return ''
  })
  return { declaration: builtins.length === 0 ? '' : `const ${builtins.join(',')};`, rest }
}

/** Returns the names of a clause: of `a as b`, `exported` is a and `local` b. */
export function parseNames(list) {
  return list.split(',').map(name => {
    const [exported, local = exported] = name.split(' as ')
    return { exported, local }
  })
}
