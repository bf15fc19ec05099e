// `npm run build`: the package's modules with their types by tsc, and the command line as one file by esbuild, because
// the file system takes longer to find two hundred modules than Node takes to run them. `--outdir` names another folder
// than dist, and `--no-types` leaves the types out, which take most of the time.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

const { values } = parseArgs({
  options: { outdir: { type: 'string', default: 'dist' }, 'no-types': { type: 'boolean', default: false } },
})
const { outdir } = values

rmSync(outdir, { recursive: true, force: true })
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const types = values['no-types'] ? ['--noCheck', '--declaration', 'false'] : []
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', outdir, ...types], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)

await build({
  entryPoints: { cli: 'src/cli/index.ts' },
  outdir,
  bundle: true,
  // What a command loads when it is asked for stays apart: a start of the server must not pay for faker.
  splitting: true,
  chunkNames: 'cli-[name]-[hash]',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  conditions: ['modelhost-sim-source'],
  // Heavy and seldom needed, or the user's own: loaded from node_modules when somebody asks for them.
  external: ['gpt-tokenizer', '@faker-js/faker', 'tsx', 'esbuild', 'msw', 'vitest'],
  plugins: [
    {
      // What lays out the help makes an Intl.Segmenter when it is loaded, which takes 10 ms, and few starts show any.
      name: 'help on demand',
      setup: build => {
        build.onResolve({ filter: /^(cliui|string-width)$/ }, ({ path, importer, resolveDir }) =>
          /[\\/]platform-shims[\\/]esm\.mjs$/.test(importer)
            ? { path, namespace: 'on demand', pluginData: resolveDir }
            : undefined,
        )
        build.onLoad({ filter: /./, namespace: 'on demand' }, ({ path, pluginData }) => ({
          contents: `export default (...args) => require('${path}').default(...args)`,
          resolveDir: pluginData,
        }))
      },
    },
  ],
  minifySyntax: true,
  // Dependencies in CommonJS ask for Node's modules by `require`.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'\nconst require = requireFrom(import.meta.url)",
  },
  legalComments: 'none',
  logLevel: 'warning',
})
