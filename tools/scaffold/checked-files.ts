/** Writes the JSON Schemas, and the bundled worlds and profiles in their checked form, to the folder of the first argument. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { digestOfTexts, formatCheckedFile } from '../../src/data/checked-file.ts'
import { digestOfFolder } from '../../src/data/fixtures/files.ts'
import { type CheckedWorld, loadFixture } from '../../src/data/fixtures/load.ts'
import type { StoredLineErrors, StoredResults } from '../../src/data/fixtures/stored-results.ts'
import { ProfileChain } from '../../src/data/profiles/chain.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
import type { Fixture } from '../../src/data/records/fixture.ts'
import { withoutPause } from '../../src/lib/slices.ts'
import { BatchLineAnswerer } from '../../src/service/batch-line-answerer.ts'
import { ScriptedAnswers } from '../../src/service/openai/scripted-answers.ts'
import { fixtureFileContent, readInput } from '../../src/simulation/batches/fixture-content.ts'
import type { OnLine } from '../../src/simulation/batches/input-lines.ts'
import { jsonSchemas } from './schemas.ts'

const target = process.argv[2] as string
for (const folder of ['worlds', 'profiles', 'schemas/fixture']) mkdirSync(join(target, folder), { recursive: true })
for (const { path, text } of jsonSchemas()) writeFileSync(join(target, 'schemas', path), text)
const digestOfWorlds = digestOfFolder('fixtures/worlds')
for (const name of readdirSync('fixtures/worlds')) {
  const fixture = loadFixture(name)
  const world: CheckedWorld = { fixture, results: resultsOf(fixture) }
  writeFileSync(join(target, `worlds/${name}.json`), formatCheckedFile(digestOfWorlds, world))
}
for (const file of readdirSync('fixtures/profiles')) {
  const name = basename(file, '.json')
  const digest = digestOfTexts(new ProfileChain(name).texts)
  writeFileSync(join(target, `profiles/${file}`), formatCheckedFile(digest, loadProfile(name)))
}

function resultsOf(fixture: Fixture): StoredResults {
  const contents = fixture.files.map(seed => [seed.id, fixtureFileContent(seed)!] as const)
  const contentOf = new Map(contents)
  const completed = fixture.batches.filter(({ status }) => status === 'completed')
  return {
    fileHashes: Object.fromEntries(contents.map(([id, { hash }]) => [id, hash])),
    lineErrors: Object.fromEntries(
      completed.map(seed => [seed.id, lineErrorsOf(contentOf.get(seed.input_file_id)!.chunks, seed.endpoint)]),
    ),
  }
}

function lineErrorsOf(
  input: readonly Uint8Array[],
  endpoint: Fixture['batches'][number]['endpoint'],
): StoredLineErrors {
  const answerer = new BatchLineAnswerer(new ScriptedAnswers(), false)
  const errors: [string, StoredLineErrors[string]][] = []
  const onLine: OnLine = ({ customId, body }) => {
    const error = answerer.validate(endpoint, body, undefined)
    if (error === undefined) return undefined
    if ('invalidField' in error) return error
    errors.push([customId, error])
    return undefined
  }
  const { errors: invalidLines } = withoutPause(readInput(input, endpoint, onLine))
  if (invalidLines.length > 0)
    throw new Error(`Failed to store the results of a completed batch: ${JSON.stringify(invalidLines)}. Fix its input.`)
  return Object.fromEntries(errors)
}
