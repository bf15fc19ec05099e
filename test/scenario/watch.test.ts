/** `run --watch` as a user has it: started once, it plays again after each change. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BIN } from '../cli/process.ts'

test('plays what was changed, all of it when no scenario was, and goes on after a mistake', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'watch-'))
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const story = (title: string, span: string) =>
    `title: ${title}\ngiven: { fixtures: empty }\nsteps:\n  - advance: ${span}\n`
  for (const title of ['one', 'two']) {
    write(`${title}.yaml`, story(title, '1m'))
    write(`${title}.trace`, `# ${title} (seed 1)\n`)
  }
  // The value of the filter reads like the pattern, and is none.
  const child = spawn(process.execPath, [BIN, 'run', '--watch', 'o*.yaml', 't*.yaml', '--filter', 'o'], { cwd: folder })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  let said = ''
  const parts: string[] = []
  const told = () =>
    new Promise<string>(resolve => {
      const look = () => {
        const end = said.indexOf('Ctrl-C ends.\n')
        if (end < 0) return
        const part = said.slice(0, end)
        said = said.slice(end + 13)
        parts.push(part)
        child.stdout.off('data', look)
        resolve(part)
      }
      child.stdout.on('data', look)
    })
  child.stdout.on('data', data => {
    said += data
  })
  child.stderr.on('data', data => {
    said += data
  })
  const next = async (name: string, text: string) => {
    const part = told()
    write(name, text)
    return part
  }
  expect(await told()).toContain('2 scenarios passed')
  const two = await next('two.yaml', story('two', '2m'))
  expect(two).toContain('✓ two  2m virtual')
  expect(two).toContain('1 scenario passed')
  expect(await next('two.yaml', story('two', '[3m]'))).toContain("Failed to load two.yaml:4:5: 'advance'")
  expect(await next('beside.json', '{}')).toContain('✓ one')
  expect(await next('two.yaml', story('two', '4m'))).toContain('✓ two  4m virtual')
}, 60_000)
