/** Writes the JSON Schemas, and the bundled worlds and profiles in their checked form, to the folder of the first argument. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { digestOfTexts, formatCheckedFile } from '../../src/data/checked-file.ts'
import { digestOfFolder } from '../../src/data/fixtures/files.ts'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { ProfileChain } from '../../src/data/profiles/chain.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
import { jsonSchemas } from './schemas.ts'

const target = process.argv[2] as string
for (const folder of ['worlds', 'profiles', 'schemas/fixture']) mkdirSync(join(target, folder), { recursive: true })
for (const { path, text } of jsonSchemas()) writeFileSync(join(target, 'schemas', path), text)
const digestOfWorlds = digestOfFolder('fixtures/worlds')
for (const name of readdirSync('fixtures/worlds')) {
  writeFileSync(join(target, `worlds/${name}.json`), formatCheckedFile(digestOfWorlds, loadFixture(name)))
}
for (const file of readdirSync('fixtures/profiles')) {
  const name = basename(file, '.json')
  const digest = digestOfTexts(new ProfileChain(name).texts)
  writeFileSync(join(target, `profiles/${file}`), formatCheckedFile(digest, loadProfile(name)))
}
