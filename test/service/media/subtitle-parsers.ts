/** Strict parsers of subtitles. They throw Error at the first line that the format does not allow. */

export interface Cue {
  readonly start: number
  readonly end: number
  readonly text: string
}

const SRT_TIMES = /^(\d{2}):([0-5]\d):([0-5]\d),(\d{3}) --> (\d{2}):([0-5]\d):([0-5]\d),(\d{3})$/
const VTT_TIMES = /^(\d{2,}):([0-5]\d):([0-5]\d)\.(\d{3}) --> (\d{2,}):([0-5]\d):([0-5]\d)\.(\d{3})$/

/** Returns the cues of a SubRip file, which are numbered from 1. */
export function parseSrt(file: string): Cue[] {
  return blocksOf(file).map((lines, index) => {
    if (lines[0] !== String(index + 1)) throw new Error(`cue ${index + 1} has the number ${lines[0]}`)
    return parseCue(lines.slice(1), SRT_TIMES)
  })
}

/** Returns the cues of a WebVTT file. */
export function parseVtt(file: string): Cue[] {
  const [head, ...cues] = blocksOf(file)
  if (head?.length !== 1 || head[0] !== 'WEBVTT') throw new Error(`the file begins with ${head}`)
  return cues.map(lines => {
    const { text, ...times } = parseCue(lines, VTT_TIMES)
    if (/[<>]|&(?!amp;|lt;|gt;)|-->/.test(text)) throw new Error(`a cue has markup: ${text}`)
    return { ...times, text: text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&') }
  })
}

function blocksOf(file: string): string[][] {
  if (!file.endsWith('\n\n')) throw new Error('the file does not end with an empty line')
  return file
    .slice(0, -2)
    .split('\n\n')
    .map(block => block.split('\n'))
}

function parseCue(lines: readonly string[], times: RegExp): Cue {
  const [time, ...text] = lines
  const match = times.exec(time ?? '')
  if (match === null) throw new Error(`no times: ${time}`)
  if (text.length !== 1 || text[0] === '') throw new Error(`no single line of text: ${text}`)
  const [h1, m1, s1, ms1, h2, m2, s2, ms2] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const start = ((h1 * 60 + m1) * 60 + s1) * 1000 + ms1
  const end = ((h2 * 60 + m2) * 60 + s2) * 1000 + ms2
  if (end < start) throw new Error(`a cue ends before it starts: ${time}`)
  return { start: start / 1000, end: end / 1000, text: text[0]! }
}
