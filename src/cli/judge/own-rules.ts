/** Rules of conduct of the user, from a module. */
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { shellQuote } from '../../lib/quote.ts'
import type { ConductRule } from '../../simulator/judge/rule.ts'
import { chooseRules } from '../../simulator/judge/rule-choice.ts'
import { CONDUCT_RULE_NAMES } from '../../simulator/judge/rules/conduct/index.ts'
import { importScript, LoadError } from '../../workbench/scenario/runner/import-script.ts'

/**
 * Loads the rules of a module: its exports with a check, and those of its default export, each by its name.
 *
 * @throws LoadError for a missing file, a module without a rule, and a rule that is not complete
 */
export async function loadOwnRules(path: string, folder: string): Promise<Map<string, ConductRule>> {
  const file = resolve(folder, path)
  const name = relative(folder, file)
  if (!existsSync(file)) {
    throw new LoadError(
      `Failed to read --rules ${shellQuote(path)}: the file is missing. Give a module that exports rules.`,
    )
  }
  const { default: ofDefault, ...exports } = await importScript(file, folder)
  if (isCheck(ofDefault)) {
    throw new LoadError(
      `Failed to load the rules of ${name}: its default export is a rule, which has no name there. ` +
        'Export it by name, as in: export const myRule = defineRule({ … }).',
    )
  }
  const candidates = { ...(typeof ofDefault === 'object' ? ofDefault : {}), ...exports }
  const own = Object.fromEntries(Object.entries(candidates).filter(([, value]) => isCheck(value)))
  if (Object.keys(own).length === 0) {
    throw new LoadError(
      `Failed to load the rules of ${name}: it exports no rule. Export one, as in: export const myRule = defineRule({ … }).`,
    )
  }
  try {
    const rules = chooseRules(own as Record<string, ConductRule>, `Failed to load the rules of ${name}`)
    return new Map([...rules].filter(([rule]) => !(CONDUCT_RULE_NAMES as readonly string[]).includes(rule)))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new LoadError(error.message, { cause: error })
  }
}

function isCheck(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'check' in value
}
