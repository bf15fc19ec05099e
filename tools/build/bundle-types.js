// Bundles the types of the entries. The types of packages are in them, except those of the user's own copies.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import ts from 'typescript'
import { ENTRIES } from './entries.js'
import { rememberPackagesOf } from './notices.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Writes the types of the package to a folder.
 *
 * @throws if the source has type errors
 */
export async function writeTypes(to) {
  mkdirSync(join(ROOT, '.tmp'), { recursive: true })
  const modules = mkdtempSync(join(ROOT, '.tmp/types-'))
  try {
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
    const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', modules]
    const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' })
    if (status !== 0)
      throw new Error('Failed to write the types: the compiler has found errors, printed above. Fix them.')
    await bundleTypes(modules, to)
  } finally {
    rmSync(modules, { recursive: true })
  }
}

/**
 * Bundles the types of each entry. Entries share chunks, so that a class has one type.
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
