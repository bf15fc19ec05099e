/** Opens the files that people have of this simulator, by what is in them. Their names do not matter. */
import { tryParseJson } from '../../../lib/json-text.ts'
import { isReport } from './report.ts'
import { recordingsOfPage } from './saved-recordings.ts'
import { DEFAULT_WORLD, describeError, type Session } from './session.ts'

/** What the page opens. */
export const OPEN_WORDS = 'Open a recording, a saved page or a report of explore'

/** Shows what a file contains: each recording as a world, and reports in the view of explore. */
export async function openFile(session: Session, file: File): Promise<void> {
  const { name } = file
  try {
    const text = await file.text()
    const lines = readLines(text)
    if (lines.length > 0 && lines.every(isReport)) {
      session.explored.value = lines
      session.place.go({ view: 'report' })
    } else {
      for (const recording of await recordingsIn(text, lines[0], name)) await openRecording(session, recording, name)
    }
  } catch (error) {
    session.notice.value = {
      kind: 'failed',
      text: error instanceof TypeError ? describeError(error) : (error as Error).message,
    }
  }
}

/** Returns the values of a file: one of each line, or the one of all lines together. A list of values counts as several. */
export function readLines(text: string): readonly unknown[] {
  const whole = tryParseJson(text)
  if (whole !== undefined) return [whole].flat()
  return text.split('\n').flatMap(line => (line.trim() === '' ? [] : [tryParseJson(line)]))
}

/** Returns the recordings in a file. `first` is the value of its first line. */
async function recordingsIn(text: string, first: unknown, name: string): Promise<readonly string[]> {
  if (/^\s*<!doctype html/i.test(text)) return recordingsOfPage(text)
  if ((first as { recording?: unknown } | null | undefined)?.recording !== undefined) return [text]
  throw new Error(`Failed to open ${name}: its content is of an unknown kind. ${OPEN_WORDS}.`)
}

async function openRecording(session: Session, recording: string, name: string): Promise<void> {
  const opened = await session.ask('POST /_sim/recordings', { recording }, { world: DEFAULT_WORLD })
  session.place.go({ world: opened.world, origin: undefined })
  session.notice.value =
    opened.problem === null
      ? { kind: 'done', text: `${name} ran again as the world ${opened.world}, with the answers that it recorded` }
      : { kind: 'failed', text: `${name} does not run again as it was recorded: ${opened.problem}` }
}
