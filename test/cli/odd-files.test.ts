/** What commands say of files that nothing can be read from. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { commanded } from './commanded.ts'

const folder = mkdtempSync(join(tmpdir(), 'odd-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

const circle = join(folder, 'circle')
symlinkSync(circle, circle)
const plain = join(folder, 'plain')
writeFileSync(plain, 'echo hello', { mode: 0o644 })

test.each([
  [['replay', circle], 2, `Failed to open '${circle}': its links lead in a circle. Give another path.`],
  [['run', circle], 2, `Failed to open '${circle}': its links lead in a circle.`],
  [['env', '--config', circle], 2, `Failed to open '${circle}': its links lead in a circle.`],
  [['simulate', '--for', '1h', '--fixtures', circle], 2, `Failed to read fixture '${circle}': the folder is missing.`],
  [['exec', '--', plain], 2, `Failed to run '${plain}': it is not executable. Change that with chmod +x, or give its`],
])('%j exits with %i and one line', { tags: 'slow' }, async (args, code, message) => {
  const { stderr, ...end } = await commanded(args)
  expect(end).toEqual({ code, stdout: '' })
  expect(stderr).toContain(message)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
})
