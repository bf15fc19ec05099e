/** What commands say of files that nothing can be read from. */
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolderOfTests } from '../setup/temporary-folder.ts'
import { commanded } from './commanded.ts'

const folder = temporaryFolderOfTests()

const circle = join(folder, 'circle')
symlinkSync(circle, circle)
const plain = join(folder, 'plain')
writeFileSync(plain, 'echo hello', { mode: 0o644 })

test.each([
  [['replay', circle], 2, `Failed to open '${circle}': its links lead in a circle. Give another path.`],
  [['run', circle], 2, `Failed to open '${circle}': its links lead in a circle.`],
  [['env', '--config', circle], 2, `Failed to open '${circle}': its links lead in a circle.`],
  [['simulate', '--for', '1h', '--fixtures', circle], 2, `Failed to read fixture '${circle}': the folder is missing.`],
  [['validate', 'nofile'], 2, "Failed to read 'nofile': the file or folder is missing. Give a file in JSON or YAML."],
  [['validate', ''], 2, "Failed to read '': it is empty. Give a file of rows, or leave it out."],
  [['validate', '--calibrate', ''], 2, "Failed to read --calibrate '': it is empty. Give a value, or leave it out."],
  [
    ['simulate', '--for', '1h', '--trace', ''],
    2,
    "Failed to read --trace '': it is empty. Give a value, or leave it out.",
  ],
  [['serve', '--host', ''], 2, "Failed to read --host '': it is empty. Give a value, or leave it out."],
  [['judge', 'x', '--rules', ''], 2, "Failed to read --rules '': it is empty. Give a value, or leave it out."],
  [['judge', plain, '--rules', folder], 2, `Failed to read --rules ${folder}: it is not a file. Give a module`],
  [['exec', ''], 2, "Failed to read '': unknown argument. See --help for the arguments."],
  [['exec', 'sh', '-c', 'true'], 2, "Failed to run 'sh': a command comes after --. Write it as in exec -- sh -c true."],
  [
    ['mcp', '--url', 'x', 'python3'],
    2,
    "Failed to run 'python3': a command comes after --. Write it as in mcp -- python3.",
  ],
  [['exec', '--', ''], 2, 'Failed to run a command: it is missing. Give it after --, as in exec -- npm test.'],
  [['explore', ''], 2, "Failed to load '': it is a folder. Give the module of a flow."],
  [['merge', ''], 2, "Failed to read '': the file or folder is missing. Give files of --out."],
  [['fixture', 'new', ''], 2, "Failed to write a world to '': the file or folder is missing. Give a folder"],
  [['fixture', 'new', plain], 2, `Failed to write a world to '${plain}': its parent is not a folder. Give a folder`],
  [['exec', '--', plain], 2, `Failed to run '${plain}': it is not executable. Change that with chmod +x, or give its`],
])('%j exits with %i and one line', { tags: 'slow' }, async (args, code, message) => {
  const { stderr, ...end } = await commanded(args)
  expect(end).toEqual({ code, stdout: '' })
  expect(stderr).toContain(message)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
})
