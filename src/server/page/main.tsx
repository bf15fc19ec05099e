/** The control room: a page that shows a simulated cloud, moves its time and breaks it. */
import { render } from 'preact'
import { App } from './shell/app.tsx'
import { readLines } from './shell/files.tsx'
import type { Connection } from './store/ask.ts'
import type { Location } from './store/place.ts'
import type { ExploreReport } from './store/report.ts'
import { provideSession, Session } from './store/session.ts'

export type { Connection } from './store/ask.ts'

/**
 * Draws the control room into an element and begins to follow the simulator.
 *
 * @param start where it begins, unless the address of the page says it
 * @param explored the reports that `explore --json` printed. Default: none
 */
export function openPage(root: HTMLElement, connection: Connection, start: Location = {}, explored?: string): void {
  const session = new Session(connection)
  if (explored !== undefined) session.explored.value = readLines(explored) as ExploreReport[]
  if (session.place.value.view === undefined) session.place.go({ ...start, ...session.place.value }, 'replace')
  session.start()
  provideSession(session)
  render(<App />, root)
}
