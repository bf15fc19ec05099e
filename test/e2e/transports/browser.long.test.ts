import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

test('handlers and simulator bundle for a browser worker: nothing of Node is reached', async () => {
  const { errors, metafile } = await build({
    stdin: {
      contents:
        "export { handlers } from './src/workbench/testing/msw.ts'; export { createSimulator } from './src/index.ts'",
      resolveDir: fileURLToPath(new URL('../../..', import.meta.url)),
    },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['modelhost-sim-source'],
    // The first is the user's own; the second streams uploads under Node, and is imported only there.
    external: ['msw', '@fastify/busboy'],
    logLevel: 'silent',
  })
  expect(errors).toEqual([])
  const imported = Object.values(metafile.outputs).flatMap(output => output.imports.map(({ path }) => path))
  expect([...new Set(imported)].sort()).toEqual(['@fastify/busboy', 'msw'])
})
