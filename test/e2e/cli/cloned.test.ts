/** The program as a user starts it who cloned the project and built nothing. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const NOT_COPIED = ['.git', '.tmp', 'dist', 'docs', 'node_modules', 'test']

test('the program runs a scenario from the source when the current folder has no tsconfig.json or another one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloned-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const clone = join(folder, 'clone')
  for (const name of readdirSync('.').filter(name => !NOT_COPIED.includes(name))) {
    cpSync(name, join(clone, name), { recursive: true })
  }
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'))
  writeFileSync(join(folder, 'story.yaml'), 'title: a story\nsteps:\n  - advance: 1m\n')

  const runStory = () =>
    promisify(execFile)(process.execPath, [join(clone, 'bin/modelhost-sim.js'), 'run', 'story.yaml', '--update'], {
      cwd: folder,
    })
  expect((await runStory()).stdout).toContain('1 scenario')

  writeFileSync(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "useDefineForClassFields": true } }')
  expect((await runStory()).stdout).toContain('1 scenario')
})
