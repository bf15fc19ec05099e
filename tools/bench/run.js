/**
 * `npm run bench`: builds the package, strips the types of the bench, and runs it.
 *
 * The transports are measured as users have them, from `dist/`; the kernel and the world straight from the source, bundled
 * here, so that no figure holds the cost of a loader.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { packRanks } from '../build/token-ranks.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bench = join(root, 'tools/bench')

// Inside the project, so that its packages are found; a package itself, as npm would install it, so that the project's
// own name means this copy, and a build that another process starts takes nothing away.
mkdirSync(join(root, '.tmp'), { recursive: true })
const outdir = mkdtempSync(join(root, '.tmp', 'bench-'))
process.on('exit', () => rmSync(outdir, { recursive: true, force: true }))
const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
for (const part of ['package.json', ...files]) {
  if (existsSync(join(root, part))) cpSync(join(root, part), join(outdir, part), { recursive: true })
}

if (!process.argv.includes('--no-build')) {
  // No figure reads the types. The build's own words go to stderr: with --json stdout belongs to the figures alone.
  const { status } = spawnSync(
    process.execPath,
    [join(root, 'tools/build/main.js'), '--no-types', '--outdir', join(outdir, 'dist')],
    {
      cwd: root,
      stdio: ['ignore', 2, 2],
    },
  )
  if (status !== 0) {
    console.error('Failed to run the bench: the build failed. Put it right, or measure what there is with --no-build.')
    process.exit(2)
  }
}

const processes = readdirSync(join(bench, 'processes')).map(name => join(bench, 'processes', name))
const dist = existsSync(join(outdir, 'dist/index.js'))
await build({
  entryPoints: [join(bench, 'main.ts'), ...processes],
  outbase: bench,
  outdir,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  outExtension: { '.js': '.mjs' },
  packages: 'external',
  conditions: ['modelhost-sim-source'],
  // Without the project's paths, by which its own name means the source.
  tsconfigRaw: {},
  alias: {
    '#fixture-files': join(root, 'src/data/fixtures/files.ts'),
    '#token-encoding': join(root, 'src/service/tokens/encoding.ts'),
    '#snapshot-files': join(root, 'src/simulator/checkpoint/files.ts'),
    // Without a build there is only the source to measure.
    ...(dist
      ? {}
      : {
          'modelhost-sim/msw': join(root, 'src/workbench/testing/msw.ts'),
          'modelhost-sim': join(root, 'src/index.ts'),
        }),
  },
  logLevel: 'warning',
})

// The bundle reads them beside itself, as the package does.
writeFileSync(join(outdir, 'token-ranks.gz'), gzipSync(packRanks()))

const { main } = await import(pathToFileURL(join(outdir, 'main.mjs')).href)
process.exitCode = await main(process.argv.slice(2), { root, outdir })
