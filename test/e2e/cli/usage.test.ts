import { expect, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { run } from './process.ts'

test('a mistake ends the program with 2 and one line', async () => {
  const { code, stdout, stderr } = await run(['--prot', '4011'])
  expect([code, stdout, stderr]).toEqual([2, '', 'Failed to read --prot: unknown flag. Did you mean --port?\n'])
})

test('--version and --help exit with 0', async () => {
  const [version, help] = await Promise.all([run(['--version']), run(['--help'])])
  expect(version).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
  expect(help.code).toBe(0)
  for (const word of [
    'Serve and simulate:\n  serve ',
    'Recordings:\n  replay ',
    '\n  env ',
    '--allow-host',
    'Examples:',
    'Exit codes:',
  ])
    expect(help.stdout).toContain(word)
})
