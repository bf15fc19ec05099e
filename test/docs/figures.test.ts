/** Figures that a page repeats from the profile, and flags of the command line. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import yargs from 'yargs'
import profile from '../../fixtures/profiles/realistic.json' with { type: 'json' }
import { buildCommand, type Command } from '../../src/cli/flags.ts'
import { micros } from '../../src/kernel/duration.ts'

const DOCS = readdirSync('docs').filter(name => name.endsWith('.md'))
const PAGES = ['README.md', ...DOCS.map(name => `docs/${name}`)]
const TEXTS = new Map(PAGES.map(page => [page, readFileSync(page, 'utf8')]))

const UNITS: Readonly<Record<string, number>> = { '%': 0.01, GB: 1e9, TB: 1e12 }
const FIGURE = String.raw`(?<figure>\d[\d,.]*(?: (?:%|ms|s|min|minutes|hours|h|d|days|GB|TB)(?!\w))?)`
const SETTING = String.raw`(?:\w+\.)?(?<setting>[a-z_]+_[a-z_]+)`
/** A figure with its setting behind it in brackets, or a setting with its figure. */
const FORMS = [
  String.raw`${FIGURE}(?: without| times| at the median)? \(\`?${SETTING}\`?\)`,
  String.raw`\`${SETTING}\` \(${FIGURE}\)`,
].map(form => new RegExp(form, 'g'))

/** Returns a figure of a page or a value of the profile as a number: a time in microseconds, a share, a count. */
function amountOf(text: unknown): number {
  const [, digits = '', unit = ''] = /^([\d,.]+) ?(\D*)$/.exec(String(text)) ?? []
  const count = Number(digits.replaceAll(',', ''))
  if (unit === '') return count
  return unit in UNITS ? count * UNITS[unit]! : micros(`${count}${unit.replace(/^(m)in(utes)?$|^([hd])\w*$/, '$1$3')}`)
}

type Setting = { readonly value: unknown }
const settings = new Map(
  Object.values(profile as unknown as Record<string, Record<string, Setting>>).flatMap(section =>
    typeof section === 'object' ? Object.entries(section ?? {}) : [],
  ),
)

const repeated = [...TEXTS].flatMap(([page, lines]) => {
  const text = lines.replaceAll(/\s+/g, ' ')
  return FORMS.flatMap(form => [...text.matchAll(form)])
    .map(({ groups }) => [page, groups!.setting!, groups!.figure!] as const)
    .filter(([, setting]) => settings.has(setting))
})

test.each(repeated)('%s gives %s the figure of the profile: %s', (_, setting, figure) => {
  const { value } = settings.get(setting)!
  const median = typeof value === 'object' ? (value as { readonly median: string }).median : value
  expect(amountOf(figure)).toBe(amountOf(median))
})

test('pages repeat figures of at least ten settings', () => {
  expect(new Set(repeated.map(([, setting]) => setting)).size).toBeGreaterThanOrEqual(10)
})

test.each(readdirSync('src/cli/commands').map(file => file.slice(0, -3)))(
  'a page has every flag of %s',
  { tags: 'slow' },
  async name => {
    const module = (await import(`../../src/cli/commands/${name}.ts`)) as Command
    const help = await buildCommand(yargs([]).help(false).version(false), module).getHelp()
    const flags = [...help.matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)].map(([, flag]) => flag!)
    const texts = [...TEXTS.values()].join()
    expect(flags.filter(flag => !new RegExp(`--${flag}\\b`).test(texts))).toEqual([])
  },
)
