/** The JSON Schemas of the package, for editors. The build writes them to `dist/schemas`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { flags } from '../../src/cli/commands/serve.ts'
import { configSchema } from '../../src/cli/config.ts'
import { configField, type Flags } from '../../src/cli/flags.ts'
import { bundledWorldNames } from '../../src/data/fixtures/files.ts'
import { Fixture } from '../../src/data/records/fixture.ts'
import { knownFindingsJsonSchema } from '../../src/workbench/scenario/documents/known-findings.ts'
import { scenarioJsonSchema } from '../../src/workbench/scenario/documents/schema.ts'
import { type GeneratedFile, ROOT } from './declarations.ts'

interface Schema {
  description?: string
  type?: unknown
  format?: string
  readonly properties?: Record<string, Schema>
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
}

/** Returns the schema of scenarios, known findings, the configuration, and each file of a fixture, with paths below the folder. */
export function jsonSchemas(): GeneratedFile[] {
  return [
    toFile('scenario', scenarioJsonSchema()),
    toFile('explore.known', knownFindingsJsonSchema()),
    toFile('config', configJsonSchema()),
    ...fixtureSchemas(),
  ]
}

function toFile(name: string, schema: unknown): GeneratedFile {
  return { path: `${name}.schema.json`, text: `${JSON.stringify(schema, null, 2)}\n` }
}

/** Returns the schema of the configuration file, with the descriptions of the flags. */
function configJsonSchema(): unknown {
  const { properties, ...schema } = z.toJSONSchema(configSchema()) as Schema
  for (const [flag, { describe }] of Object.entries(flags as Flags)) {
    properties![configField(flag)]!.description = describe!
  }
  const title = 'Configuration of modelhost-sim'
  return { ...schema, title, properties: { $schema: { type: 'string' }, ...properties } }
}

/** Returns a schema for each file of a fixture, with the meanings of docs/fixtures.md. */
function fixtureSchemas(): GeneratedFile[] {
  const page = readFileSync(join(ROOT, 'docs/fixtures.md'), 'utf8')
  return Object.entries(Fixture.shape).map(([key, records]) => {
    const options = { io: 'input', unrepresentable: 'any', reused: 'inline' } as const
    const {
      default: _,
      $schema,
      ...schema
    } = z.toJSONSchema(records as z.ZodType, options) as Schema & {
      default?: unknown
      $schema?: string
    }
    const section = page.split(`\n### \`${key}.json\`\n`)[1]?.split('\n#')[0] ?? ''
    describe(schema, '', meaningsOf(section))
    const content =
      schema.properties === undefined
        ? schema
        : { ...schema, properties: { $schema: { type: 'string' }, ...schema.properties } }
    const world = { description: 'A world of the package: its file of this name', enum: bundledWorldNames() }
    return toFile(`fixture/${key}`, {
      title: `${key}.json of a fixture of modelhost-sim`,
      $schema,
      anyOf: [content, world],
    })
  })
}

/** Returns the meaning of each field of a table by its path, as plain text. */
function meaningsOf(section: string): ReadonlyMap<string, string> {
  const rows = section.matchAll(/^\| `([^`]+)` \|.*\| (.*) \|$/gm)
  return new Map(Array.from(rows, ([, field, meaning]) => [field!, meaning!.replaceAll('`', "'")]))
}

function describe(schema: Schema, path: string, meanings: ReadonlyMap<string, string>): void {
  // A word of zod, beside the pattern that says the same.
  if (schema.format === 'starts_with') delete schema.format
  if (schema.items !== undefined) describe(schema.items, path === '' ? '' : `${path}[]`, meanings)
  for (const variant of [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]) describe(variant, path, meanings)
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const place = path === '' ? name : `${path}.${name}`
    const meaning = meanings.get(place)
    if (meaning !== undefined) field.description = meaning
    describe(field, place, meanings)
  }
}
