// Bundles the control room to one script and one style. `npm run build` writes them to `dist/ui`. A server that runs
// from the source bundles them when they are first asked for.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { rememberPackages } from './notices.js'

const source = path => fileURLToPath(new URL(`../../src/server/page/${path}`, import.meta.url))

let bundled

/**
 * Returns the files of the page by name: `page.js`, `page.css`. They are bundled once in a process.
 *
 * @returns {Promise<Record<string, string>>}
 */
export function bundlePage() {
  bundled ??= bundle()
  return bundled
}

async function bundle() {
  const { outputFiles } = await build({
    entryPoints: [
      { in: source('served-page.tsx'), out: 'page' },
      { in: source('style/page.css'), out: 'page' },
    ],
    outdir: 'dist/ui',
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    conditions: ['modelhost-sim-source'],
    minify: true,
    legalComments: 'none',
    write: false,
    plugins: [rememberPackages],
  })
  return Object.fromEntries(outputFiles.map(({ path, text }) => [path.split(/[\\/]/).at(-1), text]))
}
