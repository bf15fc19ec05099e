import * as z from 'zod'
import { DEFAULT_PROFILE } from './chain.ts'
import { PROFILE_SECTIONS } from './schema.ts'
import { NamedSections, type ProfileSection, ProfileSetting } from './setting.ts'
import type { SettingKind } from './setting-kinds.ts'

/** Returns the JSON Schema (2020-12) of a profile's file, for completion and checks in an editor. */
export function profileJsonSchema(): Record<string, unknown> {
  const definitions: Record<string, unknown> = {}
  const sections = schemaOf(PROFILE_SECTIONS, definitions) as { properties: Record<string, unknown> }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Provider profile of modelhost-sim',
    type: 'object',
    properties: {
      $schema: { type: 'string' },
      name: { type: 'string', description: 'Name of the profile. Default: the name of its file.' },
      extends: {
        type: ['string', 'null'],
        description: `The profile that this one extends, by name or path; null: no profile. Default: '${DEFAULT_PROFILE}'.`,
      },
      description: { type: 'string' },
      ...sections.properties,
    },
    additionalProperties: false,
    $defs: definitions,
  }
}

function schemaOf(part: ProfileSection[string], definitions: Record<string, unknown>): unknown {
  if (part instanceof ProfileSetting) {
    const { kind, meaning } = part
    const reference = `#/$defs/${kind.name}`
    definitions[kind.name] ??= definitionOf(kind)
    const value = { $ref: reference }
    const withSource = {
      type: 'object',
      properties: { value, source: { type: 'string', description: 'Where the value is from.' } },
      required: ['value', 'source'],
      additionalProperties: false,
    }
    return { description: meaning, anyOf: [value, withSource] }
  }
  if (part instanceof NamedSections) {
    return { type: 'object', additionalProperties: schemaOf(part.shape, definitions) }
  }
  const properties = Object.fromEntries(
    Object.entries(part as ProfileSection).map(([key, inner]) => [key, schemaOf(inner, definitions)]),
  )
  return { type: 'object', properties, additionalProperties: false }
}

/** A setting may name some fields and inherit the others, so no field is required. */
function definitionOf(kind: SettingKind<unknown, unknown>): unknown {
  const forms = kind.schemas.map(form => {
    const { $schema: _, required: __, ...json } = z.toJSONSchema(form, { io: 'input' })
    return json
  })
  return forms.length === 1 ? forms[0] : { anyOf: forms }
}
