// Joins the chunks that an output of esbuild always loads into one file. Node takes almost a millisecond for each module,
// and esbuild makes a chunk for every set of entries that share code.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

/**
 * Joins the chunks that `entry` imports statically, except those that `apart` imports. The exports of all other files
 * stay the same.
 *
 * @param metafile the metafile of the build that wrote the chunks into `outdir`
 * @param name the name of the joined file
 */
export async function joinChunks({ metafile, outdir, entry, apart, name }) {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]))
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
  for (const chunk of joined) rmSync(join(outdir, chunk))
  for (const output of outputs.keys()) {
    if (joined.includes(output)) continue
    const path = join(outdir, output)
    const names = []
    const code = readFileSync(path, 'utf8').replaceAll(
      /import(?:\{([^}]*)\}from)?"\.\/([^"]*)";/g,
      (whole, list, chunk) => {
        if (!joined.includes(chunk)) return whole
        for (const imported of list?.split(',') ?? []) {
          const [exported, local = exported] = imported.split(' as ')
          names.push(`${alias(chunk, exported)} as ${local}`)
        }
        return ''
      },
    )
    if (joined.some(chunk => code.includes(chunk)))
      throw new Error(`Failed to join the chunks: ${output} still names one.`)
    const needsJoined = chunksOf(outputs, output).some(chunk => joined.includes(chunk))
    writeFileSync(path, needsJoined ? `import{${names.join(',')}}from"./${name}";${code}` : code)
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
