import { spawn } from 'node:child_process'
import * as nodeFs from 'node:fs'
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { expect, test } from 'vitest'
import { createSimulator, loadSnapshot, saveSnapshot } from '../../../src/index.ts'
import { type FileSystem, writeFileAtomically } from '../../../src/lib/atomic-write.ts'
import { temporaryFolderOfTests } from '../../setup/temporary-folder.ts'

const folder = temporaryFolderOfTests()

test('a snapshot is written to a file that only its owner can read, and is read again', async () => {
  const path = join(folder, 'before.snapshot')
  const sim = createSimulator({ seed: 3 })
  await sim.clock.advance('10m')
  saveSnapshot(path, sim.snapshot())
  saveSnapshot(path, sim.snapshot())
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const first = readFileSync(path, 'latin1').split('\n', 3)
  const expected = ['modelhost-sim snapshot 8', { seed: '3', digest: sim.digest }]
  expect([first[0], JSON.parse(first[2]!)]).toMatchObject(expected)
  const other = createSimulator({ fixtures: path })
  expect([other.digest, other.seed, other.clock.iso]).toEqual([sim.digest, '3', sim.clock.iso])
  for (const one of [sim, other]) await one.clock.advance('1d')
  expect(other.digest).toBe(sim.digest)
  other.reset()
  expect([other.digest, other.clock.iso]).toEqual([loadSnapshot(path).digest, '2026-01-01T00:10:00.000000+00:00'])
})

test('a file that cannot be read or written is refused with the cause', () => {
  expect(() => loadSnapshot(join(folder, 'nowhere.snapshot'))).toThrow(
    /^Failed to read the snapshot '.*nowhere\.snapshot': the file or folder is missing\. Give a file/,
  )
  writeFileSync(join(folder, 'torn.snapshot'), createSimulator().snapshot().toBytes().subarray(0, 9999))
  expect(() => createSimulator({ fixtures: join(folder, 'torn.snapshot') })).toThrow(
    /^Failed to read the snapshot '.*torn\.snapshot': it is cut off: 9999 of \d+ bytes are there/,
  )
  expect(() => saveSnapshot(join(folder, 'no/such/x.snapshot'), createSimulator().snapshot())).toThrow(
    /^Failed to write the snapshot '.*x\.snapshot': the file or folder is missing\. Give a path/,
  )
})

test.each([
  ['openSync', 1],
  ['writeSync', 1],
  ['writeSync', 2],
  ['fsyncSync', 1],
  ['closeSync', 1],
  ['renameSync', 1],
] as const)('when %s fails at the call %i, the old file is unchanged and no draft is left', (call, nth) => {
  const path = join(mkdtempSync(join(folder, 'fs-')), 'x.snapshot')
  writeFileAtomically(path, Buffer.from('old'))
  let calls = 0
  const failing = {
    ...nodeFs,
    // Half at a time, so that it takes two.
    writeSync: (file: number, bytes: Uint8Array, at: number) =>
      nodeFs.writeSync(file, bytes, at, Math.ceil((bytes.length - at) / 2)),
  }
  const original = failing[call] as (...args: never[]) => unknown
  const fs = {
    ...failing,
    [call]: (...args: never[]) => {
      if (++calls === nth) throw Object.assign(new Error('no'), { code: 'ENOSPC' })
      return original(...args)
    },
  } as unknown as FileSystem
  expect(() => writeFileAtomically(path, Buffer.from('new'), fs)).toThrow('no')
  expect(readFileSync(path, 'utf8')).toBe('old')
  expect(readdirSync(join(path, '..'))).toEqual(['x.snapshot'])
  writeFileAtomically(path, Buffer.from('new'))
  expect(readFileSync(path, 'utf8')).toBe('new')
})

test('a draft of another live process stays', () => {
  const within = mkdtempSync(join(folder, 'others-'))
  const host = hostname().replaceAll(/[^\w-]/g, '_')
  const others = [
    `.x.snapshot.${host}.1-0.tmp`,
    '.x.snapshot.elsewhere.999999-0.tmp',
    `.y.snapshot.${host}.999999-0.tmp`,
  ]
  const stray = `.x.snapshot.${host}.999999999-0.tmp`
  for (const name of [...others, stray]) writeFileSync(join(within, name), '')
  writeFileAtomically(join(within, 'x.snapshot'), Buffer.from('x'))
  expect(readdirSync(within).sort()).toEqual([...others, 'x.snapshot'].sort())
})

// A long run takes more of them: SNAPSHOT_KILLS=25.
const KILLS = Number(process.env.SNAPSHOT_KILLS ?? 4)

test('a process that is killed during a write leaves a complete old or new file, and the next start removes drafts', async () => {
  const within = mkdtempSync(join(folder, 'kill-'))
  const path = join(within, 'x.snapshot')
  const source = readFileSync(new URL('../../../src/lib/atomic-write.ts', import.meta.url), 'utf8')
  writeFileSync(join(folder, 'atomic-write.mjs'), transformSync(source, { loader: 'ts', format: 'esm' }).code)
  writeFileSync(
    join(folder, 'writer.mjs'),
    `import { readFileSync } from 'node:fs'
     import { writeFileAtomically } from './atomic-write.mjs'
     const [, , path, ...files] = process.argv
     const all = files.map(file => readFileSync(file))
     for (let i = 0; ; i++) {
       writeFileAtomically(path, all[i % all.length])
       if (i === 0) process.stdout.write('begun')
     }`,
  )
  // Large enough that it is most often the writing that is interrupted.
  const wide = createSimulator({ maxStorageBytes: 2 ** 30 })
  wide.world.files.create({ filename: 'x', purpose: 'batch', chunks: [new Uint8Array(2e7)], bytes: 2e7, hash: 'x' })
  const files = [createSimulator().snapshot(), wide.snapshot()].map((snapshot, i) => {
    const file = join(folder, `whole-${i}`)
    writeFileSync(file, snapshot.toBytes())
    return file
  })
  const digests = files.map(file => loadSnapshot(file).digest)
  let strays = 0
  for (let i = 0; i < KILLS; i++) {
    const writer = spawn(process.execPath, [join(folder, 'writer.mjs'), path, ...files])
    const ended = new Promise(resolve => writer.on('close', resolve))
    await new Promise(resolve => writer.stdout.once('data', resolve))
    const until = performance.now() + ((i * 7.3) % 31)
    while (performance.now() < until) await new Promise(resolve => setImmediate(resolve))
    writer.kill('SIGKILL')
    await ended
    strays += readdirSync(within).length - 1
    expect(digests).toContain(loadSnapshot(path).digest)
    expect(readdirSync(within)).toEqual(['x.snapshot'])
  }
  if (KILLS >= 25) expect(strays).toBeGreaterThan(0)
})
