/** Writes the picture of a report: an SVG file with its charts. */
import { DAY, HOUR, MINUTE, type Micros, SECOND } from '../../kernel/duration.ts'
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

/** Returns the flag with the file of the picture. */
export function plotFlag() {
  return {
    ...flag('plot', `SVG file to write with a picture of the report: ${REPORT_CHARTS.join(', ')}`),
    coerce: text('plot'),
  }
}

/**
 * Refuses a file where no picture can be written, before any work.
 *
 * @throws UsageError for a file that does not end in `.svg`, and for what cannot be written
 */
export function requirePlottable(path: string): void {
  if (path !== '' && !path.endsWith('.svg')) {
    throw new UsageError(
      `Failed to write --plot '${path}': its name does not end in .svg. Give a name as in --plot week.svg.`,
    )
  }
  requireWritable(path, 'plot')
}

/**
 * Returns the step of the picture of a window: the given one, or the shortest round one that makes at most 200 steps.
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
 * Writes the picture of a report with a series, whole or not at all.
 *
 * @param step the length of a step of its series
 * @throws UsageError when the disk is full or read-only
 */
export function writePlot(path: string, report: PlottedReport, step: Micros): void {
  writeTextFile(path, drawFigure(reportCharts(report, step / SECOND), captionOf(report)), 'plot')
}
