/** Subtitles of a transcript: SubRip and WebVTT, one cue a segment. */
import type { Transcript } from './transcript.ts'

/** Returns a transcript as SubRip (`.srt`). */
export function toSrt({ segments }: Transcript): string {
  return segments
    .map(
      ({ id, start, end, text }) =>
        `${id + 1}\n${formatTime(start, ',')} --> ${formatTime(end, ',')}\n${text.trim()}\n\n`,
    )
    .join('')
}

/** Returns a transcript as WebVTT (`.vtt`). */
export function toVtt({ segments }: Transcript): string {
  const cues = segments.map(
    ({ start, end, text }) => `${formatTime(start, '.')} --> ${formatTime(end, '.')}\n${escapeCue(text.trim())}\n\n`,
  )
  return `WEBVTT\n\n${cues.join('')}`
}

function formatTime(seconds: number, separator: string): string {
  const milliseconds = Math.round(seconds * 1000)
  const pad = (value: number, length: number) => String(value).padStart(length, '0')
  const hours = Math.floor(milliseconds / 3_600_000)
  const minutes = Math.floor(milliseconds / 60_000) % 60
  const rest = Math.floor(milliseconds / 1000) % 60
  return `${pad(hours, 2)}:${pad(minutes, 2)}:${pad(rest, 2)}${separator}${pad(milliseconds % 1000, 3)}`
}

/** Replaces the characters that WebVTT reads as markup. An arrow would begin another cue. */
function escapeCue(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
