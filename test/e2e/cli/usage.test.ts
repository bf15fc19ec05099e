import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { BIN, run, start } from './process.ts'

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
    'Run, replay and explore:\n  run ',
    '\n  env ',
    '--allow-host',
    'Examples:',
    'Exit codes:',
  ])
    expect(help.stdout).toContain(word)
})

test('--help prints no credential, and a mistake in the configuration does not hide it', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'config.yaml'), 'sede: 1\n')
  const env = { MODELHOST_SIM_CONTROL_TOKEN: 'geheim' }
  const help = await run(['serve', '--config', join(folder, 'config.yaml'), '--help'], env)
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toContain('[default: (hidden)]')
  expect(help.stdout).not.toContain('geheim')
})

test('a start in a deleted folder ends with 2 and one line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'deleted-'))
  const { status, stderr } = spawnSync('sh', ['-c', `rmdir "${folder}" && "${process.execPath}" "${BIN}" --version`], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([2, 'Failed to start: the current folder was deleted. Change to another folder.\n'])
})

test.each([
  [
    'whose top-level await never ends',
    'await new Promise(() => {})\n',
    / a top-level .* imports never ends\. Fix it\./,
  ],
  ['that ends the process', '\nprocess.exit(0)\n', /:2:9: it calls process\.exit while .* loaded\. Fix that line\./],
])('a module %s is refused with 2 and one line', async (_, source, reason) => {
  const folder = temporaryFolder()
  const file = join(folder, 'never.mjs')
  writeFileSync(file, source)
  const starts = [
    ['exec', '--config', file, '--', 'true'],
    ['explore', file],
    ['judge', 'x', '--rules', file],
    ['run', file],
  ]
  for (const { code, stdout, stderr } of await Promise.all(starts.map(args => run(args)))) {
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^Failed to load \S*never\.mjs: [^\n]*\n$/)
    expect(stderr).toMatch(reason)
  }
})

test('a reader that closes the pipe early gets a part of the output, and the exit code is 1', async () => {
  const { child, end } = start(['--help'])
  child.stdout!.destroy()
  expect(await end).toMatchObject({ code: 1, stderr: '' })
})
