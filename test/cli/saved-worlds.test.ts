import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { handler } from '../../src/cli/commands/fixture.ts'
import { loadSnapshot } from '../../src/index.ts'
import { running } from '../server/http/running-server.ts'
import { temporaryFolderOfTests } from '../setup/temporary-folder.ts'

const save = async (url: string, path: string) => handler({ action: 'save', url, path })
const restore = async (url: string, path: string) => handler({ action: 'restore', url, path })
const folder = temporaryFolderOfTests()

async function printed(command: Promise<void>): Promise<string> {
  let text = ''
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation(piece => {
    text += String(piece)
    return true
  })
  await command.finally(() => spy.mockRestore())
  return text
}

test('fixture saves a world of a server to a file and restores it, and the server keeps no snapshot', {
  tags: 'slow',
}, async () => {
  const world = await running({ seed: 4 })
  const { url } = world.server
  const file = join(folder, 'before.snapshot')
  const { digest } = world.sim
  expect(await printed(save(url, file))).toContain(`seed 4, digest ${digest}`)
  expect(loadSnapshot(file).digest).toBe(digest)
  await world.command('/_sim/clock/advance', { by: '1h' })
  expect(await printed(restore(`${url}/`, file))).toBe(`${url}/: 2026-01-01T00:00:00.000000+00:00, digest ${digest}\n`)
  expect(world.sim.digest).toBe(digest)
  const made = (await world.command('/_sim/worlds', { fixtures: 'empty' })).body
  await printed(restore(made.base_url, file))
  expect(world.server.worlds.get(made.world)!.sim.digest).toBe(digest)
  expect((await world.command('/_sim/snapshots', undefined, 'GET')).body).toEqual([])
})

test('fixture fails with the cause and leaves file and world unchanged when its input is invalid', async () => {
  const world = await running({ fixtures: 'empty' })
  const { url } = world.server
  const torn = join(folder, 'torn.snapshot')
  writeFileSync(torn, 'torn')
  await expect(save(url, join(folder, 'x.json'))).rejects.toThrow('ends in .snapshot. Rename it.')
  await expect(save('http://127.0.0.1:1', torn)).rejects.toThrow('no server answers there')
  await expect(save('here', torn)).rejects.toThrow("Failed to read --url 'here'")
  await expect(restore(url, torn)).rejects.toThrow("Failed to read the snapshot 'torn.snapshot': it is not a snapshot")
  await expect(restore(url, join(folder, 'none.snapshot'))).rejects.toThrow('the file or folder is missing')
  await expect(save(url, join(folder, 'no/where.snapshot'))).rejects.toThrow('Failed to write the snapshot')
  expect(readFileSync(torn, 'utf8')).toBe('torn')
  expect(readdirSync(folder).filter(name => name.startsWith('.'))).toEqual([])
  expect((await world.command('/_sim/snapshots', undefined, 'GET')).body).toEqual([])
})
