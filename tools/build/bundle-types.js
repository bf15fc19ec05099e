// Bundles the types of the entries. The types of packages are in them, except those of the user's own copies.
import { join } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import ts from 'typescript'
import { ENTRIES } from './entries.js'
import { rememberPackagesOf } from './notices.js'

/**
 * Writes the types of each entry to a folder. Entries share chunks, so that a class has one type.
 *
 * @param from the folder with a `.d.ts` file for each module of `src`, below a folder that has the packages
 */
export async function bundleTypes(from, to) {
  const input = Object.entries(ENTRIES).map(([name, path]) => [
    name,
    join(from, path.replace(/^src\/(.*)\.ts$/, '$1.d.ts')),
  ])
  const compilerOptions = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }
  const bundle = await rollup({
    input: Object.fromEntries(input),
    external: [/^node:/, 'msw', 'vitest'],
    plugins: [dts({ respectExternal: true, tsconfig: false, compilerOptions })],
    onwarn: warning => {
      // An entry can use a type that no entry exports.
      if (warning.code !== 'PLUGIN_WARNING') throw new Error(`Failed to bundle the types: ${warning.message}`)
    },
  })
  const { output } = await bundle.write({
    dir: to,
    entryFileNames: '[name].d.ts',
    chunkFileNames: ({ name }) => `${name.replace(/\.d$/, '')}-[hash].d.ts`,
    // Only at the start of a file does a compiler read it.
    banner: '/// <reference lib="esnext.disposable" preserve="true" />',
  })
  rememberPackagesOf(output.flatMap(({ moduleIds }) => moduleIds))
}
