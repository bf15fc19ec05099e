/** The figures as a table for people and as JSON for programs. */
import { type Figure, keeps, type Measured } from './figure.ts'

export type Outcome = readonly [Figure, Measured]

/** `{ "<figure>": { value, unit, baseline?, ratio? } }` */
export function asJson(outcomes: readonly Outcome[]): string {
  const figures = outcomes.map(([{ name, unit }, { value, baseline, ratio }]) => [
    name,
    {
      value: rounded(value),
      unit,
      ...(baseline !== undefined && { baseline: rounded(baseline) }),
      ...(ratio !== undefined && { ratio: rounded(ratio) }),
    },
  ])
  return JSON.stringify(Object.fromEntries(figures), null, 2)
}

export function asTable(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(([figure, measured]) => {
    const { value, baseline, ratio, beside = '' } = measured
    const kept = keeps(figure, measured)
    return [
      figure.name,
      shown(value),
      figure.unit,
      baseline === undefined ? '' : shown(baseline),
      ratio === undefined ? '' : shown(ratio),
      goalOf(figure),
      kept === undefined ? '' : kept ? 'kept' : 'MISSED',
      beside,
    ]
  })
  const head = ['figure', 'value', 'unit', 'baseline', 'ratio', 'goal', '', 'beside it']
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map(row => row[column]!.length)))
  const right = new Set([1, 3, 4])
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (right.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)].join('\n')
}

function goalOf({ goal }: Figure): string {
  if (goal === undefined) return ''
  return `${goal.of === 'ratio' ? 'ratio ' : ''}${goal.bound === 'least' ? '≥' : '≤'} ${shown(goal.is)}`
}

function shown(value: number): string {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

function rounded(value: number): number {
  return Number(value.toPrecision(5))
}
