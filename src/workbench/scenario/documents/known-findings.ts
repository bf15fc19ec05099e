/** The file of known findings: those that a project accepts for now, so that CI fails on new ones only. */

import { readFileSync, statSync } from 'node:fs'
import * as z from 'zod'
import { describeFileError } from '../../../lib/errors.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { WITHOUT_JIT } from '../../../lib/zod-problems.ts'
import { DocumentError, findMistakes, MistakeList } from './problems.ts'

const KnownFinding = z.strictObject({
  flow: z.string().min(1).meta({ description: 'The name of the flow.' }),
  signature: z.string().min(1).meta({ description: 'The signature of the finding, as explore prints it.' }),
  reason: z.string().min(1).meta({ description: 'Why it is accepted for now.' }),
  date: z.iso.date().meta({ description: 'The day on which it was accepted, as in 2026-01-31.' }),
})
const KnownFindings = z.strictObject({
  findings: z.array(KnownFinding).meta({ description: 'The findings that do not fail explore.' }),
})

/** A finding that a project accepts for now. */
export type KnownFinding = Readonly<z.output<typeof KnownFinding>>

/**
 * Reads a file of known findings.
 *
 * @param name the file's name in errors
 * @throws DocumentError with a line for each mistake: `name:line:column: what is wrong. What to do.`
 */
export function readKnownFindings(path: string, name: string): readonly KnownFinding[] {
  const mistakes = new MistakeList(readText(path, name), name)
  const value = mistakes.read('list')
  const { data, error: problems } = KnownFindings.safeParse(value, WITHOUT_JIT)
  mistakes.addAll(findMistakes(KnownFindings, value, [], problems?.issues ?? []))
  const { findings } = data ?? { findings: [] }
  const keys = findings.map(({ flow, signature }) => `${flow} ${signature}`)
  for (const [i, key] of keys.entries()) {
    if (keys.indexOf(key) < i) mistakes.add(['findings', i], 'it is there twice', 'Remove one')
  }
  mistakes.throwIfAny()
  return findings
}

/** Returns the JSON Schema of the file, for editors. */
export function knownFindingsJsonSchema(): unknown {
  return { ...z.toJSONSchema(KnownFindings), title: 'Known findings of modelhost-sim explore' }
}

function readText(path: string, name: string): string {
  try {
    if (statSync(path).size <= LIMITS.scenarioBytes) return readFileSync(path, 'utf8')
  } catch (error) {
    throw new DocumentError(`${name}: ${describeFileError(error)}. Give the file of known findings.`)
  }
  throw new DocumentError(
    `${name}: it is larger than ${LIMITS.scenarioBytes / 1024} KiB. Remove findings that are corrected.`,
  )
}
