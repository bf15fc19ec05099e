import { expect, test } from 'vitest'
import { commanded } from './commanded.ts'

/** Returns what can follow on a command line whose last word is being written. */
async function completed(...words: string[]): Promise<string[]> {
  const { code, stdout } = await commanded(['--get-yargs-completions', 'modelhost-sim', ...words])
  expect(code).toBe(0)
  return stdout.trimEnd().split('\n')
}

test.each([
  ['commands', ['se'], ['serve', 'run', 'init']],
  ['worlds', ['serve', '--fixtures', ''], ['default', 'two-nodes']],
  ['profiles', ['simulate', '--profile', ''], ['realistic', 'rough']],
  ['weather', ['exec', '--weather', 'la'], ['launch-day', 'none']],
  ['words of a flag', ['serve', '--clock', ''], ['manual', 'on-poll']],
  ['flags', ['run', '--'], ['--seeds', '--help']],
  ['the flags of the configuration', ['serve', '--'], ['--config', '--print-config', '--port']],
  ['actions', ['fixture', ''], ['check', 'save']],
  ['scenarios', ['run', ''], ['scenarios/deploy/cold-start.ts']],
])('completes %s', async (_, words, found) => {
  expect(await completed(...words)).toEqual(expect.arrayContaining(found))
})

test('flags leave out positional arguments, and an unknown place has no words', async () => {
  expect(await completed('replay', '--')).not.toContain('--file')
  expect(await completed('env', '')).toEqual([''])
  expect(await completed('exec', '--', 'npm', '--')).toEqual([''])
  expect(await completed('run', '--out', '')).toEqual([''])
  expect(await completed('constructor', '')).toEqual([''])
  expect(await completed('--po')).toContain('--port')
})

test('prints a script for each shell, and refuses another', async () => {
  expect((await commanded(['--completion', 'fish'])).stdout).toContain('complete -c modelhost-sim')
  expect(await commanded(['--completion'], { SHELL: '/bin/tcsh' })).toMatchObject({
    code: 2,
    stderr: "Failed to read --completion 'tcsh': unknown shell. Shells are bash, zsh, fish.\n",
  })
})
