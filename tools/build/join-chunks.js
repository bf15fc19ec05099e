// Joins the chunks that an output of esbuild always loads into one file. Node takes almost a millisecond for each module,
// and esbuild makes a chunk for every set of entries that share code.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build, transform } from 'esbuild'
import {
  DEFER_RUNTIME,
  DEFERRED_FOLDER,
  deferredChunksOf,
  extractBuiltins,
  parseNames,
  replaceMarks,
  toDeferredFile,
} from './defer-modules.js'

const IMPORTS_OF_CHUNKS = /import(?:\{([^}]*)\}from)?"\.\/([^"]*)";/g

/**
 * Joins the chunks that `entry` imports statically, except those that `apart` imports. The chunks of deferred modules
 * become files that the joined file evaluates. The exports of all other files stay the same.
 *
 * @param metafile the metafile of the build that wrote the chunks into `outdir`
 * @param name the name of the joined file
 */
export async function joinChunks({ metafile, outdir, entry, apart, name }) {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]))
  const codeOf = chunk => readFileSync(join(outdir, chunk), 'utf8')
  const staysApart = apart === undefined ? [] : chunksOf(outputs, apart)
  const joined = chunksOf(outputs, entry).filter(chunk => !staysApart.includes(chunk))
  // Two chunks may export the same name.
  const alias = (chunk, exported) => `${exported}_${joined.indexOf(chunk)}`
  const contents = joined.map(chunk => {
    const names = outputs.get(chunk).exports.map(exported => `${exported} as ${alias(chunk, exported)}`)
    return `export { ${names.join(', ')} } from './${chunk}'`
  })
  await build({
    stdin: { contents: contents.join('\n'), resolveDir: outdir },
    outfile: join(outdir, name),
    bundle: true,
    format: 'esm',
    target: 'node20.19',
    platform: 'node',
    packages: 'external',
    minifyWhitespace: true,
    // A chunk that exports nothing has effects.
    ignoreAnnotations: true,
    external: [...outputs.keys()].filter(chunk => !joined.includes(chunk)).map(chunk => `./${chunk}`),
    logLevel: 'warning',
  })

  const deferred = findDeferred()
  const loader = chunk => `$load${deferred.indexOf(chunk)}`
  const namespace = chunk => `$module${deferred.indexOf(chunk)}`
  // Node prints the line that throws before an uncaught error. In a long line, a pipe can lose the error behind it.
  const { code } = await transform(withDeferred(codeOf(name)), { minifyWhitespace: true, lineLimit: 200 })
  writeFileSync(join(outdir, name), code)

  for (const chunk of [...joined, ...deferred]) rmSync(join(outdir, chunk))
  for (const output of outputs.keys()) {
    if (joined.includes(output) || deferred.includes(output)) continue
    writeFileSync(join(outdir, output), rewritten(output))
  }

  /** Returns the chunks of modules that the joined file defers, and those that only they import. */
  function findDeferred() {
    const found = []
    const add = chunk => {
      if (found.includes(chunk) || joined.includes(chunk) || staysApart.includes(chunk)) return
      for (const imported of chunksOf(outputs, chunk)) add(imported)
      if (!found.includes(chunk)) found.push(chunk)
      for (const other of deferredChunksOf(codeOf(chunk))) add(other)
    }
    for (const chunk of [...joined, entry]) for (const other of deferredChunksOf(codeOf(chunk))) add(other)
    for (const chunk of found) requireOwnCode(chunk)
    return found
  }

  /** Rejects a module that is deferred in one place and imported with its names in another. */
  function requireOwnCode(chunk) {
    const { entryPoint, inputs } = outputs.get(chunk)
    if (entryPoint === undefined || entryPoint in inputs) return
    const holder = [...outputs].find(([, output]) => entryPoint in output.inputs)?.[0]
    if (!joined.includes(holder)) return
    const importers = Object.entries(metafile.inputs).filter(([, { imports }]) =>
      imports.some(({ path, kind }) => path === entryPoint && kind === 'import-statement'),
    )
    throw new Error(
      `Failed to defer ${entryPoint}: ${importers.map(([path]) => path).join(', ')} import names of it. ` +
        'Import it as a namespace everywhere, or nowhere.',
    )
  }

  /** Returns the joined file with the definitions of its deferred modules, and writes their files. */
  function withDeferred(code) {
    const [, exportClause] = /export\{([^}]*)\};\s*$/.exec(code)
    const localNames = new Map(parseNames(exportClause).map(({ exported, local }) => [local, exported]))
    const apartImports = []
    const codeFor = (chunk, exported) => {
      if (joined.includes(chunk)) return localNames.get(alias(chunk, exported))
      if (deferred.includes(chunk))
        return exported === undefined ? `${loader(chunk)}()` : `${loader(chunk)}().${exported}`
      if (exported === undefined) {
        apartImports.push(`import"./${chunk}";`)
        return 'undefined'
      }
      const local = `$apart${apartImports.length}`
      apartImports.push(`import{${exported} as ${local}}from"./${chunk}";`)
      return local
    }
    const definitions = deferred.map(chunk => {
      const output = outputs.get(chunk)
      const { text, imports } = toDeferredFile(codeOf(chunk), output, codeFor, namespace)
      mkdirSync(join(outdir, DEFERRED_FOLDER), { recursive: true })
      writeFileSync(join(outdir, DEFERRED_FOLDER, chunk), text)
      return (
        `const ${loader(chunk)}=$defer(${JSON.stringify(chunk)},${imports}),` +
        `${namespace(chunk)}=$namespace(${loader(chunk)},${JSON.stringify(output.exports)});\n`
      )
    })
    const exported = deferred.flatMap(chunk => [loader(chunk), namespace(chunk)])
    const further = exported.length === 0 ? '' : `export{${exported.join(',')}};\n`
    const { declaration, rest } = extractBuiltins(replaceMarks(code, namespace))
    return `${apartImports.join('')}${DEFER_RUNTIME}${declaration}${definitions.join('')}${rest}${further}`
  }

  /** Returns another output, with its imports from the joined file. */
  function rewritten(output) {
    const names = []
    const heads = []
    const marked = replaceMarks(codeOf(output), chunk => {
      if (deferred.includes(chunk)) {
        names.push(namespace(chunk))
        return namespace(chunk)
      }
      const local = `$module_${heads.length}`
      heads.push(`import*as ${local} from"./${chunk}";`)
      return local
    })
    const code = marked.replaceAll(IMPORTS_OF_CHUNKS, (whole, list, chunk) => {
      if (deferred.includes(chunk)) {
        names.push(loader(chunk))
        const fields = list === undefined ? [] : parseNames(list).map(({ exported, local }) => `${exported}:${local}`)
        return `const{${fields.join(',')}}=${loader(chunk)}();`
      }
      if (!joined.includes(chunk)) return whole
      for (const { exported, local } of list === undefined ? [] : parseNames(list))
        names.push(`${alias(chunk, exported)} as ${local}`)
      return ''
    })
    const removed = [...joined, ...deferred].find(chunk => code.includes(chunk))
    if (removed) throw new Error(`Failed to join the chunks: ${output} still names ${removed}.`)
    const needsJoined =
      names.length > 0 || chunksOf(outputs, output).some(chunk => joined.includes(chunk) || deferred.includes(chunk))
    const head = needsJoined ? `import{${[...new Set(names)].join(',')}}from"./${name}";` : ''
    const { declaration, rest } = extractBuiltins(code)
    return `${head}${heads.join('')}${declaration}${rest}`
  }
}

/** Returns the chunks that an output imports statically, also through others, in the order in which they run. */
function chunksOf(outputs, output, found = []) {
  for (const { path, kind } of outputs.get(output).imports) {
    const chunk = basename(path)
    if (kind !== 'import-statement' || !outputs.has(chunk) || found.includes(chunk)) continue
    chunksOf(outputs, chunk, found)
    found.push(chunk)
  }
  return found
}
