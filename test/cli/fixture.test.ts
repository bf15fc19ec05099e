import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { commanded } from './commanded.ts'

test('fixture new writes a world that passes check and serves', async () => {
  const folder = join(temporaryFolder(), 'deep/my world')
  const written = await commanded(['fixture', 'new', folder])
  expect(written).toMatchObject({ code: 0, stderr: '' })
  const next = `  modelhost-sim fixture check '${folder}'\n  modelhost-sim serve --fixtures '${folder}'\n`
  expect(written.stdout).toContain(`Edit these files, then:\n${next}`)
  expect(readdirSync(folder)).toContain('models.json')
  expect(await commanded(['fixture', 'check', folder])).toEqual({
    code: 0,
    stdout: `${folder}: no mistakes. The world has 3 models, 2 nodes and 1 deployment.\n`,
    stderr: '',
  })
  const sim = createSimulator({ fixtures: folder })
  const answer = await sim.fetch('http://sim/deploy/list', { headers: { authorization: 'Bearer my_token' } })
  expect(await answer.json()).toMatchObject([{ model_name: 'acme/chat', status: 'running' }])
})

test('fixture new changes nothing when one of its files exists', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'nodes.json'), 'mine')
  const { code, stderr } = await commanded(['fixture', 'new', folder])
  expect(code).toBe(2)
  expect(stderr).toBe(`Failed to write a world to '${folder}': it has nodes.json already. Give another folder.\n`)
  expect(readdirSync(folder)).toEqual(['nodes.json'])
  expect(readFileSync(join(folder, 'nodes.json'), 'utf8')).toBe('mine')
})

test('fixture new ends with 2 when it cannot write', async () => {
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  const { code, stderr } = await commanded(['fixture', 'new', join(file, 'world')])
  expect(code).toBe(2)
  expect(stderr).toMatch(/^Failed to write a world to .* Give a folder that you can write to\.\n$/)
})

test('fixture check lists every mistake, with a correct value where there is one, when files have mistakes', async () => {
  const folder = join(temporaryFolder(), 'world')
  await commanded(['fixture', 'new', folder])
  writeFileSync(join(folder, 'depoyments.json'), '[]')
  writeFileSync(join(folder, 'hub.json'), '{')
  writeFileSync(join(folder, 'deployments.json'), '[{ "model_name": "acme/chat", "gpu": "H100", "num_gpu": 2 }]')
  writeFileSync(join(folder, 'files.json'), '[{ "id": "a", "filename": "a", "created_at": 0, "path": "a.jsonl" }]')
  const { code, stdout } = await commanded(['fixture', 'check', folder])
  expect(code).toBe(1)
  expect(stdout).toBe(`${folder}: 5 mistakes

hub.json: line 1, column 2: expected a field name in double quotes, got the end of the file. Fix the JSON there.
  Correct: { "repositories": [] }

depoyments.json: unknown file. Did you mean 'deployments.json'? Rename or remove it.

deployments.json: $[0].gpu: expected one of 'L4-24GB', 'L40S-48GB', 'A100-80GB', 'H100-80GB', 'H200-141GB', 'B200-180GB', 'B300-270GB', 'RTXPRO6000-96GB', got 'H100'. Did you mean 'H100-80GB'? Fix that value.
  Correct: "gpu": "H100-80GB"

deployments.json: $[0].num_gpu: unknown field. Did you mean 'num_gpus'? Rename or remove it.
  Correct: "num_gpus": 1

files.json: $[0].path: the file 'a.jsonl' is missing below the fixture's folder. Add it, or fix the path.

Correct the files and check again.
`)
})

test('fixture check ends with 1 when the world cannot start', async () => {
  const folder = join(temporaryFolder(), 'world')
  await commanded(['fixture', 'new', folder])
  writeFileSync(join(folder, 'nodes.json'), '{ "pools": [] }')
  const { code, stdout } = await commanded(['fixture', 'check', folder])
  expect(code).toBe(1)
  const problem = 'deployments.json: $[0] (acme/chat): no node has 1 free H100-80GB'
  expect(stdout).toContain(`\n${problem}`)
  expect(() => createSimulator({ fixtures: folder })).toThrow(`Failed to start fixture '${folder}':\n  ${problem}`)
  const added = { model_name: 'acme/added', weights: { repo: 'acme/chat-8b' } }
  writeFileSync(join(folder, 'deployments.json'), '[]')
  expect(() => createSimulator({ fixtures: folder, with: { deployments: [added] } })).toThrow(
    'with.deployments: $[0] (acme/added): no node has 1 free H100-80GB',
  )
  expect(stdout).not.toContain('Correct:')
})

test.each([
  [['fixture', 'check', './missing'], "Failed to check './missing': the folder is missing."],
  [
    ['fixture', 'chek', '.'],
    "Failed to read the action 'chek': did you mean 'check'? Words are check, new, save, restore.",
  ],
  [['fixture', 'chek'], "Failed to read the action 'chek': did you mean 'check'? Words are check, new, save, restore."],
  [
    ['fixture'],
    "Failed to run 'fixture': the action and the path are missing. Give them, as in: modelhost-sim fixture check my-world\n",
  ],
  [
    ['fixture', 'new'],
    "Failed to run 'fixture new': the path is missing. Give it, as in: modelhost-sim fixture new my-world\n",
  ],
  [
    ['fixture', 'save'],
    "Failed to run 'fixture save': the path is missing. Give it, as in: modelhost-sim fixture save before.snapshot\n",
  ],
])('%j ends with 2', async (args, message) => {
  const { code, stderr } = await commanded(args)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})

test('fixture check lists the first 100 mistakes of a file, and counts the others', { tags: 'slow' }, async () => {
  const folder = join(temporaryFolder(), 'world')
  await commanded(['fixture', 'new', folder])
  const wrong = { type: 'text-generation', parameters_b: 8, size: 1 }
  writeFileSync(
    join(folder, 'models.json'),
    JSON.stringify(Array.from({ length: 1_500 }, (_, i) => ({ ...wrong, model_name: `acme/wrong-${i}` }))),
  )
  const { code, stdout } = await commanded(['fixture', 'check', folder])
  expect(code).toBe(1)
  expect(stdout).toContain(`${folder}: 1,500 mistakes\n`)
  expect(stdout.match(/^models\.json: /gm)).toHaveLength(101)
  expect(stdout).toContain('models.json: $[99].size: unknown field. Remove it.\n\nmodels.json: 1,400 more mistakes\n')
})

test('fixture check refuses a folder in place of a file', async () => {
  const folder = join(temporaryFolder(), 'world')
  await commanded(['fixture', 'new', folder])
  rmSync(join(folder, 'models.json'))
  mkdirSync(join(folder, 'models.json'))
  const { code, stdout } = await commanded(['fixture', 'check', folder])
  expect(code).toBe(1)
  expect(stdout).toContain('models.json: expected a file, got a folder, a device or a link to nothing. Replace it')
})

test('fixture check names a link that leads to nothing, or in a circle', async () => {
  const folder = join(temporaryFolder(), 'world')
  await commanded(['fixture', 'new', folder])
  rmSync(join(folder, 'models.json'))
  symlinkSync('nowhere.json', join(folder, 'models.json'))
  symlinkSync('notes.txt', join(folder, 'notes.txt'))
  const { code, stdout } = await commanded(['fixture', 'check', folder])
  expect(code).toBe(1)
  expect(stdout).toContain('models.json: expected a file, got a folder, a device or a link to nothing. Replace it')
  expect(stdout).toContain('notes.txt: unknown file. Remove it.')
})

test.runIf(existsSync('/proc'))('fixture new ends with 2 below /proc', async () => {
  const { code, stderr } = await commanded(['fixture', 'new', '/proc/modelhost-sim/world'])
  expect(code).toBe(2)
  expect(stderr).toContain("Failed to write a world to '/proc/modelhost-sim/world': ")
})

test('the name of a folder cannot act on the terminal', async () => {
  const folder = join(temporaryFolder(), '\u001b[31mred')
  await commanded(['fixture', 'new', folder])
  expect((await commanded(['fixture', 'check', folder])).stdout).toContain('/\\u001b[31mred: no mistakes.')
  expect((await commanded(['fixture', 'check', '\u001b[2Jgone'])).stderr).toContain("Failed to check '\\u001b[2Jgone'")
})
