import { escapeXml } from '../../../lib/quote.ts'
import { type Chart, SERIES_STYLES } from './chart.ts'
import { CHART_HEIGHT, CHART_WIDTH, describeChart, drawChart, LISTED_MARKS, patternsOf } from './draw-chart.ts'

const HEAD_HEIGHT = 58
const LINE_HEIGHT = 18
const FOOT_HEIGHT = 14

/** The head of a picture. */
export interface Caption {
  readonly title: string
  /** A line below the title. */
  readonly detail: string
}

/**
 * Returns charts below each other as the text of one SVG file. It has no script and no link, is light or dark as the
 * reader's system is, and its title and description tell its figures to screen readers. Equal charts give equal bytes.
 */
export function drawFigure(charts: readonly Chart[], { title, detail }: Caption): string {
  const marks = listMarks(charts)
  const headHeight = HEAD_HEIGHT + (marks === '' ? 0 : LINE_HEIGHT)
  const height = headHeight + charts.length * CHART_HEIGHT + FOOT_HEIGHT
  const description = [...(marks === '' ? [] : [`Commands: ${marks}.`]), ...charts.map(describeChart)].join('\n')
  const panels = charts.map(
    (chart, i) =>
      `<g transform="translate(0 ${headHeight + i * CHART_HEIGHT})">\n<title>${escapeXml(chart.title)}</title>\n` +
      `${drawChart(chart)}\n</g>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${CHART_WIDTH} ${height}" width="${CHART_WIDTH}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escapeXml(title)}</title>
<desc id="description">${escapeXml(description)}</desc>
<style>${styles()}</style>
<defs>${charts.map(chart => patternsOf(chart)).join('')}</defs>
<rect class="ground" x="0.5" y="0.5" width="${CHART_WIDTH - 1}" height="${height - 1}" rx="8"/>
<text class="name" x="16" y="30">${escapeXml(title)}</text>
<text class="soft" x="16" y="49">${escapeXml(detail)}</text>
${marks === '' ? '' : `<text class="soft" x="16" y="${49 + LINE_HEIGHT}">${escapeXml(marks)}</text>\n`}${panels.join('\n')}
</svg>
`
}

/** Returns what the numbers of marks mean, as in `1 node.crash h100-0, 2 …`. The charts share their marks. */
function listMarks([chart]: readonly Chart[]): string {
  const marks = chart?.marks ?? []
  const listed = marks.slice(0, LISTED_MARKS).map(({ text }, i) => `${i + 1} ${text}`)
  return [...listed, ...(marks.length > LISTED_MARKS ? [`and ${marks.length - LISTED_MARKS} more`] : [])].join(', ')
}

function styles(): string {
  const colors = (scheme: 'light' | 'dark') =>
    SERIES_STYLES.map((style, i) => `.f${i}{fill:${style[scheme]}}.s${i}{stroke:${style[scheme]}}`).join('')
  return [
    'text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1f2328}',
    '.name{font-size:17px;font-weight:600}.title{font-size:14px;font-weight:600}',
    '.soft,.tick text{fill:#59636e}.figure{font-variant-numeric:tabular-nums}',
    '.ground{fill:#fff;stroke:#d1d9e0}.grid{fill:none;stroke:#e6e9ed}.axis{fill:none;stroke:#8c959f}',
    '.areas,.box{fill-opacity:.82}.edge{fill:none;stroke-width:.8}.line{fill:none;stroke-width:1.8;stroke-linejoin:round}',
    '.hatch{fill:none;stroke:#fff;stroke-width:1.3;stroke-opacity:.7}',
    'path.mark{fill:none;stroke:#59636e;stroke-dasharray:2 2}text.mark{font-size:11px;fill:#59636e;text-anchor:middle}',
    colors('light'),
    '@media (prefers-color-scheme:dark){text{fill:#e6e8eb}.soft,.tick text{fill:#a3abb5}',
    '.ground{fill:#1b1b1f;stroke:#3c3f44}.grid{stroke:#2e3136}.axis{stroke:#7d8590}path.mark{stroke:#c5ccd3}text.mark{fill:#c5ccd3}',
    `.hatch{stroke:#1b1b1f;stroke-opacity:.6}${colors('dark')}}`,
  ].join('')
}
