/** Writes the pictures of a report: one SVG file with all charts, or a folder with a file for each. */
import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { DAY, HOUR, MINUTE, type Micros, SECOND } from '../../kernel/duration.ts'
import { describeFileError } from '../../lib/file-errors.ts'
import { LIMITS } from '../../lib/limits.ts'
import { formatCount } from '../../lib/text/format-count.ts'
import { drawFigure } from '../../server/page/plots/figure.ts'
import { captionOf, REPORT_CHARTS, reportCharts } from '../../server/page/plots/report-charts.ts'
import type { PlottedReport } from '../../server/page/plots/report-steps.ts'
import { UsageError } from '../command.ts'
import { requireWritable, writeTextFile } from '../files/output-file.ts'
import { flag, text } from '../values.ts'

/** Steps that a picture has at most, if no step is given: about one for three units of its width. */
const MOST_STEPS = 200
const STEPS: readonly Micros[] = [
  ...[SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  ...[HOUR, 2 * HOUR, 4 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY],
]

/** Returns the flag with the place of the pictures. */
export function plotFlag() {
  return {
    ...flag(
      'plot',
      `SVG file to write with pictures of the report, or a folder for one file each: ${REPORT_CHARTS.join(', ')}`,
    ),
    coerce: text('plot'),
  }
}

/**
 * Refuses a place where no picture can be written, before any work.
 *
 * @throws UsageError for what is neither a file that ends in `.svg` nor a folder, and for what cannot be written
 */
export function requirePlottable(path: string): void {
  if (isFolder(path)) {
    try {
      accessSync(path, constants.W_OK)
    } catch (error) {
      throw new UsageError(
        `Failed to write --plot '${path}': ${describeFileError(error)}. Give another folder, or a file that ends in .svg.`,
      )
    }
    for (const name of REPORT_CHARTS) requireWritable(join(path, `${name}.svg`), 'plot')
    return
  }
  if (path !== '' && !path.endsWith('.svg')) {
    throw new UsageError(
      `Failed to write --plot '${path}': it is neither a folder nor a file that ends in .svg. ` +
        'Create the folder, or give a file, as in --plot week.svg.',
    )
  }
  requireWritable(path, 'plot')
}

/**
 * Returns the step of the pictures of a window: the given one, or the shortest round one that makes at most 200 steps.
 *
 * @throws UsageError for a given step that makes too many
 */
export function plotStep(length: Micros, given: Micros | undefined): Micros {
  if (given === undefined) return STEPS.find(step => length / step <= MOST_STEPS) ?? STEPS.at(-1)!
  const steps = Math.ceil(length / given)
  if (steps <= LIMITS.plotSteps) return given
  throw new UsageError(
    `Failed to write --plot: it would have ${formatCount(steps)} steps, and ${formatCount(LIMITS.plotSteps)} are the most. Give a longer --step.`,
  )
}

/**
 * Writes the pictures of a report with a series. Each file is written whole or not at all.
 *
 * @param step the length of a step of its series
 * @throws UsageError when the disk is full or read-only
 */
export function writePlots(path: string, report: PlottedReport, step: Micros): void {
  const charts = reportCharts(report, step / SECOND)
  const caption = captionOf(report)
  const files = isFolder(path)
    ? charts.map(chart => ({ path: join(path, `${chart.name}.svg`), charts: [chart] }))
    : [{ path, charts }]
  for (const file of files) writeTextFile(file.path, drawFigure(file.charts, caption), 'plot')
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch {
    // `requireWritable` says why.
    return false
  }
}
