// Evaluates modules of a bundle with their first use. `import * as voices from './voices.ts'` means that in the package:
// its code is parsed, but its schemas are not made before `voices.something` is read. esbuild evaluates all modules at
// once, or loads them asynchronously; but a simulator answers synchronously.
import { readFile } from 'node:fs/promises'

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

/**
 * The code that a bundle starts with. `$defer` evaluates a chunk once, with the values that it imports. `$namespace` is
 * what `import * as` gives.
 */
export const DEFER_RUNTIME =
  'var $defer=(imports,evaluate)=>{let exports;return()=>exports??=evaluate(...imports())},' +
  '$namespace=(load,names)=>{let namespace={};' +
  'for(let name of names)Object.defineProperty(namespace,name,{enumerable:true,get:()=>load()[name]});' +
  'return namespace};'

/**
 * Returns a chunk as a call of `$defer`.
 *
 * @param code the chunk as esbuild wrote it, without whitespace
 * @param valueOf returns the code for what a chunk imports: an export of another chunk, or the chunk itself if it only
 *   has effects
 */
export function toDeferred(code, valueOf) {
  const [names, values] = [[], []]
  const locals = []
  const body = code
    .replaceAll(/import(?:\{([^}]*)\}from)?"\.\/([^"]*)";/g, (_, list, chunk) => {
      for (const { exported, local } of list === undefined ? [{ local: `$effect${names.length}` }] : parseNames(list)) {
        names.push(local)
        values.push(valueOf(chunk, exported))
      }
      return ''
    })
    .replaceAll(/import(?:(\*as )?([\w$]+)|\{([^}]*)\})from"((?:node:)?[\w/]+)";/g, (_, _all, name, list, module) => {
      const target = name ?? `{${parseNames(list, ':').map(({ exported, local }) => `${exported}:${local}`)}}`
      locals.push(`${target}=process.getBuiltinModule("${module}")`)
      return ''
    })
    .replace(/export\{([^}]*)\};\s*$/, (_, list) => {
      const fields = parseNames(list).map(({ exported, local }) => `${local}:${exported}`)
      return `return{${fields.join(',')}}`
    })
  const leftover = /(?:^|;)(?:import[{*"\w ]|export[{ *])[^;]{0,80}/.exec(body)
  if (leftover) throw new Error(`Failed to defer a chunk: it has ${leftover[0]}.`)
  const builtins = locals.length === 0 ? '' : `const ${locals.join(',')};`
  return `$defer(()=>[${values.join(',')}],function(${names.join(',')}){${builtins}${body}})`
}

/** Returns the names of a clause: of `a as b`, `exported` is a and `local` b. */
export function parseNames(list) {
  return list.split(',').map(name => {
    const [exported, local = exported] = name.split(' as ')
    return { exported, local }
  })
}
