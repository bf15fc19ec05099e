/** `modelhost-sim validate`: how far the engine is from published measurements, or from your own. */
import { loadProfile } from '../../data/profiles/load.ts'
import { ProfileError } from '../../data/profiles/problems.ts'
import { plural } from '../../lib/text/numbers.ts'
import { escapeControls } from '../../lib/text/words.ts'
import { UsageError } from '../command.ts'
import { type ArgumentsOf, flag, toggle, words } from '../flags.ts'
import { calibrate } from '../validate/calibration.ts'
import type { ComparedRow } from '../validate/comparison.ts'
import { compareRows, errorsByClass, publishedRows, readRows } from '../validate/rows.ts'
import { filledText, texts } from '../values.ts'

export const command = 'validate [files..]'
export const describe = 'Compare the engine with measurements, and show its errors'

export const positional = {
  files: { ...words('Files of rows. Without a file: the published rows of the package', []), coerce: filesOfRows },
}
export const flags = {
  json: toggle('Print the rows as one JSON object'),
  calibrate: flag('File with rows of your own: fit the engine to them, and print the profile'),
  profile: flag(
    'Profile whose engine is compared, and that --calibrate extends: a name, or a file as --calibrate prints it',
    filledText,
    'realistic',
  ),
}
export const examples = [
  ['$0 validate', 'errors by class, and the worst rows'],
  ['$0 validate mine.json --json', 'each of your rows with its simulated value'],
  ['$0 validate next-hour.json --profile mine-profile.json', 'the errors of a fitted engine'],
]

const WORST = 10

/** Refuses an empty word, which a shell makes of an unset variable: without a file, the published rows would be compared. */
function filesOfRows(given: readonly string[]): string[] {
  const empty = given.find(one => /^[\s,]*$/.test(one))
  if (empty !== undefined)
    throw new UsageError(`Failed to read '${empty}': it is empty. Give a file of rows, or leave it out.`)
  return texts(given, 'files')
}

export function handler({
  files,
  json,
  calibrate: own,
  profile,
}: ArgumentsOf<typeof flags> & { files: string[] }): void {
  if (own !== undefined) {
    if (files.length > 0) {
      throw new UsageError(
        `Failed to calibrate: '${files[0]}' and --calibrate both name rows. Give one file, after --calibrate.`,
      )
    }
    printProfile(own, profile)
    return
  }
  const { engine } = loadProfile(profile)
  const results = (files.length === 0 ? [publishedRows()] : files.map(readRows)).map(rows => compareRows(rows, engine))
  const [compared, problems] = [results.flatMap(result => result.compared), results.flatMap(result => result.problems)]
  for (const { id, reason } of problems)
    process.stderr.write(escapeControls(`Failed to compare ${id}: ${reason}. Correct that row.\n`))
  if (problems.length > 0) process.exitCode = 1
  if (compared.length === 0) return
  process.stdout.write(json ? `${JSON.stringify({ rows: compared }, null, 2)}\n` : escapeControls(summary(compared)))
}

/** Prints a profile whose engine is fitted to the rows of a file. All else in it is of the profile `origin`. */
function printProfile(file: string, origin: string): void {
  const { engine: factors } = loadProfile(origin)
  const rows = readRows(file)
  const { compared, problems } = compareRows(rows, factors)
  if (problems.length > 0 || compared.length === 0) {
    const { id, reason } = problems[0] ?? { id: file, reason: 'it has no rows' }
    throw new UsageError(`Failed to calibrate with ${id}: ${reason}. Correct it.`)
  }
  const { efficiency, fixedTime, serverTime } = calibrate(rows)
  const source = `fitted to ${rows.length} rows by modelhost-sim validate --calibrate`
  const setting = (value: number) => ({ value: Number(value.toPrecision(4)), source })
  const engine = {
    ...{ efficiency: setting(efficiency), fixed_time: setting(fixedTime), server_time: setting(serverTime) },
  }
  const profile = { extends: origin, engine }
  try {
    loadProfile(profile)
  } catch (error) {
    if (!(error instanceof ProfileError)) throw error
    throw new UsageError(
      `Failed to calibrate with ${file}: a fitted value is not allowed in a ${error.problems[0]} Check the units and set-ups of the rows in that file.`,
    )
  }
  process.stdout.write(`${JSON.stringify(profile, null, 2)}\n`)
  const fitted = compareRows(rows, { efficiency, fixedTime, serverTime }).compared
  const before = errorsByClass(compared)
  for (const [i, { name, rows: count, median }] of errorsByClass(fitted).entries()) {
    const change = `median error ${percent(before[i]!.median)} before, ${percent(median)} with this profile`
    process.stderr.write(`${name}: ${plural(count, 'row')}, ${change}\n`)
  }
}

function summary(compared: readonly ComparedRow[]): string {
  const classes = errorsByClass(compared).map(
    ({ name, rows, median, p90, within25 }) =>
      `${name.padEnd(28)} ${String(rows).padStart(4)} rows  median ${percent(median).padStart(6)}  p90 ${percent(p90).padStart(6)}  within 25 %: ${percent(within25).padStart(5)}`,
  )
  const worst = worstOf(compared).map(
    row =>
      `  ${row.id}  ${signed(row).padStart(7)}  ${row.metric} ${figure(row.published)}, model ${figure(row.model)}  ${setUpOf(row)}`,
  )
  const meaning =
    'Errors are factors less 1: 100 % is twice or half of the measurement. +: the model has more. −: it has less.'
  return `${[meaning, '', ...classes, '', `Worst ${worst.length}:`, ...worst].join('\n')}\n`
}

function worstOf(compared: readonly ComparedRow[]): readonly ComparedRow[] {
  return [...compared].sort((a, b) => b.error - a.error).slice(0, WORST)
}

/** Returns a set-up in short: `llama-3.1-8b fp8, 1 × H100, 128 in, 2048 out, 64 at once`. */
export function setUpOf({ setup }: ComparedRow): string {
  const { model, precision, gpus, gpu, promptTokens, outputTokens, rate, concurrency, direct } = setup
  const load =
    typeof rate === 'number'
      ? `${figure(rate)}/s`
      : typeof concurrency === 'number'
        ? `${concurrency} at once`
        : 'saturated'
  const lengths = `${Math.round(promptTokens)} in, ${Math.round(outputTokens)} out`
  return `${model ?? 'a model'} ${precision ?? '16 bit'}, ${gpus ?? 1} × ${gpu}, ${lengths}, ${load}${direct ? ', no server' : ''}`
}

/** Returns a share in words, as in `7.4 %`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`
}

/** Returns an error with its sign: + if the model has more. */
export function signed({ model, published, error }: ComparedRow): string {
  return `${model >= published ? '+' : '−'}${percent(error)}`
}

/** Returns a figure with four digits. */
export function figure(value: number): string {
  return value >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(4)))
}
