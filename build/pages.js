// The scripts that run a simulator inside a page: everything is in them, since a page has no node_modules.
import { build } from 'esbuild'
import { containedWorlds } from '../browser-worlds.js'

/** Packages that a page never reaches: it parses forms by the platform, and has no collections of @msw/data. */
const UNREACHED = /^(?:@fastify\/busboy|@msw\/data)$/

const withoutUnreached = {
  name: 'without unreached packages',
  setup: build => {
    build.onResolve({ filter: UNREACHED }, ({ path }) => ({ path, namespace: 'unreached' }))
    build.onLoad({ filter: /./, namespace: 'unreached' }, ({ path }) => ({
      contents: `throw new Error(${JSON.stringify(`Failed to load ${path}: a page has no copy of it. Use Node.`)})`,
    }))
  },
}

const common = {
  bundle: true,
  target: 'es2023',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  platform: 'browser',
  conditions: ['modelhost-sim-source'],
  plugins: [containedWorlds, withoutUnreached],
}

/**
 * Builds the scripts of pages to a folder. `simulator.js` is a module for pages of a web server.
 *
 * @param outdir the folder, as in `dist/pages`
 */
export async function buildPages(outdir) {
  await build({
    ...common,
    entryPoints: { simulator: 'src/pages/simulator/connect.ts' },
    outdir,
    chunkNames: 'part-[name]-[hash]',
    format: 'esm',
    splitting: true,
  })
}
