import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Chart } from '../../../../src/server/page/plots/chart.ts'
import { SERIES_STYLES } from '../../../../src/server/page/plots/chart.ts'
import { drawFigure } from '../../../../src/server/page/plots/figure.ts'
import { forAll } from '../../../setup/for-all.ts'

const CANARY = `</text><script>alert(1)</script><img src=x onerror="alert(1)">&amp;]]>`
const caption = { title: 'A day', detail: 'of a test' }

function chart(changes: Partial<Chart> = {}): Chart {
  return {
    name: 'money',
    title: 'Rent',
    description: 'What it cost.',
    unit: '$ per hour',
    kind: 'areas',
    scale: 'linear',
    from: 0,
    times: [3600, 7200, 10_800],
    series: [
      { name: 'one', values: [1, 2, 3], figure: '6.00' },
      { name: 'two', values: [4, 0, 1], figure: '5.00' },
    ],
    marks: [],
    figureLabel: 'total, $',
    emptyText: 'Nothing cost anything.',
    ...changes,
  }
}

/** Reads XML as a strict parser does: throws for what is not well formed. Returns the names of all elements. */
function elementsOf(xml: string): string[] {
  const names: string[] = []
  const open: string[] = []
  const rest = xml.replaceAll(
    /<(\/?)([a-z]\w*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/gi,
    (_, end: string, name: string, _attributes: string, alone: string) => {
      if (end !== '') {
        if (open.pop() !== name) throw new Error(`</${name}> ends another element`)
      } else {
        names.push(name)
        if (alone === '') open.push(name)
      }
      return ''
    },
  )
  if (open.length > 0) throw new Error(`open elements: ${open.join(', ')}`)
  const bad = /<|&(?!(?:amp|lt|gt|quot|#\d+);)/.exec(rest)
  if (bad) throw new Error(`bad text: ${rest.slice(bad.index, bad.index + 40)}`)
  return names
}

describe('a figure', () => {
  test('is one SVG document without a script or an address, with a title and a description of its figures', () => {
    const text = drawFigure([chart(), chart({ name: 'queue', kind: 'lines', title: 'Queue' })], caption)
    expect(new Set(elementsOf(text))).toEqual(
      new Set(['svg', 'title', 'desc', 'style', 'defs', 'pattern', 'rect', 'path', 'text', 'tspan', 'g']),
    )
    expect(text.match(/https?:[^"]*/g)).toEqual(['http://www.w3.org/2000/svg'])
    expect(text).toMatch(/^<svg [^>]*role="img" aria-labelledby="title description"/)
    expect(text).toContain('Rent, $ per hour. What it cost. By series (total, $): one 6.00; two 5.00.')
    expect(text).toContain('@media (prefers-color-scheme:dark)')
    expect(drawFigure([chart()], caption)).toBe(drawFigure([chart()], caption))
  })

  test('escapes every text', () => {
    const names = { title: CANARY, description: CANARY, unit: CANARY, figureLabel: CANARY, emptyText: CANARY }
    const series = [{ name: CANARY, values: [1, 2, 3], figure: CANARY }]
    for (const kind of ['areas', 'lines'] as const) {
      for (const one of [chart({ ...names, kind, series }), chart({ ...names, kind, series: [] })]) {
        const text = drawFigure([one], { title: CANARY, detail: CANARY })
        expect(elementsOf(text)).not.toContain('script')
        expect(text).not.toContain('<img')
      }
    }
  })

  test('stacks areas, and keeps a value for its whole step', () => {
    const [, under, over] = drawFigure([chart()], caption).match(/<g class="areas">.*?d="(.*?)".*?d="(.*?)"/s)!
    // The highest stack is 5 at the first step, so the axis ends at 6: 166 / 6 units for each dollar, from 206 up.
    expect(under).toBe('M62 178.3H219.3V150.7H376.7V123H534L534 206H62Z')
    expect(over).toBe('M62 67.7H219.3V150.7H376.7V95.3H534L534 123H376.7V150.7H219.3V178.3H62Z')
  })

  test('has a gap in a line where a value is missing', () => {
    const series = [{ name: 'one', values: [1, null, 3, 2], figure: '3' }]
    const text = drawFigure([chart({ kind: 'lines', times: [1, 2, 3, 4], series })], caption)
    const [, line] = text.match(/<path class="line s0" d="(.*?)"/)!
    // The axis ends at 3.
    expect(line).toBe('M180 150.7M416 40L534 95.3')
  })

  test('numbers the commands, and says what the first five are', () => {
    const marks = Array.from({ length: 7 }, (_, i) => ({ time: 3600 + i, text: i === 0 ? CANARY : `node.crash n${i}` }))
    const text = drawFigure([chart({ marks }), chart({ marks, name: 'queue' })], caption)
    elementsOf(text)
    expect(text.match(/<path class="mark"/g)).toHaveLength(14)
    expect(text.match(/<text class="mark"/g)).toHaveLength(10)
    expect(text).toContain('2 node.crash n1, 3 node.crash n2, 4 node.crash n3, 5 node.crash n4, and 2 more</text>')
  })

  test('says why it is empty', () => {
    const text = drawFigure([chart({ series: [] })], caption)
    expect(text).toContain('>Nothing cost anything.</text>')
    expect(text).toContain('What it cost. Nothing cost anything.</desc>')
    // Its window is shown all the same.
    expect(drawFigure([chart({ series: [], times: [], to: 86_400 })], caption)).toContain('>Jan 2</text>')
  })

  test('cuts a long name, and shows it whole on request', () => {
    const name = 'acme/a-name-that-is-much-too-long-for-a-legend'
    const text = drawFigure([chart({ series: [{ name, values: [1, 1, 1], figure: '3.00' }] })], caption)
    expect(text).toContain(`<title>${name}</title>`)
    expect(text).toMatch(/>acme\/a-name-that-is-[\w-]*…<\/text>/)
  })

  test('has no invalid number for any values, kinds and scales', () => {
    const value = fc.oneof(fc.constant(null), fc.double({ min: 0, max: 1e15, noNaN: true }))
    const series = fc.array(fc.tuple(fc.string(), fc.array(value, { minLength: 5, maxLength: 5 })), { maxLength: 12 })
    const kind = fc.constantFrom('areas' as const, 'lines' as const)
    forAll([series, kind, fc.constantFrom('linear' as const, 'log' as const)], (all, kind, scale) => {
      const text = drawFigure(
        [
          chart({
            kind,
            scale: kind === 'areas' ? 'linear' : scale,
            times: [1, 2, 3, 4, 5],
            series: all.map(([name, values]) => ({ name, values, figure: '1' })),
          }),
        ],
        caption,
      )
      elementsOf(text)
      expect(text).not.toMatch(/NaN|Infinity|undefined|e[+-]\d/)
    })
  })
})

describe('styles', () => {
  test('differ in colour, dash, mark and pattern', () => {
    for (const key of ['light', 'dark', 'dash', 'glyph', 'hatch'] as const)
      expect(new Set(SERIES_STYLES.map(style => style[key])).size).toBe(SERIES_STYLES.length)
  })

  test('have a contrast of at least 3 to 1 on their ground', () => {
    for (const { light, dark } of SERIES_STYLES) {
      expect(contrast(light, '#ffffff')).toBeGreaterThanOrEqual(3)
      expect(contrast(dark, '#1b1b1f')).toBeGreaterThanOrEqual(3)
    }
  })
})

/** Returns the contrast of two colours, by WCAG 2. */
function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map(at => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
