/** `run --watch`, started once as by a user, plays again after each change. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BIN } from '../cli/process.ts'

test('run --watch plays the changed scenario, or all when another file changed, also after a mistake', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'watch-'))
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const story = (title: string, span: string) =>
    `title: ${title}\ngiven: { fixtures: empty }\nsteps:\n  - advance: ${span}\n`
  for (const title of ['one', 'two']) {
    write(`${title}.yaml`, story(title, '1m'))
    write(`${title}.trace`, `# ${title} (seed 1)\n`)
  }
  // The value of the filter looks like a pattern, but is not one.
  const child = spawn(process.execPath, [BIN, 'run', '--watch', 'o*.yaml', 't*.yaml', '--filter', 'o'], { cwd: folder })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  const END = 'Press Ctrl-C to end.\n'
  let said = ''
  const parts: string[] = []
  const printed = () =>
    new Promise<string>(resolve => {
      const look = () => {
        const end = said.indexOf(END)
        if (end < 0) return
        const part = said.slice(0, end)
        said = said.slice(end + END.length)
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
    const part = printed()
    write(name, text)
    return part
  }
  expect(await printed()).toContain('2 scenarios passed')
  const two = await next('two.yaml', story('two', '2m'))
  expect(two).toContain('✓ two  2m virtual')
  expect(two).toContain('1 scenario passed')
  expect(await next('two.yaml', story('two', '[3m]'))).toContain(
    "Failed to load two.yaml:4:5: invalid value of 'advance'",
  )
  expect(await next('beside.json', '{}')).toContain('✓ one')
  expect(await next('two.yaml', story('two', '4m'))).toContain('✓ two  4m virtual')
}, 60_000)
