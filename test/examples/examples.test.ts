/** The examples are run as they are copied. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { started } from '../cli/process.ts'

const folder = (path: string) => fileURLToPath(new URL(`../../examples/${path}`, import.meta.url))

describe('examples/vitest', async () => {
  // Its own tests, in this process and through the names of the package.
  await import('../../examples/vitest/client.test.ts')

  test('asks for versions that this package is tested with', () => {
    const { devDependencies } = JSON.parse(readFileSync(folder('vitest/package.json'), 'utf8'))
    expect(Object.keys(devDependencies).sort()).toEqual(['modelhost-sim', 'msw', 'vitest'])
    expect(devDependencies['modelhost-sim']).toBe(`^${manifest.version}`)
    const bare = (range: string) => range.replace(/^[~^]/, '')
    expect(bare(devDependencies.msw)).toBe(bare(manifest.devDependencies.msw))
    expect(bare(devDependencies.vitest)).toBe(bare(manifest.devDependencies.vitest))
  })
})

describe('examples/curl', () => {
  test('uploads, batches, advances and downloads', async () => {
    const { url } = await started(['serve', '--clock', 'manual', '--port', '0'])
    const { code, stdout, stderr } = await script(folder('curl/run.sh'), { PORT: new URL(url).port })

    expect(stderr).toMatch(/^uploaded file_\w+\ncreated batch_\w+\nit is completed\n$/)
    expect(code).toBe(0)
    const rows = stdout.trim().split('\n')
    expect(rows.map(row => JSON.parse(row))).toMatchObject([
      { custom_id: 'tea', error: null, response: { status_code: 200 } },
      { custom_id: 'rain', error: null, response: { status_code: 200 } },
    ])
  })

  test('says so when nothing listens', async () => {
    const { code, stderr } = await script(folder('curl/run.sh'), { PORT: '1' })
    expect(code).not.toBe(0)
    expect(stderr).toContain('curl: (7)')
  })
})

function script(path: string, env: Record<string, string>) {
  const child = spawn('sh', [path], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  return new Promise<{ code: number | null; stdout: string; stderr: string }>(resolve => {
    child.on('close', code => resolve({ code, stdout, stderr }))
  })
}
